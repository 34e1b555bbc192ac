//! Starts an MCP session.

use super::connection::HttpConnection;
use super::request::{McpRequestBuilder, ProtocolEra};
use crate::error::{Result, unexpected};

/// Returns a request builder with its own MCP session, if the era has sessions.
pub(crate) async fn begin_session(
    wire: &mut HttpConnection,
    line: &McpRequestBuilder,
) -> Result<McpRequestBuilder> {
    if line.era == ProtocolEra::Modern {
        return Ok(line.clone());
    }
    let answer = wire.request_with_timeout(line.initialize().next_request().0).await?;
    let (true, Some(session)) = (answer.status == 200, answer.session.clone()) else {
        return unexpected(format!("no MCP session was made: {}", answer.summary()));
    };
    let line = McpRequestBuilder { session: Some(session), ..line.clone() };
    let answer = wire.request_with_timeout(line.initialized().next_request().0).await?;
    if answer.status != 202 {
        return unexpected(format!(
            "a new MCP session refuses notifications/initialized: {}",
            answer.summary()
        ));
    }
    Ok(line)
}
