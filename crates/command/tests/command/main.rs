//! Tests of commands with real programs.

#![cfg(target_os = "linux")]

#[cfg(test)]
mod commands;
#[cfg(test)]
mod failures;
#[cfg(test)]
mod fixtures;
#[cfg(test)]
mod termination;
