//! Nothing but its tests: see `tests/genai/tests/same_calls.rs`.
