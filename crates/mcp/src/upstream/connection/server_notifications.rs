//! Notifications of a server: to the client whose request they belong to, or to all subscribers.

use std::sync::Arc;

use rmcp::model::LoggingMessageNotificationParam;
use serde::Deserialize;
use serde::de::DeserializeOwned;
use serde_json::Value;
use serde_json::value::RawValue;
use toolway_core::ProgressReport;
use toolway_types::foreign_json;

use super::UpstreamConnection;
use super::server_requests::related_task;
use crate::offering::UpstreamEvent;
use crate::upstream::exchange::MessageOrigin;

/// Handles a notification.
pub(super) fn handle_notification(
    connection: &Arc<UpstreamConnection>,
    method: &str,
    params: Option<&RawValue>,
    origin: MessageOrigin<'_>,
) {
    let server = connection.server();
    match method {
        "notifications/progress" => handle_progress(connection, params),
        "notifications/message" => handle_log(connection, params, origin),
        "notifications/subscriptions/acknowledged" => connection.clients().acknowledged().notify_waiters(),
        "notifications/tasks/status" => {
            #[derive(Deserialize)]
            #[serde(rename_all = "camelCase")]
            struct TaskStatusParams {
                task_id: String,
            }
            if let Some(TaskStatusParams { task_id }) = parse_params(params) {
                connection.followed_tasks().notify_changed(&task_id);
            }
        }
        "notifications/tools/list_changed" => server.mark_tools_changed(),
        "notifications/prompts/list_changed" => {
            server.mark_others_changed();
            connection.emit(UpstreamEvent::PromptListChanged);
        }
        "notifications/resources/list_changed" => {
            server.mark_others_changed();
            connection.emit(UpstreamEvent::ResourceListChanged);
        }
        "notifications/resources/updated" => {
            #[derive(Deserialize)]
            struct ResourceUpdatedParams {
                uri: String,
            }
            if let Some(ResourceUpdatedParams { uri }) = parse_params(params) {
                connection.emit(UpstreamEvent::ResourceUpdated { uri });
            }
        }
        _ => {}
    }
}

/// Reports progress to the request with the number in the token, on whatever stream it arrives.
fn handle_progress(connection: &Arc<UpstreamConnection>, params: Option<&RawValue>) {
    #[derive(Deserialize)]
    #[serde(rename_all = "camelCase")]
    struct ProgressParams {
        progress_token: Value,
        progress: f64,
        #[serde(default)]
        total: Option<f64>,
        #[serde(default)]
        message: Option<String>,
    }
    let Some(reported) = parse_params::<ProgressParams>(params) else { return };
    let Some(exchange) = reported.progress_token.as_u64().and_then(|id| connection.exchange(id)) else {
        return;
    };
    if let Some(call) = &exchange.call {
        let ProgressParams { progress, total, message, .. } = reported;
        call.report_progress(ProgressReport { progress, total, message, content: Vec::new() });
    }
}

/// Forwards a log message to the client of its request. A message that may belong to several requests is dropped.
fn handle_log(connection: &Arc<UpstreamConnection>, params: Option<&RawValue>, origin: MessageOrigin<'_>) {
    let Some(message) = parse_params::<LoggingMessageNotificationParam>(params) else { return };
    let task = params.and_then(related_task);
    if let Some(exchange) = task.and_then(|task| connection.followed_tasks().exchange(&task)) {
        return exchange.client.iter().for_each(|client| client.send_log(message.clone()));
    }
    match connection.exchange_of(origin) {
        Some(exchange) => {
            let Some(client) = &exchange.client else { return };
            // The message may belong to another principal's call that has just ended.
            let is_anothers = matches!(origin, MessageOrigin::Shared)
                && connection
                    .recently_ended_client()
                    .is_some_and(|ended| ended.principal() != client.principal());
            if !is_anothers {
                client.send_log(message);
            }
        }
        None if matches!(origin, MessageOrigin::Gateway) => connection.emit(UpstreamEvent::Log(message)),
        None if connection.is_busy() => {}
        None => match connection.recently_ended_client() {
            Some(client) => client.send_log(message),
            None => connection.emit(UpstreamEvent::Log(message)),
        },
    }
}

fn parse_params<T: DeserializeOwned>(params: Option<&RawValue>) -> Option<T> {
    foreign_json::from_str(params?.get()).ok()
}
