//! `/api/models`: which model providers are set up, and whether they work. They are set up in `models.toml`, never
//! from here: an address and the place of a key must not be settable from afar.

use std::sync::Arc;

use axum::Json;
use axum::extract::State;
use http::StatusCode;
use serde::{Deserialize, Serialize};
use toolway_agent::models::{ModelTestReport, ModelView};
use toolway_models::ModelErrorKind;
use utoipa::ToSchema;

use super::error::ErrorResponse;
use super::resources::{ApiRoutes, resources};
use super::schema_wrapper::shown_as;
use super::token_input::{ShortTextSchema, read_text};
use super::{ApiError, OptionalJsonBody, PathParams};
use crate::access::AuthenticatedOwner;
use crate::state::AppState;

pub(super) fn routes() -> ApiRoutes {
    resources!(list, test, offered)
}

shown_as! {
    /// A model provider.
    ModelShown(ModelView) {
        /// The owner's name for it.
        name: String,
        /// The API that it speaks: `openai`, `openai-responses`, `anthropic`, `gemini` or `compatible`.
        kind: String,
        /// The preset that it was made from.
        #[schema(required = false)]
        preset: String,
        /// Where it is.
        base_url: String,
        /// Where its key is kept: `place` in words, and whether one is `present`.
        #[schema(value_type = Object, required = false)]
        key: serde_json::Value,
        /// The model that is asked where only its name is said.
        #[schema(required = false)]
        model: String,
        /// What is known of single models, by id: `context_window`, `max_tools`, `images`.
        #[schema(value_type = Object)]
        models: serde_json::Value,
    }

    /// What a test of a model found.
    TestShown(ModelTestReport) {
        /// The provider's name.
        name: String,
        /// The model that was asked.
        #[schema(required = false)]
        model: String,
        /// Whether everything works that must.
        ok: bool,
        /// What was looked at, in its order: `check`, `status` (`ok`, `failed`, `skipped`), `message`, `hint`.
        checks: Vec<serde_json::Map<String, serde_json::Value>>,
        /// How long it took, in milliseconds.
        duration_ms: u64,
    }
}

/// Something that is wrong in `models.toml`.
#[derive(Debug, Serialize, ToSchema)]
struct ModelsFileProblem {
    /// The file.
    path: String,
    /// The line in it.
    line: usize,
    /// What is wrong.
    message: String,
    /// What to do about it.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(nullable = false)]
    hint: Option<String>,
}

/// The model providers.
#[derive(Debug, Serialize, ToSchema)]
struct ModelProviderList {
    /// In the order of the file; the first is what agents use that name none.
    models: Vec<ModelShown>,
    /// What is wrong in the file; then what it said before stands.
    problems: Vec<ModelsFileProblem>,
}

/// List model providers
#[utoipa::path(
    get,
    path = "/api/models",
    tag = "models",
    responses((status = 200, description = "The model providers.", body = ModelProviderList))
)]
async fn list(_: AuthenticatedOwner, State(app): State<Arc<AppState>>) -> Json<ModelProviderList> {
    let listed = app.chat.models.list().await;
    let problems = app.chat.models.problems().into_iter().map(|problem| ModelsFileProblem {
        path: problem.path.display().to_string(),
        line: problem.line,
        message: problem.message,
        hint: problem.hint,
    });
    Json(ModelProviderList {
        models: listed.into_iter().map(ModelShown::from).collect(),
        problems: problems.collect(),
    })
}

/// What to test.
#[derive(Debug, Default, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
struct TestModelRequest {
    /// The id of the model to ask, where it is not the provider's set one.
    #[schema(value_type = Option<ShortTextSchema>)]
    model: Option<String>,
}

/// Test a model
///
/// Makes one small call of a tool, which costs a few tokens, and says what works.
#[utoipa::path(
    post,
    path = "/api/models/{name}/test",
    tag = "models",
    params(("name" = String, Path, description = "The model provider's name.")),
    request_body = Option<TestModelRequest>,
    responses(
        (status = 200, description = "What was found.", body = TestShown),
        (status = 404, description = "There is no such model provider.", body = ErrorResponse),
    )
)]
async fn test(
    _: AuthenticatedOwner,
    State(app): State<Arc<AppState>>,
    PathParams(name): PathParams<String>,
    OptionalJsonBody(body): OptionalJsonBody<TestModelRequest>,
) -> Result<Json<TestShown>, ApiError> {
    let id = body.and_then(|body| body.model).map(|id| read_text("model", id)).transpose()?;
    let report = app.chat.models.test(&name, id.as_deref()).await?;
    Ok(Json(report.into()))
}

/// A model that a provider offers.
#[derive(Debug, Serialize, ToSchema)]
struct ProviderModel {
    /// Its id there.
    id: String,
    /// How many tokens it can read, where the provider says so.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(nullable = false)]
    context_tokens: Option<u64>,
}

/// The models that a provider offers.
#[derive(Debug, Serialize, ToSchema)]
struct ProviderModelList {
    /// As the provider lists them.
    models: Vec<ProviderModel>,
}

/// List the models that a provider offers
#[utoipa::path(
    get,
    path = "/api/models/{name}/models",
    tag = "models",
    params(("name" = String, Path, description = "The model provider's name.")),
    responses(
        (status = 200, description = "The models.", body = ProviderModelList),
        (status = 404, description = "There is no such model provider.", body = ErrorResponse),
        (status = 502, description = "The model provider can't be asked.", body = ErrorResponse),
    )
)]
async fn offered(
    _: AuthenticatedOwner,
    State(app): State<Arc<AppState>>,
    PathParams(name): PathParams<String>,
) -> Result<Json<ProviderModelList>, ApiError> {
    // Which of its models does not matter.
    let provider = app.chat.models.get(Some(&format!("{name}/any")))?.provider;
    let models = provider.list_models().await.map_err(|error| {
        let code = match error.kind {
            ModelErrorKind::Auth => "provider_auth",
            _ => "provider_failed",
        };
        let refused = ApiError::new(StatusCode::BAD_GATEWAY, code, error.to_string());
        match error.hint {
            Some(hint) => refused.with_hint(hint),
            None => refused,
        }
    })?;
    let shown = models.into_iter();
    let shown = shown.map(|it| ProviderModel { id: it.id, context_tokens: it.context_tokens });
    Ok(Json(ProviderModelList { models: shown.collect() }))
}
