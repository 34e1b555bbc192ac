//! The requests by which a server of the older era learns of the clients' interest.

use std::sync::Arc;
use std::time::Duration;

use rmcp::model::LoggingLevel;
use toolway_types::RawJson;

use super::connection::UpstreamConnection;
use super::error::UpstreamError;
use super::frame::json_member;

/// Time limit for a server to acknowledge a new subscription before the previous one is closed anyway.
pub(super) const ACKNOWLEDGE_TIMEOUT: Duration = Duration::from_secs(5);

/// Tells a server of the older era that a resource is watched, or no longer watched.
pub(super) async fn send_watch(
    connection: &Arc<UpstreamConnection>,
    method: &'static str,
    uri: &str,
) -> Result<RawJson, UpstreamError> {
    connection.request_own(method, Some(uri), &json_member("uri", uri)).await
}

/// Tells a server of the older era the lowest level of the log messages to send, if it has a log.
pub(super) async fn set_level(
    connection: &Arc<UpstreamConnection>,
    level: LoggingLevel,
) -> Result<(), UpstreamError> {
    let has_log = connection.negotiated().is_some_and(|settled| settled.facts.capabilities.logging.is_some());
    if has_log {
        connection.request_own("logging/setLevel", None, &json_member("level", &level)).await?;
    }
    Ok(())
}
