//! Who may ask, and which models there are: keys, lists of models, models that are not there.

use std::sync::Arc;

use axum::Json;
use axum::extract::{Path, Query, State};
use axum::http::{HeaderMap, StatusCode};
use axum::response::{IntoResponse, Response};
use serde::Deserialize;
use serde_json::{Value, json};

use crate::api::ApiKind;
use crate::error::ProviderApiError;
use crate::renderer::CREATED;
use crate::script::FakeModel;
use crate::state::FakeModelsState;

/// The key that the servers take, whichever API it is for.
pub const KEY: &str = "fake-key";

/// What the API says where the key is missing or wrong.
pub(crate) fn unauthorized(api: ApiKind, headers: &HeaderMap) -> Option<ProviderApiError> {
    let header = |name: &str| headers.get(name).and_then(|value| value.to_str().ok());
    match api {
        ApiKind::Openai | ApiKind::OpenaiResponses => match header("authorization") {
            Some(value) if value == format!("Bearer {KEY}") => None,
            Some(value) => {
                let given = value.trim_start_matches("Bearer ");
                let start: String = given.chars().take(4).collect();
                Some(
                    ProviderApiError::new(401, format!("Incorrect API key provided: {start}***."))
                        .code("invalid_api_key"),
                )
            }
            None => Some(ProviderApiError::new(401, "You didn't provide an API key.")),
        },
        // Either header will do; the SDKs changed from the one to the other.
        ApiKind::Anthropic => {
            let bearer = header("authorization").and_then(|value| value.strip_prefix("Bearer "));
            match header("x-api-key").or(bearer) {
                Some(KEY) => None,
                Some(_) => Some(ProviderApiError::new(401, "invalid x-api-key")),
                None => Some(ProviderApiError::new(401, "x-api-key header is required")),
            }
        }
        // Google calls a wrong key an invalid argument, and a missing one a lack of permission.
        ApiKind::Gemini => match header("x-goog-api-key") {
            Some(KEY) => None,
            Some(_) => Some(
                ProviderApiError::invalid("API key not valid. Please pass a valid API key.")
                    .code("API_KEY_INVALID"),
            ),
            None => Some(ProviderApiError::new(
                403,
                "Method doesn't allow unregistered callers (callers without established identity). Please use \
                 API Key or other form of API consumer identity to call this API.",
            )),
        },
        // Most take any key, or none.
        ApiKind::Compatible => None,
    }
}

/// What the API says of a model that is not there.
pub(crate) fn model_not_found(api: ApiKind, model: &str) -> ProviderApiError {
    match api {
        ApiKind::Openai | ApiKind::OpenaiResponses | ApiKind::Compatible => ProviderApiError::new(
            404,
            format!("The model `{model}` does not exist or you do not have access to it."),
        )
        .code("model_not_found"),
        ApiKind::Anthropic => ProviderApiError::new(404, format!("model: {model}")),
        ApiKind::Gemini => ProviderApiError::new(
            404,
            format!(
                "models/{model} is not found for API version v1beta, or is not supported for generateContent. \
                 Call ListModels to see the list of available models and their supported methods."
            ),
        ),
    }
}

fn error_response(api: ApiKind, error: &ProviderApiError) -> Response {
    (error.http_status(), Json(error.body(api))).into_response()
}

fn openai_model(model: &FakeModel) -> Value {
    json!({"id": model.id, "object": "model", "created": CREATED, "owned_by": "fake-models"})
}

pub(crate) async fn openai(State(shared): State<Arc<FakeModelsState>>, headers: HeaderMap) -> Response {
    if let Some(error) = unauthorized(ApiKind::Openai, &headers) {
        return error_response(ApiKind::Openai, &error);
    }
    let data: Vec<_> = shared.models().iter().map(openai_model).collect();
    Json(json!({"object": "list", "data": data})).into_response()
}

pub(crate) async fn openai_one(
    State(shared): State<Arc<FakeModelsState>>,
    Path(id): Path<String>,
    headers: HeaderMap,
) -> Response {
    if let Some(error) = unauthorized(ApiKind::Openai, &headers) {
        return error_response(ApiKind::Openai, &error);
    }
    match shared.models().iter().find(|model| model.id == id) {
        Some(model) => Json(openai_model(model)).into_response(),
        None => error_response(ApiKind::Openai, &model_not_found(ApiKind::Openai, &id)),
    }
}

