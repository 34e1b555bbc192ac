//! Tools that send notifications while they run, or end without an answer.

use std::time::Duration;

use rmcp::ErrorData;
use rmcp::model::{
    CallToolResponse, LoggingLevel, LoggingMessageNotificationParam, ProgressNotificationParam,
};
use serde_json::{Value, json};

use super::{FakeToolCall, text_result};

/// The suite expects messages one after the other.
const PAUSE: Duration = Duration::from_millis(50);
/// A client that reconnects finds no answer yet.
const LONGER: Duration = Duration::from_millis(300);
const LEVELS: [LoggingLevel; 8] = [
    LoggingLevel::Debug,
    LoggingLevel::Info,
    LoggingLevel::Notice,
    LoggingLevel::Warning,
    LoggingLevel::Error,
    LoggingLevel::Critical,
    LoggingLevel::Alert,
    LoggingLevel::Emergency,
];

pub(super) async fn logs(call: &FakeToolCall<'_>) -> Result<CallToolResponse, ErrorData> {
    for (number, text) in
        ["Tool execution started", "Tool processing data", "Tool execution completed"].into_iter().enumerate()
    {
        if number > 0 {
            tokio::time::sleep(PAUSE).await;
        }
        log(call, LoggingLevel::Info, json!(text)).await;
    }
    Ok(text_result("Three messages were written.").into())
}

pub(super) async fn all_levels(call: &FakeToolCall<'_>) -> Result<CallToolResponse, ErrorData> {
    for level in LEVELS {
        log(call, level, json!({"level": level, "text": "A message"})).await;
    }
    Ok(text_result("A message of every level was written.").into())
}

async fn log(call: &FakeToolCall<'_>, level: LoggingLevel, data: Value) {
    if call.log_level.is_some_and(|lowest| severity(level) >= severity(lowest)) {
        let message = LoggingMessageNotificationParam::new(level, data).with_logger("fake-mcp");
        // A disconnected client needs no messages.
        let _ = call.cx.peer.notify_logging_message(message).await;
    }
}

fn severity(level: LoggingLevel) -> usize {
    LEVELS.iter().position(|known| *known == level).unwrap_or_default()
}

pub(super) async fn progress(call: &FakeToolCall<'_>) -> Result<CallToolResponse, ErrorData> {
    for done in [0.0, 50.0, 100.0] {
        if done > 0.0 {
            tokio::time::sleep(PAUSE).await;
        }
        send_progress(call, done, &format!("{done} of 100")).await;
    }
    Ok(text_result("Progress was told three times.").into())
}

pub(super) async fn send_progress(call: &FakeToolCall<'_>, done: f64, message: &str) {
    if let Some(token) = call.cx.meta.get_progress_token() {
        let progress = ProgressNotificationParam::new(token, done).with_total(100.0).with_message(message);
        let _ = call.cx.peer.notify_progress(progress).await;
    }
}

pub(super) async fn until_cancelled(call: &FakeToolCall<'_>) -> Result<CallToolResponse, ErrorData> {
    send_progress(call, 1.0, "begun").await;
    call.cx.ct.cancelled().await;
    call.state.count_cancelled();
    Ok(text_result("Cancelled.").into())
}

pub(super) async fn force_reconnection(call: &FakeToolCall<'_>) -> Result<CallToolResponse, ErrorData> {
    let parts = call.cx.extensions.get::<http::request::Parts>();
    let session = parts.and_then(|parts| parts.headers.get("mcp-session-id")).and_then(|id| id.to_str().ok());
    if let Some(session) = session {
        call.state.sessions.close_stream(session, &call.cx.id).await;
        tokio::time::sleep(LONGER).await;
    }
    Ok(text_result("You came back.").into())
}
