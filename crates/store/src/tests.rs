//! Tests of the store as a whole, on real files.

mod faults;
mod idempotency;
mod opening;
mod recording;
mod running_calls;
pub(crate) mod support;
mod upgrade;
