//! Pairing: the owner creates a code (`POST /api/pair`), a device exchanges it for a token (`POST /pair`).

use std::sync::Arc;

use axum::Extension;
use axum::Json;
use axum::extract::State;
use http::{HeaderMap, StatusCode};
use secrecy::ExposeSecret;
use toolway_api::ErrorResponse;
use toolway_api::pairing::{
    CreatePairingCodeRequest, CreatePairingCodeRequestSchema, CreatePairingCodeResponse, PairRequestSchema,
    PairResponseSchema,
};
use toolway_types::Role;
use toolway_wire::pairing::{CODE_HEADER, PairRequest, PairResponse, PairingCode, PairingLink};

use super::resources::{ApiRoutes, resources};
use super::token_input::read_optional_text;
use super::{ApiError, JsonBody, OptionalJsonBody};
use crate::access::{DeviceBinding, EffectiveClient, PairError, PairingGrant};
use crate::http::AuthenticatedOwner;
use crate::state::AppState;

pub(super) fn routes() -> ApiRoutes {
    resources!(pair, make_code)
}

/// Exchange a pairing code for a token
///
/// A code works once, within ten minutes. Ten wrong codes make all unused codes void.
#[utoipa::path(
    post,
    path = "/pair",
    tag = "pairing",
    operation_id = "pair",
    security(()),
    params((
        "X-Pairing-Code" = String, Header,
        description = "The code, with or without its key. Dashes, spaces and case are ignored.",
        pattern = "^[-_ ]*([0-9A-TV-Za-tv-z][-_ ]*){8}(([0-9A-TV-Za-tv-z][-_ ]*){12})?$"
    )),
    request_body(content = Option<PairRequestSchema>, description = "Optional."),
    responses(
        (status = 200, description = "The token.", body = PairResponseSchema),
        (status = 400, description = "The code or the body is invalid.", body = ErrorResponse),
        (status = 401, description = "The code is unknown, expired or used (`pairing_code_unknown`, \
            `pairing_code_expired`, `pairing_code_used`).", body = ErrorResponse),
        (status = 429, description = "The code is void after too many wrong codes (`pairing_code_void`), or this \
            address has made too many attempts (`too_many_attempts`).", body = ErrorResponse),
        (status = 503, description = "The database failed.", body = ErrorResponse),
    )
)]
async fn pair(
    State(app): State<Arc<AppState>>,
    Extension(client): Extension<EffectiveClient>,
    headers: HeaderMap,
    OptionalJsonBody(request): OptionalJsonBody<PairRequest>,
) -> Result<Json<PairResponse>, ApiError> {
    let refuse = |error: ApiError| {
        app.metrics.record_refusal(&error.code);
        error
    };
    if let Err(wait) = app.access.pair_attempts.attempt(client.ip) {
        let words = "too many pairing attempts from this address";
        let error = ApiError::new(StatusCode::TOO_MANY_REQUESTS, "too_many_attempts", words);
        return Err(refuse(error.with_hint(format!("wait {} s", wait.as_secs() + 1)).retry_after(wait)));
    }
    let code = read_code(&headers).map_err(refuse)?;
    let device = read_device(request.unwrap_or_default())?;
    let paired = app.access.pair(&code, device, client.ip).await;
    let (token, state) = paired.map_err(|error| match error {
        PairError::Refused(refusal) => refuse(refusal.into()),
        PairError::Token(error) => error.into(),
    })?;
    tracing::info!(token = state.id(), role = %state.role(), label = state.label, from = %client.ip, "paired");
    Ok(Json(PairResponse {
        paired: true,
        persisted: true,
        token: token.expose_secret().to_owned(),
        message: format!("Paired as {}. Keep the token; it is not shown again.", state.role()),
    }))
}

fn read_code(headers: &HeaderMap) -> Result<PairingCode, ApiError> {
    let hint = "send the code that `toolway pair` shows in the header X-Pairing-Code";
    let mut values = headers.get_all(CODE_HEADER).into_iter();
    let (Some(value), None) = (values.next(), values.next()) else {
        let words = "the request must contain exactly one pairing code";
        return Err(ApiError::new(StatusCode::BAD_REQUEST, "pairing_code_missing", words).with_hint(hint));
    };
    let unreadable = |words: String| {
        ApiError::new(StatusCode::BAD_REQUEST, "pairing_code_malformed", words).with_hint(hint)
    };
    let text =
        value.to_str().map_err(|_| unreadable("the pairing code contains invalid characters".to_owned()))?;
    text.parse().map_err(|error: toolway_wire::pairing::PairingError| unreadable(error.to_string()))
}

fn read_device(request: PairRequest) -> Result<DeviceBinding, ApiError> {
    Ok(DeviceBinding {
        id: read_optional_text("device_id", request.device_id)?,
        name: read_optional_text("name", request.name)?,
        platform: read_optional_text("platform", request.platform)?,
    })
}

/// Create a pairing code
#[utoipa::path(
    post,
    path = "/api/pair",
    tag = "pairing",
    operation_id = "create_pairing_code",
    request_body = CreatePairingCodeRequestSchema,
    responses(
        (status = 201, description = "The code.", body = CreatePairingCodeResponse),
        (status = 429, description = "Too many unused codes.", body = ErrorResponse),
    )
)]
async fn make_code(
    _: AuthenticatedOwner,
    State(app): State<Arc<AppState>>,
    JsonBody(new): JsonBody<CreatePairingCodeRequest>,
) -> Result<(StatusCode, Json<CreatePairingCodeResponse>), ApiError> {
    let grant = PairingGrant {
        role: new.role.into(),
        label: read_optional_text("label", new.label)?,
        agent: read_optional_text("agent", new.agent)?,
    };
    let issued = app.access.pairing.issue(grant)?;
    let (url, pin) = (app.address.external_url().await, app.address.pin);
    let code = match &pin {
        Some(pin) => issued.code.with_key(pin),
        None => issued.code,
    };
    let made = CreatePairingCodeResponse {
        code: code.to_string(),
        expires_ms: issued.expires_ms,
        role: Role::from(new.role).to_string(),
        key: pin.map(|pin| pin.to_string()),
        url: url.clone(),
        link: PairingLink { url, code, key: pin }.to_string(),
    };
    Ok((StatusCode::CREATED, Json(made)))
}
