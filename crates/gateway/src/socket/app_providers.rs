//! Handles `app_providers`, the report of a device that bridges the tools of apps.

use std::sync::Arc;

use toolway_wire::client_message::app_providers::AppProviders;
use toolway_wire::error_code;

use super::close::CloseReason;
use super::context::SocketContext;
use super::tool_provider::ToolProvider;
use crate::sources::SourceSession;
use crate::sources::app_provider_report::AppProviderReport;

/// Replaces the source's report.
pub(super) async fn report(
    cx: &SocketContext,
    provider: &mut ToolProvider,
    message: AppProviders,
) -> Result<(), CloseReason> {
    if cx.version < 2 {
        let text = "\"app_providers\" belongs to version 2; send `\"v\":2` in connect first";
        return cx.send_error(error_code::INVALID_MESSAGE, text).await;
    }
    let report = match AppProviderReport::new(cx.app.clock.now_ms(), message.providers) {
        Ok(report) => report,
        Err(excess) => {
            return cx.send_error(error_code::LIMIT_EXCEEDED, format!("app_providers: {excess}")).await;
        }
    };
    let SourceSession { source, .. } = provider.require_session(cx).await?;
    // Only the newest connection may report for the source, even if a message of an older one arrives late.
    let taken = provider.while_attached(|| source.set_app_providers(Arc::new(report)));
    if taken.is_none() {
        tracing::debug!(source = %source.slug(), "ignored a report on apps from an older connection");
    }
    Ok(())
}
