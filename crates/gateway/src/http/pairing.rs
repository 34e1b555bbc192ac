//! Pairing: the owner makes a code (`POST /api/pair`), a device exchanges it for a token (`POST /pair`).

use std::sync::Arc;

use axum::Extension;
use axum::Json;
use axum::extract::State;
use http::{HeaderMap, StatusCode};
use secrecy::ExposeSecret;
use serde::{Deserialize, Serialize};
use toolway_wire::pairing::{CODE_HEADER, PairRequest, PairResponse, PairingCode, PairingLink};
use utoipa::ToSchema;

use super::error::ErrorResponse;
use super::resources::{ApiRoutes, resources};
use super::token_input::{AssignableRole, ShortTextSchema, described_by_role, read_agent, read_text};
use super::{ApiError, JsonBody, OptionalJsonBody};
use crate::access::{AuthenticatedOwner, DeviceBinding, EffectiveClient, NewToken, PairingGrant};
use crate::state::AppState;

pub(super) fn routes() -> ApiRoutes {
    resources!(pair, make_code)
}

/// What a device says of itself; bound to its token.
#[derive(ToSchema)]
#[schema(as = PairRequest)]
#[allow(dead_code, reason = "describes a type of another crate")]
struct PairRequestSchema {
    /// An id that stays the same over restarts.
    #[schema(value_type = Option<ShortTextSchema>)]
    device_id: Option<String>,
    /// A name for people.
    #[schema(value_type = Option<ShortTextSchema>)]
    name: Option<String>,
    /// Operating system and version.
    #[schema(value_type = Option<ShortTextSchema>)]
    platform: Option<String>,
}

/// A token for a code.
#[derive(ToSchema)]
#[schema(as = PairResponse)]
#[allow(dead_code, reason = "describes a type of another crate")]
struct PairResponseSchema {
    /// Always true.
    paired: bool,
    /// Whether the token outlives the gateway's process.
    persisted: bool,
    /// The token. Shown this once.
    token: String,
    /// In words.
    message: String,
}

/// Exchange a pairing code for a token
///
/// A code is good once and for ten minutes. Ten wrong codes make all codes that wait void.
#[utoipa::path(
    post,
    path = "/pair",
    tag = "pairing",
    security(()),
    params((
        "X-Pairing-Code" = String, Header,
        description = "The code as shown, with or without its key part. Dashes, spaces and lower case don't matter.",
        pattern = "^[-_ ]*([0-9A-TV-Za-tv-z][-_ ]*){8}(([0-9A-TV-Za-tv-z][-_ ]*){12})?$"
    )),
    request_body(content = Option<PairRequestSchema>, description = "May be left out."),
    responses(
        (status = 200, description = "The token.", body = PairResponseSchema),
        (status = 400, description = "The code or the body can't be read.", body = ErrorResponse),
        (status = 401, description = "The code is unknown, has expired or was used (`pairing_code_unknown`, \
            `pairing_code_expired`, `pairing_code_spent`).", body = ErrorResponse),
        (status = 429, description = "The code is void after too many wrong tries (`pairing_code_void`), or this \
            address tried too often (`too_many_tries`).", body = ErrorResponse),
        (status = 503, description = "The token could not be kept.", body = ErrorResponse),
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
        let words = "too many attempts to pair came from this address";
        let error = ApiError::new(StatusCode::TOO_MANY_REQUESTS, "too_many_tries", words);
        return Err(refuse(error.with_hint(format!("wait {} s", wait.as_secs() + 1)).retry_after(wait)));
    }
    let code = read_code(&headers).map_err(refuse)?;
    let device = read_device(request.unwrap_or_default())?;
    let taken = app.access.pairing.reserve(&code).map_err(|refusal| refuse(refusal.into()))?;
    let grant = taken.grant.clone();
    let label = grant.label.or_else(|| device.name.clone()).unwrap_or_else(|| grant.role.to_string());
    let new = NewToken { role: grant.role, label, agent: grant.agent, device, expires_ms: None };
    let (token, state) = app.access.tokens.create(new).await?;
    taken.redeem();
    app.access.pair_attempts.refund(client.ip);
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
        let words = "the request does not carry exactly one pairing code";
        return Err(ApiError::new(StatusCode::BAD_REQUEST, "pairing_code_missing", words).with_hint(hint));
    };
    let unreadable = |words: String| {
        ApiError::new(StatusCode::BAD_REQUEST, "pairing_code_malformed", words).with_hint(hint)
    };
    let text =
        value.to_str().map_err(|_| unreadable("the pairing code has odd characters in it".to_owned()))?;
    text.parse().map_err(|error: toolway_wire::pairing::PairingError| unreadable(error.to_string()))
}

fn read_device(request: PairRequest) -> Result<DeviceBinding, ApiError> {
    Ok(DeviceBinding {
        id: request.device_id.map(|text| read_text("device_id", text)).transpose()?,
        name: request.name.map(|text| read_text("name", text)).transpose()?,
        platform: request.platform.map(|text| read_text("platform", text)).transpose()?,
    })
}

/// Which code to make.
#[derive(Debug, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
struct CreatePairingCodeRequest {
    /// The role of the token to come; `device` where nothing is said.
    #[serde(default = "default_role")]
    role: AssignableRole,
    /// A name for people; else the device's own.
    #[schema(value_type = Option<ShortTextSchema>)]
    label: Option<String>,
    /// The only agent that the token may use.
    #[schema(value_type = Option<ShortTextSchema>)]
    agent: Option<String>,
}

described_by_role!(NewCodeByRole, CreatePairingCodeRequest);

fn default_role() -> AssignableRole {
    AssignableRole::Device
}

/// A code, in all the forms in which it is handed over.
#[derive(Debug, Serialize, ToSchema)]
struct CreatePairingCodeResponse {
    /// The code to type, `ABCD-EFGH`; with three more groups of the gateway's key where it uses its own.
    code: String,
    /// The same as a link, for a QR code.
    link: String,
    /// The gateway's address for the device.
    url: String,
    /// When the code ends, in milliseconds since the Unix epoch.
    expires_ms: i64,
    /// The role of the token to come.
    role: AssignableRole,
    /// The gateway's key, where it uses one of its own: `sha256:` and 64 hexadecimal digits.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(nullable = false)]
    key: Option<String>,
}

/// Make a pairing code
#[utoipa::path(
    post,
    path = "/api/pair",
    tag = "pairing",
    request_body = NewCodeByRole,
    responses(
        (status = 201, description = "The code.", body = CreatePairingCodeResponse),
        (status = 429, description = "Too many codes wait to be used.", body = ErrorResponse),
    )
)]
async fn make_code(
    _: AuthenticatedOwner,
    State(app): State<Arc<AppState>>,
    JsonBody(new): JsonBody<CreatePairingCodeRequest>,
) -> Result<(StatusCode, Json<CreatePairingCodeResponse>), ApiError> {
    let grant = PairingGrant {
        role: new.role.into(),
        label: new.label.map(|label| read_text("label", label)).transpose()?,
        agent: read_agent(new.role, new.agent)?,
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
        role: new.role,
        key: pin.map(|pin| pin.to_string()),
        url: url.clone(),
        link: PairingLink { url, code, key: pin }.to_string(),
    };
    Ok((StatusCode::CREATED, Json(made)))
}
