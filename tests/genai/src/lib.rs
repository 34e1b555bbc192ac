//! Nothing but its tests: see `tests/same_calls.rs`.
