//! Functions of the fuzz targets. The targets (`fuzz_targets/`) run them with inputs that the fuzzer derives from its
//! coverage; a workspace test runs them with the corpus.
//!
//! A function panics if a parser violates a guarantee, regardless of the validity of the input.

#![allow(clippy::panic, clippy::unwrap_used, clippy::expect_used, reason = "a broken promise is a panic")]

mod app_providers;
mod completion_requests;
mod frames;
mod imported_files;
mod mcp_posts;
mod model_answers;
mod oauth_answers;
mod tools;

pub use app_providers::{adb_output, manifest, packed_bundle, provider_list, provider_schema};
pub use completion_requests::v1_request;
pub use frames::{client_frame, gateway_frame, pairing, version_1_frame};
pub use imported_files::mcp_import;
pub use mcp_posts::mcp_post;
pub use model_answers::{chat_answer, events, gemini_answer, messages_answer, responses_answer, tool_schema};
pub use oauth_answers::oauth_answer;
pub use tools::{arguments, schema_pattern, spec};

/// Function of a target.
pub type Target = fn(&[u8]);

/// All targets: the name, which is also that of the corpus folder, and the function.
pub const TARGETS: &[(&str, Target)] = &[
    ("client_frame", client_frame),
    ("gateway_frame", gateway_frame),
    ("version_1_frame", version_1_frame),
    ("spec", spec),
    ("schema_pattern", schema_pattern),
    ("arguments", arguments),
    ("pairing", pairing),
    ("events", events),
    ("chat_answer", chat_answer),
    ("responses_answer", responses_answer),
    ("messages_answer", messages_answer),
    ("gemini_answer", gemini_answer),
    ("tool_schema", tool_schema),
    ("v1_request", v1_request),
    ("mcp_post", mcp_post),
    ("mcp_import", mcp_import),
    ("oauth_answer", oauth_answer),
    ("provider_list", provider_list),
    ("provider_schema", provider_schema),
    ("packed_bundle", packed_bundle),
    ("adb_output", adb_output),
    ("manifest", manifest),
];
