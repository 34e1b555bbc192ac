//! The time zone of a client over HTTP, from its header.

use std::sync::Arc;

use http::HeaderMap;
use toolway_wire::TIME_ZONE_HEADER;

use super::ApiError;
use crate::state::AppState;

/// Returns the time zone that a client gives in its header, if it does.
///
/// # Errors
/// 400 if the IANA database has no time zone of this name.
pub(crate) async fn client_time_zone(
    app: &AppState,
    headers: &HeaderMap,
) -> Result<Option<Arc<str>>, ApiError> {
    let Some(value) = headers.get(TIME_ZONE_HEADER) else { return Ok(None) };
    let refused = |problem: String| {
        ApiError::malformed(format!("{TIME_ZONE_HEADER}: {problem}"))
            .with_hint("use a name of the IANA database, such as Europe/Berlin, or leave the header out")
    };
    let name = value.to_str().map_err(|_| refused("it is not a name".to_owned()))?.trim();
    app.gateway_tools.client_time_zone(name).await.map(Some).map_err(refused)
}
