//! Tests of the computer tools against `/proc` and `/sys`, and of command tools with real programs.

#![cfg(target_os = "linux")]

#[cfg(test)]
mod commands;
#[cfg(test)]
mod computer;
