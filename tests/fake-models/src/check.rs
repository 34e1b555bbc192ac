//! Checks requests as each API does, so that what would be refused in life is refused here, in its own words.

mod anthropic;
mod fields;
mod gemini;
mod openai;
mod responses;
mod schema;

use std::collections::HashMap;

use axum::http::HeaderMap;
use serde_json::Value;

use crate::api::Api;
use crate::error::ApiError;
use crate::render::Asked;
use crate::script::Model;
use crate::seen::Said;

/// Whether the API takes this request. `issued` says which reasoning item came right before an item that this server
/// wrote (Responses).
pub(crate) fn check(
    api: Api,
    headers: &HeaderMap,
    body: &Value,
    model: &Model,
    issued: &HashMap<String, String>,
) -> Result<(), ApiError> {
    match api {
        Api::Openai => openai::check(body, model),
        Api::OpenaiResponses => responses::check(body, model, issued),
        Api::Anthropic => anthropic::check(headers, body),
        Api::Gemini => gemini::check(body, model),
        Api::Compatible => Ok(()),
    }
}

/// What the API says of a body that is no JSON object.
pub(crate) fn not_json(api: Api) -> ApiError {
    ApiError::invalid(match api {
        Api::Openai | Api::OpenaiResponses | Api::Compatible => {
            "We could not parse the JSON body of your request."
        }
        Api::Anthropic => "The request body is not valid JSON",
        Api::Gemini => "Invalid JSON payload received.",
    })
}

/// What of a request its answer depends on.
pub(crate) fn asked(api: Api, body: &Value, said: &Said, model: Option<&Model>) -> Asked {
    let is = |pointer: &str, wanted: &Value| body.pointer(pointer) == Some(wanted);
    let include = body.get("include").and_then(Value::as_array);
    let forced = match api {
        Api::Openai | Api::Compatible => is("/tool_choice/type", &"function".into()),
        _ => false,
    };
    Asked {
        model: said.model.clone(),
        include_usage: is("/stream_options/include_usage", &true.into()),
        forces_tool: forced,
        encrypted_reasoning: include
            .is_some_and(|include| include.contains(&"reasoning.encrypted_content".into())),
        thoughts: is("/generationConfig/thinkingConfig/includeThoughts", &true.into()),
        signs: model.is_some_and(|model| model.thinks),
        request: if api == Api::OpenaiResponses { body.clone() } else { Value::Null },
        usage: None,
        issued: std::sync::Arc::default(),
    }
}

#[cfg(test)]
mod tests;
