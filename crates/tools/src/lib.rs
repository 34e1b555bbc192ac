//! The tools that come with Toolway (`builtin/…`), and those that its owner defines (`own/…`).

pub mod builtin;
pub mod hooks;
pub mod naming;
pub mod own;
pub mod secrets;
pub mod web;
