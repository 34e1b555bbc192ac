//! MCP servers as sources of tools, over real connections: loopback HTTP and child processes.

#![allow(
    clippy::expect_used,
    clippy::indexing_slicing,
    clippy::panic,
    clippy::unwrap_used,
    reason = "helpers of tests fail by panicking"
)]
#![allow(
    deprecated,
    reason = "logging, sampling and roots are deprecated in MCP's newest version and part of the older ones"
)]

#[path = "upstream/both_eras.rs"]
mod both_eras;
#[path = "upstream/client_input.rs"]
mod client_input;
#[path = "upstream/eras.rs"]
mod eras;
#[path = "upstream/harness.rs"]
mod harness;
#[path = "upstream/hostile_servers.rs"]
mod hostile_servers;
#[path = "upstream/multiple_servers.rs"]
mod multiple_servers;
#[path = "upstream/offering.rs"]
mod offering;
#[path = "upstream/programs.rs"]
mod programs;
#[path = "upstream/raw_servers.rs"]
mod raw_servers;
#[path = "upstream/sessions.rs"]
mod sessions;
#[path = "upstream/task_server.rs"]
mod task_server;
#[path = "upstream/tasks.rs"]
mod tasks;
