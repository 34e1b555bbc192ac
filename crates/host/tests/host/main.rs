//! The host's tools against what the system itself says, and command tools against real programs.

#![cfg(target_os = "linux")]

#[cfg(test)]
mod commands;
#[cfg(test)]
mod computer;
