//! Tools that any computer can offer: what it is and how it does ([`computer`]), and programs that its owner
//! makes callable in a file ([`commands`]).
//!
//! The computer's own tools only read. Command tools run a fixed program with fixed arguments and named
//! holes in them, never through a shell; what may be run is said in a file on this computer and nowhere else.

pub mod commands;
pub mod computer;

pub use computer::tools;
