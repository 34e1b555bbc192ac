//! One file a command: its flags and what it does. Dispatch is in [`crate::cli`].

pub(crate) mod agents;
pub(crate) mod android;
pub(crate) mod approvals;
pub(crate) mod backup;
pub(crate) mod calls;
pub(crate) mod chat;
pub(crate) mod completions;
pub(crate) mod config;
pub(crate) mod device;
pub(crate) mod devices;
pub(crate) mod doctor;
pub(crate) mod grants;
pub(crate) mod man;
pub(crate) mod mcp;
pub(crate) mod models;
pub(crate) mod pair;
pub(crate) mod policy;
pub(crate) mod prices;
pub(crate) mod restore;
pub(crate) mod secrets;
pub(crate) mod serve;
pub(crate) mod sessions;
pub(crate) mod tokens;
pub(crate) mod tools;
pub(crate) mod usage;
pub(crate) mod version;
