//! Tools that any computer can offer: its hardware and state ([`computer`]), and programs that the owner
//! lists in a file ([`commands`]).
//!
//! The computer's own tools are read-only. A command tool runs a fixed program with a template for its
//! arguments, never through a shell. Only a file on this computer can define command tools.

pub mod commands;
pub mod computer;

pub use computer::tools;
