//! REST, one file per resource, each with its `routes()`. All resources use [`guard`] (hosts, origins, log),
//! [`extractors`] (bodies, queries, paths), [`token_extractors`] (tokens and roles) and [`error`] (the error format).
//!
//! Handlers translate requests and responses. Rules that hold for every entry point are in other modules;
//! [`rule_errors`] converts their rejections to responses.

mod agents;
mod approvals;
mod call_response;
mod call_stream;
mod calls;
mod chat;
mod conversion;
mod devices;
pub mod error;
mod error_conversions;
mod event_stream;
pub mod extractors;
mod grants;
pub mod guard;
pub mod health;
mod mcp;
mod mcp_servers;
pub mod metrics;
mod models;
mod openai;
pub mod openapi;
pub mod pairing;
mod policy;
mod protected_resource;
mod reload;
mod resources;
pub(crate) mod response_memory;
mod rule_errors;
mod sessions;
mod status;
mod time_zone;
pub(crate) mod token_extractors;
mod token_input;
pub mod tokens;
mod tool_changes;
mod tools;
mod unread_body;
mod usage;
mod version_1;

use std::sync::Arc;

use axum::Router;

pub use error::ApiError;
pub use extractors::{JsonBody, OptionalJsonBody, PathParams, QueryParams};
pub(crate) use mcp::{agent_of as mcp_agent, client_scope as mcp_client_scope};
pub use openai::replay as completion_replay;
pub(crate) use protected_resource::RESOURCE as MCP_RESOURCE;
pub(crate) use time_zone::client_time_zone;
pub use token_extractors::{AuthenticatedCaller, AuthenticatedOwner, AuthenticatedToken};

use self::resources::ApiRoutes;
use crate::state::{AppState, RouterState};

/// Returns all resources with their descriptions.
fn resources() -> ApiRoutes {
    health::routes()
        .merge(metrics::routes())
        .merge(status::routes())
        .merge(reload::routes())
        .merge(pairing::routes())
        .merge(tokens::routes())
        .merge(tools::routes())
        .merge(tool_changes::routes())
        .merge(devices::routes())
        .merge(calls::routes())
        .merge(approvals::routes())
        .merge(grants::routes())
        .merge(policy::routes())
        .merge(chat::routes())
        .merge(sessions::routes())
        .merge(agents::routes())
        .merge(mcp_servers::routes())
        .merge(models::routes())
        .merge(usage::routes())
        .merge(version_1::routes())
        .merge(openapi::routes())
}

/// Returns the routes of REST, `/v1`, MCP and the sign-in document, without middleware.
pub(crate) fn routes(app: &Arc<AppState>) -> Router<RouterState> {
    resources()
        .router()
        .merge(version_1::unsupported_routes())
        .merge(openai::routes())
        .merge(protected_resource::routes(app, mcp::routes()))
}
