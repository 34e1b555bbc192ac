//! Resources of version 1 gateways for features that Toolway does not have. Their apps show the message.

use axum::Router;
use axum::routing::any;
use http::Uri;

use crate::http::{ApiError, AuthenticatedToken};
use crate::state::RouterState;

/// Paths, also for everything below them, and the sentence for each.
const UNSUPPORTED: &[(&str, &str)] = &[
    (
        "/api/config",
        "Toolway's settings are a file on the gateway's computer, and cannot be changed from an app.",
    ),
    ("/api/cost", "Toolway shows the cost of models at /api/usage."),
    ("/api/cron", "Toolway has no scheduled tasks."),
    ("/api/identity", "Toolway has no identity files. Use the prompt of an agent."),
    (
        "/api/integrations",
        "Toolway has no integrations of this kind. Add MCP servers on the gateway's computer.",
    ),
    ("/api/memory", "Toolway has no memory across conversations."),
    ("/api/personality", "Toolway has no personality files. Use the prompt of an agent."),
    ("/api/provider/balance", "Toolway does not ask model providers for a balance."),
    ("/api/skills", "Toolway has no skills."),
    ("/api/system", "Toolway cannot be controlled from an app."),
    ("/api/users", "Toolway has no user profiles."),
    ("/webhook", "Toolway has no webhook for messages. Use POST /api/chat."),
];

pub(super) fn routes() -> Router<RouterState> {
    UNSUPPORTED.iter().fold(Router::new(), |router, (path, _)| {
        router.route(path, any(refuse)).route(&format!("{path}/{{*rest}}"), any(refuse))
    })
}

async fn refuse(_: AuthenticatedToken, uri: Uri) -> ApiError {
    let is_below = |path: &str| {
        uri.path().strip_prefix(path).is_some_and(|rest| rest.is_empty() || rest.starts_with('/'))
    };
    let sentence = UNSUPPORTED.iter().find(|(path, _)| is_below(path)).map(|(_, sentence)| *sentence);
    ApiError::not_found("not_supported", sentence.unwrap_or("Toolway does not have this feature."))
}
