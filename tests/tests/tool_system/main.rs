//! The tool system with the real program and nothing else: a data folder with settings, `toolway serve`, and what
//! its owner, its clients and its devices do through the command line, REST and WebSocket.

#![cfg(unix)]
#![allow(
    clippy::unwrap_used,
    clippy::indexing_slicing,
    clippy::panic,
    reason = "helpers of tests fail by panicking"
)]

mod changed_tools;
mod files;
mod held_server;
mod history;
mod own_tools;
mod questions;
mod restart;
mod rules;
mod scenarios;
mod settings;
mod support;
