//! Tools that come with Toolway (`builtin/…`) and tools defined by the owner (`own/…`).

pub mod builtin;
pub mod hooks;
pub mod naming;
pub mod own;
pub mod web;
