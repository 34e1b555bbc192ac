//! Model servers for tests. On one loopback port they speak five APIs (OpenAI's Chat Completions and Responses,
//! Anthropic's Messages, Gemini's `generateContent`, and Chat Completions as others serve it), streaming and not, and
//! answer from a script that is the same for all of them. No test has to sleep: answers wait at gates.
//!
//! They are honest in two ways. What they send has the form that the provider sends, every event and field of it; the
//! official SDKs read it (`tests/python/test_fakes_with_sdks.py`). And what the provider refuses, they refuse, in its
//! own words: see [`FakeModels`] for how a test sees that.
//!
//! # A test
//! 1. [`FakeModels::start`]; tell the program under test [`FakeModels::base_url`], the key [`KEY`], and the model
//!    `fake-model`, or `fake-thinker`, which wants to see its signatures again.
//! 2. Say what is answered: [`FakeModels::answer`] for the next request, [`FakeModels::when`] for one that looks like
//!    this, [`FakeModels::respond`] for a function. A request that nothing answers gets status 400.
//! 3. Look at [`FakeModels::requests`]: each with its body, and with what it says in a form that is the same for all
//!    APIs ([`Said`]).
//!
//! # Timing
//! [`ScriptedResponse::gate`] stops an answer until [`FakeModels::open`]; [`FakeModels::reached`] waits until it has come there;
//! [`FakeModels::ended`] waits until an answer is over and says whether it was read to the end or given up.
//!
//! # Faults
//! Failures by status ([`ScriptedResponse::status`]), in the middle of a stream ([`Step::Error`]), cut connections
//! ([`ScriptedResponse::cut_at`], [`Step::Cut`]), nothing more ([`Step::Silence`]), bytes that make no sense ([`Step::Raw`]),
//! bytes in small pieces ([`ScriptedResponse::bytes_at_once`]). [`rendered`] gives the bytes of an answer without a server.
//!
//! # Other languages
//! The program `fake-models` does the same for tests in other languages; it reads a [`Script`] as JSON and is told more
//! over HTTP: `PUT /control/script`, `POST /control/lines`, `GET /control/requests`, `GET /control/requests/{n}` (waits
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
