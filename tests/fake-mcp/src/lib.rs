//! An MCP server for tests. It offers what the conformance suite asks of a server under test (its tools, prompts,
//! resources and completions, by the suite's names), and some more that only tests of this project ask for.
//!
//! It speaks every version of the protocol on one endpoint, over HTTP ([`FakeMcp`]) or over standard input and output
//! ([`serve_stdio`]); [`Options`] leave out what a test wants left out. Tools that ask something do so in the way of
//! the version that the client speaks: a request of their own, or a result that says what is wanted.
//!
//! What it says of a tool's schemas, and the structured result of `test_exact`, are bytes of its own choosing
//! ([`exact_schema`], [`EXACT_RESULT`]), in an order and with numbers and escapes that nobody writes who has parsed
//! them: a test can tell whether they came through untouched.
//!
//! It is no example of a good server: it trusts whoever reaches it.

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
