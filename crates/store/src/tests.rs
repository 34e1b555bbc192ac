//! Tests of the store as a whole, on real files.

mod faults;
mod idempotency;
mod opening;
mod recording;
pub(crate) mod support;
mod upgrade;
