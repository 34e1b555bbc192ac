//! Contains only tests: see `tests/genai/tests/same_calls.rs`.