pub(crate) async fn compatible(State(shared): State<Arc<FakeModelsState>>) -> Response {
    let model = |model: &FakeModel| {
        let mut json = openai_model(model);
        // As vLLM and OpenRouter say it.
        json["max_model_len"] = json!(model.context_tokens);
        json["context_length"] = json!(model.context_tokens);
        json
    };
    let data: Vec<_> = shared.models().iter().map(model).collect();
    Json(json!({"object": "list", "data": data})).into_response()
}

/// Anthropic's pages.
#[derive(Debug, Deserialize)]
pub(crate) struct AnthropicPageQuery {
    limit: Option<usize>,
    after_id: Option<String>,
}

fn anthropic_model(model: &FakeModel) -> Value {
    json!({
        "type": "model", "id": model.id, "display_name": model.id, "created_at": "2026-09-21T00:00:00Z",
        "lifecycle": "active", "line": null, "deprecated_at": null, "retires_at": null,
        "max_input_tokens": model.context_tokens, "max_tokens": 64_000,
    })
}

pub(crate) async fn anthropic(
    State(shared): State<Arc<FakeModelsState>>,
    Query(page): Query<AnthropicPageQuery>,
    headers: HeaderMap,
) -> Response {
    if let Some(error) = unauthorized(ApiKind::Anthropic, &headers) {
        return error_response(ApiKind::Anthropic, &error);
    }
    let models = shared.models();
    let after = page.after_id.and_then(|id| models.iter().position(|model| model.id == id));
    let rest = models.iter().skip(after.map_or(0, |position| position + 1));
    let limit = page.limit.unwrap_or(20).clamp(1, 1000);
    let data: Vec<_> = rest.clone().take(limit).map(anthropic_model).collect();
    let id = |model: Option<&Value>| model.and_then(|model| model.get("id")).cloned().unwrap_or(Value::Null);
    Json(json!({
        "first_id": id(data.first()), "last_id": id(data.last()),
        "has_more": rest.count() > limit, "data": data,
    }))
    .into_response()
}

pub(crate) async fn anthropic_one(
    State(shared): State<Arc<FakeModelsState>>,
    Path(id): Path<String>,
    headers: HeaderMap,
) -> Response {
    if let Some(error) = unauthorized(ApiKind::Anthropic, &headers) {
        return error_response(ApiKind::Anthropic, &error);
    }
    match shared.models().iter().find(|model| model.id == id) {
        Some(model) => Json(anthropic_model(model)).into_response(),
        None => error_response(ApiKind::Anthropic, &model_not_found(ApiKind::Anthropic, &id)),
    }
}

/// Gemini's pages.
#[derive(Debug, Deserialize)]
pub(crate) struct GeminiPageQuery {
    #[serde(rename = "pageSize")]
    size: Option<usize>,
    #[serde(rename = "pageToken")]
    token: Option<String>,
}

fn gemini_model(model: &FakeModel) -> Value {
    json!({
        "name": format!("models/{}", model.id), "version": "001", "displayName": model.id,
        "inputTokenLimit": model.context_tokens, "outputTokenLimit": 65_536,
        "supportedGenerationMethods": ["generateContent", "countTokens"],
        "thinking": model.thinks,
    })
}

pub(crate) async fn gemini(
    State(shared): State<Arc<FakeModelsState>>,
    Query(page): Query<GeminiPageQuery>,
    headers: HeaderMap,
) -> Response {
    if let Some(error) = unauthorized(ApiKind::Gemini, &headers) {
        return error_response(ApiKind::Gemini, &error);
    }
    let models = shared.models();
    let start = page.token.and_then(|token| token.parse::<usize>().ok()).unwrap_or(0);
    let size = page.size.unwrap_or(50).clamp(1, 1000);
    let data: Vec<_> = models.iter().skip(start).take(size).map(gemini_model).collect();
    let mut answer = json!({"models": data});
    if start + size < models.len() {
        answer["nextPageToken"] = json!((start + size).to_string());
    }
    Json(answer).into_response()
}

pub(crate) async fn gemini_one(
    State(shared): State<Arc<FakeModelsState>>,
    Path((_, id)): Path<(String, String)>,
    headers: HeaderMap,
) -> Response {
    if let Some(error) = unauthorized(ApiKind::Gemini, &headers) {
        return error_response(ApiKind::Gemini, &error);
    }
    match shared.models().iter().find(|model| model.id == id) {
        Some(model) => Json(gemini_model(model)).into_response(),
        None => (StatusCode::NOT_FOUND, Json(model_not_found(ApiKind::Gemini, &id).body(ApiKind::Gemini)))
            .into_response(),
    }
}
