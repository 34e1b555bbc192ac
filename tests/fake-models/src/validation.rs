//! Validates requests like each API, with the API's error messages.

mod anthropic;
mod fields;
mod gemini;
mod openai;
mod responses;
mod schema;

use std::collections::HashMap;

use axum::http::HeaderMap;
use serde_json::Value;

use crate::api::ApiKind;
use crate::error::ProviderApiError;
use crate::received_request::ParsedRequest;
use crate::renderer::RenderParams;
use crate::script::FakeModel;

/// Validates a request. `issued` has the reasoning item directly before each item that this server created
/// (Responses).
pub(crate) fn check(
    api: ApiKind,
    headers: &HeaderMap,
    body: &Value,
    model: &FakeModel,
    issued: &HashMap<String, String>,
) -> Result<(), ProviderApiError> {
    match api {
        ApiKind::Openai => openai::check(body, model),
        ApiKind::OpenaiResponses => responses::check(body, model, issued),
        ApiKind::Anthropic => anthropic::check(headers, body),
        ApiKind::Gemini => gemini::check(body, model),
        ApiKind::Compatible => Ok(()),
    }
}

/// Returns the API's error for a body that is not a JSON object.
pub(crate) fn not_json(api: ApiKind) -> ProviderApiError {
    ProviderApiError::invalid(match api {
        ApiKind::Openai | ApiKind::OpenaiResponses | ApiKind::Compatible => {
            "We could not parse the JSON body of your request."
        }
        ApiKind::Anthropic => "The request body is not valid JSON",
        ApiKind::Gemini => "Invalid JSON payload received.",
    })
}

/// Returns the parameters of a request that its answer depends on.
pub(crate) fn render_params(
    api: ApiKind,
    body: &Value,
    said: &ParsedRequest,
    model: Option<&FakeModel>,
) -> RenderParams {
    let is = |pointer: &str, wanted: &Value| body.pointer(pointer) == Some(wanted);
    let include = body.get("include").and_then(Value::as_array);
    let forced = match api {
        ApiKind::Openai | ApiKind::Compatible => is("/tool_choice/type", &"function".into()),
        _ => false,
    };
    RenderParams {
        model: said.model.clone(),
        include_usage: is("/stream_options/include_usage", &true.into()),
        forces_tool: forced,
        encrypted_reasoning: include
            .is_some_and(|include| include.contains(&"reasoning.encrypted_content".into())),
        thoughts: is("/generationConfig/thinkingConfig/includeThoughts", &true.into()),
        signs_calls: model.is_some_and(|model| model.thinks),
        request: if api == ApiKind::OpenaiResponses { body.clone() } else { Value::Null },
        usage: None,
        issued: std::sync::Arc::default(),
    }
}

#[cfg(test)]
mod tests;
