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

#[path = "upstream/asking.rs"]
mod asking;
#[path = "upstream/eras.rs"]
mod eras;
#[path = "upstream/hostile.rs"]
mod hostile;
#[path = "upstream/many.rs"]
mod many;
#[path = "upstream/offering.rs"]
mod offering;
#[path = "upstream/programs.rs"]
mod programs;
#[path = "upstream/raw.rs"]
mod raw;
#[path = "upstream/sessions.rs"]
mod sessions;
#[path = "upstream/support.rs"]
mod support;
