//! The adapters as a whole: what they send and what they make of answers (`golden/`), whatever happens to the bytes on
//! their way, and over HTTP on the loopback interface.

#![allow(
    clippy::unwrap_used,
    clippy::panic,
    clippy::indexing_slicing,
    reason = "helpers of tests fail by panicking"
)]

mod corpus;

mod adapters {
    mod anthropic;
    mod fakes;
    mod faults;
    mod gemini;
    mod http;
    mod recorded_responses;
    mod request_bodies;
    mod requests;
    mod server;
    mod support;
}
