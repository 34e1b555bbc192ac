//! An MCP server for tests. It offers everything that the conformance suite requires of a server under test
//! (tools, prompts, resources and completions, with the suite's names), and more for tests of this project.
//!
//! It supports every version of the protocol on one endpoint, over HTTP ([`FakeMcp`]) or over standard input
//! and output ([`serve_stdio`]); [`FakeMcpOptions`] disable parts. Tools ask questions in the way of the
//! client's version: with a request of their own, or with a result that requests input.
//!
//! The tools' schemas and the structured result of `test_exact` are fixed bytes ([`exact_schema`],
//! [`EXACT_RESULT`]), with an order, numbers and escapes that no JSON serializer produces: tests can check
//! that they are passed on unchanged.
//!
//! It is not an example of a good server: it trusts every client.

#![allow(
    deprecated,
    reason = "logging, sampling and roots are deprecated in MCP's newest version and part of the older ones"
)]

mod calls;
mod changes;
mod client_input;
mod client_session;
mod completion;
mod exact_json;
mod handler;
mod http;
mod options;
mod prompts;
mod protocol_version;
mod raw_tools;
mod request_states;
mod resources;
mod sample_image;
mod sessions;
mod state;
mod stdio;
mod tools;

pub use exact_json::EXACT_RESULT;
pub use http::FakeMcp;
pub use options::FakeMcpOptions;
pub use stdio::serve_stdio;
pub use tools::exact_schema;
