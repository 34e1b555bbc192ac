//! `GET /api/openapi.json`: the OpenAPI description of REST, built from the annotations of the handlers.

use std::sync::OnceLock;

use axum::response::{IntoResponse, Response};
use bytes::Bytes;
use http::HeaderValue;
use http::header::CONTENT_TYPE;
use toolway_api::{ErrorDetail, ErrorResponse};
use utoipa::openapi::path::Operation;
use utoipa::openapi::request_body::RequestBody;
use utoipa::openapi::schema::{Schema, Type};
use utoipa::openapi::security::{HttpAuthScheme, HttpBuilder, SecurityRequirement, SecurityScheme};
use utoipa::openapi::{
    ComponentsBuilder, Content, Deprecated, InfoBuilder, OpenApi, OpenApiBuilder, Ref, RefOr, Required,
    Response as Described, ResponseBuilder,
};
use utoipa::{PartialSchema, ToSchema};

use super::error::internal;
use super::resources::{ApiRoutes, resources};
use super::version_1;
use crate::http::AuthenticatedCaller;

const BEARER: &str = "token";

/// Returns the document without paths.
fn head() -> OpenApi {
    let bearer = HttpBuilder::new()
        .scheme(HttpAuthScheme::Bearer)
        .description(Some("A token of the gateway: `toolway tokens create`, `toolway pair`, or the owner's."))
        .build();
    OpenApiBuilder::new()
        .info(
            InfoBuilder::new()
                .title("Toolway")
                .version(env!("CARGO_PKG_VERSION"))
                .description(Some("One gateway to the tools of your phones, computers, apps and servers."))
                .license(Some(utoipa::openapi::License::new(env!("CARGO_PKG_LICENSE"))))
                .build(),
        )
        .components(Some(
            ComponentsBuilder::new()
                .security_scheme(BEARER, SecurityScheme::Http(bearer))
                .schema(ErrorResponse::name(), ErrorResponse::schema())
                .schema(ErrorDetail::name(), ErrorDetail::schema())
                .build(),
        ))
        .security(Some([SecurityRequirement::new(BEARER, [""; 0])]))
        .build()
}

/// Returns the whole document.
#[must_use]
pub fn document() -> OpenApi {
    let mut document = super::resources().describe(head());
    for item in document.paths.paths.values_mut() {
        let operations = [&mut item.get, &mut item.put, &mut item.post, &mut item.delete, &mut item.patch];
        operations.into_iter().flatten().for_each(|operation| {
            complete(operation);
            let tags = operation.tags.iter().flatten();
            if tags.into_iter().any(|tag| tag == version_1::TAG) {
                operation.deprecated = Some(Deprecated::True);
            }
        });
    }
    document
}

/// Makes an optional body optional instead of nullable.
fn leave_out_rather_than_null(body: &mut RequestBody) {
    for content in body.content.values_mut() {
        let RefOr::T(Content { schema, .. }) = content else { continue };
        let Some(RefOr::T(Schema::OneOf(either))) = schema else { continue };
        let is_null = |item: &RefOr<Schema>| matches!(item, RefOr::T(Schema::Object(it)) if it.schema_type == Type::Null.into());
        let given: Vec<_> = either.items.iter().filter(|item| !is_null(item)).cloned().collect();
        if let (true, [only]) = (given.len() < either.items.len(), given.as_slice()) {
            *schema = Some(only.clone());
            body.required = Some(Required::False);
        }
    }
}

/// Adds the error responses of every operation, and those of operations with a body.
fn complete(operation: &mut Operation) {
    let mut common = Vec::new();
    if let Some(RefOr::T(body)) = &mut operation.request_body {
        leave_out_rather_than_null(body);
        common.push(("408", "The body took too long to arrive."));
        common.push(("413", "The body is too large."));
        if body.required == Some(Required::True) {
            common.push(("415", "The body is not JSON."));
        }
    }
    let open = operation
        .security
        .as_ref()
        .is_some_and(|all| all.iter().all(|it| *it == SecurityRequirement::default()));
    common.extend([
        ("400", "The request is malformed."),
        (
            "403",
            "The host or the web page is not one of this gateway's, or the token's role may not do this.",
        ),
        ("default", "Any other error, in the same format."),
    ]);
    if !open {
        common.push(("401", "The token is missing, unknown, revoked or expired."));
        common.push(("429", "Too many requests without a valid token came from this address."));
    }
    for (status, words) in common {
        operation.responses.responses.entry(status.to_owned()).or_insert_with(|| RefOr::T(refusal(words)));
    }
}

fn refusal(words: &str) -> Described {
    let content = Content::new(Some(Ref::from_schema_name(ErrorResponse::name())));
    ResponseBuilder::new().description(words).content("application/json", content).build()
}

pub(super) fn routes() -> ApiRoutes {
    resources!(openapi)
}

/// This description
#[utoipa::path(
    get,
    path = "/api/openapi.json",
    tag = "gateway",
    operation_id = "get_openapi",
    responses((status = 200, description = "An OpenAPI document.", body = Object))
)]
async fn openapi(_: AuthenticatedCaller) -> Response {
    static TEXT: OnceLock<Result<Bytes, serde_json::Error>> = OnceLock::new();
    match TEXT.get_or_init(|| serde_json::to_vec(&document()).map(Bytes::from)) {
        Ok(text) => {
            ([(CONTENT_TYPE, HeaderValue::from_static("application/json"))], text.clone()).into_response()
        }
        Err(error) => internal(error).into_response(),
    }
}
