//! Commands against real programs.

#![cfg(target_os = "linux")]

#[cfg(test)]
mod commands;
#[cfg(test)]
mod ends;
#[cfg(test)]
mod failures;
#[cfg(test)]
mod kit;
