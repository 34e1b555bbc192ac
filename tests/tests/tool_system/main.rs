//! Tests the tool system with the real program: a data folder with settings, `toolway serve`, and the actions
//! of its owner, clients and devices through the command line, REST and WebSocket.

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
