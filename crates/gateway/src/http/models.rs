//! `/api/models`: model providers, and testing them. They are configured in `models.toml` and never over the network:
//! nobody may set an address together with the location of a key remotely.

use std::sync::Arc;

use axum::Json;
use axum::extract::State;
use http::StatusCode;
use toolway_api::models::{
    ModelProviderList, ModelTestReport, ProviderModel, ProviderModelList, TestModelRequest,
};
use toolway_api::{ErrorResponse, FileProblem};
use toolway_models::ModelErrorKind;

use super::resources::{ApiRoutes, resources};
use super::token_input::read_text;
use super::{ApiError, OptionalJsonBody, PathParams};
use crate::api_views::{model_provider_view, model_test_report};
use crate::chat::ChatService;
use crate::http::AuthenticatedOwner;

pub(super) fn routes() -> ApiRoutes {
    resources!(list, test, offered)
}

/// List model providers
#[utoipa::path(
    get,
    path = "/api/models",
    tag = "models",
    operation_id = "list_models",
    responses((status = 200, description = "The model providers.", body = ModelProviderList))
)]
async fn list(_: AuthenticatedOwner, State(chat): State<Arc<ChatService>>) -> Json<ModelProviderList> {
    let listed = chat.models.list().await;
    let problems = chat.models.problems().into_iter().map(|problem| FileProblem {
        path: problem.path.display().to_string(),
        line: problem.line,
        message: problem.message,
        hint: problem.hint,
    });
    Json(ModelProviderList {
        models: listed.into_iter().map(model_provider_view).collect(),
        problems: problems.collect(),
    })
}

/// Test a model
///
/// Makes one small tool call, which costs a few tokens, and reports each step.
#[utoipa::path(
    post,
    path = "/api/models/{name}/test",
    tag = "models",
    operation_id = "test_model",
    params(("name" = String, Path, description = "The model provider's name.")),
    request_body = Option<TestModelRequest>,
    responses(
        (status = 200, description = "The result.", body = ModelTestReport),
        (status = 404, description = "The model provider does not exist.", body = ErrorResponse),
    )
)]
async fn test(
    _: AuthenticatedOwner,
    State(chat): State<Arc<ChatService>>,
    PathParams(name): PathParams<String>,
    OptionalJsonBody(body): OptionalJsonBody<TestModelRequest>,
) -> Result<Json<ModelTestReport>, ApiError> {
    let id = body.and_then(|body| body.model).map(|id| read_text("model", id)).transpose()?;
    let report = chat.models.test(&name, id.as_deref()).await?;
    Ok(Json(model_test_report(report)))
}

/// List the models of a provider
#[utoipa::path(
    get,
    path = "/api/models/{name}/models",
    tag = "models",
    operation_id = "list_provider_models",
    params(("name" = String, Path, description = "The model provider's name.")),
    responses(
        (status = 200, description = "The models.", body = ProviderModelList),
        (status = 404, description = "The model provider does not exist.", body = ErrorResponse),
        (status = 502, description = "The model provider cannot be reached, or lists no models.", body = ErrorResponse),
    )
)]
async fn offered(
    _: AuthenticatedOwner,
    State(chat): State<Arc<ChatService>>,
    PathParams(name): PathParams<String>,
) -> Result<Json<ProviderModelList>, ApiError> {
    // Every model id leads to its provider.
    let provider = chat.models.get(Some(&format!("{name}/any")))?.provider;
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
    let shown = shown.map(|it| ProviderModel { id: it.id, context_window: it.context_tokens });
    Ok(Json(ProviderModelList { models: shown.collect() }))
}
