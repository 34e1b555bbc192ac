//! Model servers for tests. On one loopback port they serve five APIs (OpenAI's Chat Completions and
//! Responses, Anthropic's Messages, Gemini's `generateContent`, and Chat Completions of other servers), with
//! and without streaming, and answer from a script that is the same for all of them. No test needs to sleep:
//! answers wait at gates.
//!
//! They are faithful in two ways. Their answers have every event and field of the provider's; the official
//! SDKs read them (`tests/python/test_fakes_with_sdks.py`). And they refuse what the provider refuses, with
//! its messages.
//!
//! # A test
//! 1. Call [`FakeModels::start`]. Configure the program under test with [`FakeModels::base_url`], the key [`KEY`], and
//!    the model `fake-model`, or `fake-thinker`, which requires its signatures.
//! 2. Script the answers: [`FakeModels::answer`] for the next request, [`FakeModels::when`] for a matching request,
//!    [`FakeModels::respond`] for a function. A request without an answer gets status 400.
//! 3. Check [`FakeModels::requests`]: each has its body, and its content in a form that is the same for all APIs
//!    ([`ParsedRequest`]).
//!
//! # Timing
//! [`ScriptedResponse::gate`] stops an answer until [`FakeModels::open`]; [`FakeModels::wait_for_gate`] waits until it has
//! reached the gate; [`FakeModels::wait_for_end`] waits for the end of an answer and returns how it ended.
//!
//! # Faults
//! Failures by status ([`ScriptedResponse::status`]), in the middle of a stream ([`ResponseStep::Error`]), cut
//! connections ([`ScriptedResponse::cut_at`], [`ResponseStep::Cut`]), silence ([`ResponseStep::Silence`]), invalid bytes
//! ([`ResponseStep::Raw`]), small pieces ([`ScriptedResponse::bytes_at_once`]). [`render_stream`] returns the bytes of an
//! answer without a server.
//!
//! # Other languages
//! The program `fake-models` does the same for tests in other languages; it reads a [`ResponseScript`] as JSON and
//! has an HTTP API: `PUT /control/script`, `POST /control/lines`, `GET /control/requests`, `GET /control/requests/{n}` (waits
//! for it), `GET /control/requests/{n}/end`, `GET /control/unused`, `POST /control/gates/{name}/open`,
//! `POST /control/gates/{name}/admit?count=N`, `GET /control/gates/{name}/reached?count=N`.

#![allow(clippy::indexing_slicing, reason = "JSON is read and written by name, which panics on no object")]

mod api;
mod control;
mod error;
mod failure;
mod gates;
mod ids;
mod incoming_request;
mod models;
mod quirks;
mod received_request;
mod renderer;
mod request_parser;
mod script;
mod scripted_response;
mod server;
mod signatures;
mod state;
mod stream;
mod validation;

pub use api::ApiKind;
pub use failure::{ScriptedFailure, ScriptedFailureKind};
pub use models::KEY;
pub use quirks::ApiQuirks;
pub use received_request::{ParsedMessage, ParsedRequest, ParsedToolCall, ParsedToolResult, ReceivedRequest};
pub use renderer::render_stream;
pub use script::{FakeModel, RequestMatcher, ResponseScript, ScriptLine};
pub use scripted_response::{
    PacedTokens, ResponseStep, ScriptedFinish, ScriptedResponse, ScriptedToolCall, ScriptedUsage,
};
pub use server::FakeModels;
pub use state::ResponseEnd;
