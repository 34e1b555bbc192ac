//! What a server says by itself: to the client whose request it belongs to, or to all who listen.

use std::sync::Arc;

use rmcp::model::LoggingMessageNotificationParam;
use serde::Deserialize;
use serde_json::Value;
use serde_json::value::RawValue;
use toolway_core::Progress;

use super::connection::Connection;
use super::exchange::Origin;
use crate::offering::Event;

/// The server said something.
pub(super) fn told(
    connection: &Arc<Connection>,
    method: &str,
    params: Option<&RawValue>,
    origin: Origin<'_>,
) {
    let upstream = connection.upstream();
    match method {
        "notifications/progress" => progress(connection, params),
        "notifications/message" => log(connection, params, origin),
        "notifications/subscriptions/acknowledged" => upstream.acknowledged().notify_waiters(),
        "notifications/tools/list_changed" => upstream.tools_changed(),
        "notifications/prompts/list_changed" => upstream.prompts_changed(),
        "notifications/resources/list_changed" => upstream.resources_changed(),
        "notifications/resources/updated" => {
            #[derive(Deserialize)]
            struct Updated {
                uri: String,
            }
            if let Some(Updated { uri }) = read(params) {
                upstream.tell(Event::ResourceUpdated { uri });
            }
        }
        _ => {}
    }
}

/// Progress belongs to the request whose number it names, wherever it comes in.
fn progress(connection: &Arc<Connection>, params: Option<&RawValue>) {
    #[derive(Deserialize)]
    #[serde(rename_all = "camelCase")]
    struct Reported {
        progress_token: Value,
        progress: f64,
        #[serde(default)]
        total: Option<f64>,
        #[serde(default)]
        message: Option<String>,
    }
    let Some(reported) = read::<Reported>(params) else { return };
    let Some(exchange) = reported.progress_token.as_u64().and_then(|id| connection.exchange(id)) else {
        return;
    };
    if let Some(call) = &exchange.call {
        let Reported { progress, total, message, .. } = reported;
        call.progress(Progress { progress, total, message, content: Vec::new() });
    }
}

/// A log message belongs to the request it came with. One that may belong to any of several is given to nobody.
fn log(connection: &Arc<Connection>, params: Option<&RawValue>, origin: Origin<'_>) {
    let Some(message) = read::<LoggingMessageNotificationParam>(params) else { return };
    match connection.exchange_of(origin) {
        Some(exchange) => {
            let Some(client) = &exchange.client else { return };
            // It may have been said for a call of somebody else's that its answer has just ended.
            let is_anothers = matches!(origin, Origin::Shared)
                && connection.just_ended().is_some_and(|ended| ended.principal() != client.principal());
            if !is_anothers {
                client.log(message);
            }
        }
        None if matches!(origin, Origin::Own) => connection.upstream().tell(Event::Log(message)),
        None if connection.is_busy() => {}
        None => match connection.just_ended() {
            Some(client) => client.log(message),
            None => connection.upstream().tell(Event::Log(message)),
        },
    }
}

fn read<T: for<'a> Deserialize<'a>>(params: Option<&RawValue>) -> Option<T> {
    serde_json::from_str(params?.get()).ok()
}
