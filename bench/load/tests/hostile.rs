//! The short version of the attacks (memory and survival, but no times), and the gateway's count of memory.

#![cfg(target_os = "linux")]
#![allow(clippy::panic, reason = "helpers of tests fail by panicking")]

use std::process::Command;

#[test]
fn a_gateway_survives_every_attack_within_its_memory() {
    run(&["--hostile", "--quick"]);
}

#[test]
fn the_memory_of_every_kind_of_data_is_counted() {
    run(&["--memory-factors"]);
}

/// Runs the harness. It names what is wrong.
#[track_caller]
fn run(args: &[&str]) {
    let done = Command::new(env!("CARGO_BIN_EXE_toolway-load"))
        .args(args)
        .output()
        .unwrap_or_else(|error| panic!("the harness did not start: {error}"));
    let (report, progress) = (String::from_utf8_lossy(&done.stdout), String::from_utf8_lossy(&done.stderr));
    assert!(done.status.success(), "{report}\n{progress}");
}
