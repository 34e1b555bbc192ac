//! Follows changes of a server, and tells it the clients' interest. A server of the newer era sends changes on a
//! request that stays open (`subscriptions/listen`); an older one gets a request per resource.

use std::sync::Arc;
use std::time::Duration;

use rmcp::model::SubscriptionFilter;
use tokio::time::{sleep, timeout};
use toolway_types::RawJson;

use super::backoff::ReconnectBackoff;
use super::connection::UpstreamConnection;
use super::error::UpstreamError;
use super::listing::count_items;
use super::server_context::ServerContext;
use super::subscription_requests::{ACKNOWLEDGE_TIMEOUT, send_watch, set_level};

/// Maximum delay before the next listen request.
const MAX_LISTEN_BACKOFF: Duration = Duration::from_secs(60);
/// Time to collect changes that belong together.
const DEBOUNCE: Duration = Duration::from_millis(200);
/// Minimum interval between counts.
const RECOUNT_INTERVAL: Duration = Duration::from_secs(5);

/// Follows the changes of a server. Never returns.
pub(super) async fn follow_changes(connection: &Arc<UpstreamConnection>) {
    let server = connection.server();
    let wants = async {
        match connection.is_stateless() {
            true => listen(server, connection).await,
            false => restore_interest(connection).await,
        }
    };
    tokio::join!(wants, update_counts(server, connection));
}

/// Updates the numbers of resources and prompts in the status.
async fn update_counts(server: &ServerContext, connection: &Arc<UpstreamConnection>) {
    let Some(settled) = connection.negotiated() else { return };
    let can = &settled.facts.capabilities;
    let limit = server.deps().settings.list_timeout;
    loop {
        if can.resources.is_some()
            && let Ok(Ok(resources)) =
                timeout(limit, count_items(connection, "resources/list", "resources")).await
        {
            server.update_status(|status| status.resources = resources);
        }
        if can.prompts.is_some()
            && let Ok(Ok(prompts)) = timeout(limit, count_items(connection, "prompts/list", "prompts")).await
        {
            server.update_status(|status| status.prompts = prompts);
        }
        server.wait_for_other_change().await;
        sleep(RECOUNT_INTERVAL).await;
    }
}

/// Tells a server of the older era the clients' interest again after a reconnect.
pub(super) async fn restore_interest(connection: &Arc<UpstreamConnection>) {
    let (watched, level) = {
        let wanted = connection.clients().interest().lock();
        (wanted.watched_resources(), wanted.lowest_level())
    };
    let limit = connection.server().deps().settings.request_timeout;
    if let Some(level) = level {
        // A server without a log ignores the level.
        let _ = timeout(limit, set_level(connection, level)).await;
    }
    for uri in watched {
        let told = timeout(limit, send_watch(connection, "resources/subscribe", &uri)).await;
        if !matches!(told, Ok(Ok(_))) {
            connection.log_anomaly("it refused to watch a resource after a reconnect");
        }
    }
}

/// Listens to the changes that a server of the newer era offers and clients want.
async fn listen(server: &ServerContext, connection: &Arc<UpstreamConnection>) {
    let clients = connection.clients();
    let mut backoff = ReconnectBackoff::new(MAX_LISTEN_BACKOFF);
    // True while changes may have been missed.
    let mut is_behind = true;
    loop {
        let Some(filter) = subscription_filter(connection) else {
            clients.interest_changed().notified().await;
            continue;
        };
        let mut listening = Box::pin(open_subscription(connection, filter));
        let result = loop {
            let acknowledged = clients.acknowledged().notified();
            tokio::select! {
                result = &mut listening => break result,
                () = acknowledged => {
                    backoff.reset();
                    if std::mem::take(&mut is_behind) {
                        server.mark_tools_changed();
                    }
                }
                () = clients.interest_changed().notified() => {
                    sleep(DEBOUNCE).await;
                    let Some(filter) = subscription_filter(connection) else { continue };
                    // The open subscription stays until the next one is acknowledged.
                    let acknowledged = clients.acknowledged().notified();
                    let mut next = Box::pin(open_subscription(connection, filter));
                    let early = tokio::select! {
                        result = &mut next => Some(result),
                        _ = timeout(ACKNOWLEDGE_TIMEOUT, acknowledged) => None,
                        _ = &mut listening => None,
                    };
                    match early {
                        Some(result) => break result,
                        None => listening = next,
                    }
                }
            }
        };
        is_behind = true;
        match result {
            Err(UpstreamError::RpcError(error)) => {
                connection.log_anomaly(&format!("subscriptions/listen failed: {}", error.message));
                clients.interest_changed().notified().await;
            }
            Err(UpstreamError::Status(status, _)) if status.is_client_error() => {
                connection
                    .log_anomaly(&format!("subscriptions/listen failed: HTTP status {}", status.as_u16()));
                clients.interest_changed().notified().await;
            }
            _ => sleep(backoff.next(false)).await,
        }
    }
}

async fn open_subscription(
    connection: &Arc<UpstreamConnection>,
    filter: SubscriptionFilter,
) -> Result<RawJson, UpstreamError> {
    let filter = serde_json::to_string(&filter).unwrap_or_default();
    connection.request_own("subscriptions/listen", None, &format!(r#""notifications":{filter}"#)).await
}

/// The filter of the subscription; `None` if there is nothing to listen for.
fn subscription_filter(connection: &UpstreamConnection) -> Option<SubscriptionFilter> {
    let can = &connection.negotiated()?.facts.capabilities;
    let on = |can: Option<bool>| can.filter(|can| *can);
    let mut filter = SubscriptionFilter::new();
    filter.tools_list_changed = on(can.tools.as_ref().and_then(|tools| tools.list_changed));
    filter.prompts_list_changed = on(can.prompts.as_ref().and_then(|prompts| prompts.list_changed));
    if let Some(resources) = &can.resources {
        filter.resources_list_changed = on(resources.list_changed);
        let watched = connection.clients().interest().lock().watched_resources();
        filter.resource_subscriptions = Some(watched).filter(|watched| !watched.is_empty());
    }
    (filter != SubscriptionFilter::new()).then_some(filter)
}
