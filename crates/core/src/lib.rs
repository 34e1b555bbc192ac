//! The engine.
pub mod caller;
pub mod record;
pub mod registry;
pub use caller::{Caller, Door};
pub use record::*;
