//! Follows what a server says of its changes, and tells it what is wanted of it. Servers of the newer era are listened
//! to by a request that stays open (`subscriptions/listen`); older ones are told resource by resource.

use std::sync::Arc;
use std::time::Duration;

use rmcp::model::SubscriptionFilter;
use tokio::time::{sleep, timeout};
use toolway_types::RawJson;

use super::backoff::Backoff;
use super::connection::Connection;
use super::fault::Fault;
use super::listing::count;
use super::server::Upstream;

/// The longest wait before listening anew.
const LONGEST: Duration = Duration::from_secs(60);
/// How long a server may take to say that it is listened to, until what was open before is closed all the same.
pub(super) const ACKNOWLEDGED: Duration = Duration::from_secs(5);
/// What changes together mostly changes within this time.
const GATHER: Duration = Duration::from_millis(200);
/// How long is waited before things are counted anew.
const REST: Duration = Duration::from_secs(5);

/// Never ends by itself.
pub(super) async fn follow(upstream: &Arc<Upstream>, connection: &Arc<Connection>) {
    let wants = async {
        match connection.is_stateless() {
            true => listen(upstream, connection).await,
            false => want_again(upstream, connection).await,
        }
    };
    tokio::join!(wants, counted(upstream, connection));
}

/// Counts what its owner is told the number of.
async fn counted(upstream: &Arc<Upstream>, connection: &Arc<Connection>) {
    let Some(settled) = connection.settled() else { return };
    let can = &settled.facts.capabilities;
    let limit = upstream.parts().settings.list;
    loop {
        if can.resources.is_some()
            && let Ok(Ok(resources)) = timeout(limit, count(connection, "resources/list", "resources")).await
        {
            upstream.note(|status| status.resources = resources);
        }
        if can.prompts.is_some()
            && let Ok(Ok(prompts)) = timeout(limit, count(connection, "prompts/list", "prompts")).await
        {
            upstream.note(|status| status.prompts = prompts);
        }
        upstream.others_have_changed().await;
        sleep(REST).await;
    }
}

/// Tells a server of the older era, after it was connected to anew, what is wanted still.
async fn want_again(upstream: &Arc<Upstream>, connection: &Arc<Connection>) {
    let (watched, level) = {
        let wanted = upstream.wanted().lock();
        (wanted.watched(), wanted.level())
    };
    let limit = upstream.parts().settings.request;
    if let Some(level) = level {
        // A server without a log has none to give.
        let _ = timeout(limit, super::offer::set_level(connection, level)).await;
    }
    for uri in watched {
        let told = timeout(limit, super::offer::watch(connection, "resources/subscribe", &uri)).await;
        if !matches!(told, Ok(Ok(_))) {
            connection.odd("it does not tell any more of a resource that is watched");
        }
    }
}

/// Listens to a server of the newer era, for what it says it can tell and what is wanted of that.
async fn listen(upstream: &Arc<Upstream>, connection: &Arc<Connection>) {
    let mut backoff = Backoff::new(LONGEST);
    // Whether changes may have been missed.
    let mut is_behind = true;
    loop {
        let Some(filter) = filter(upstream, connection) else {
            upstream.rewanted().notified().await;
            continue;
        };
        let mut listening = Box::pin(open(connection, filter));
        let result = loop {
            let acknowledged = upstream.acknowledged().notified();
            tokio::select! {
                result = &mut listening => break result,
                () = acknowledged => {
                    backoff.reset();
                    if std::mem::take(&mut is_behind) {
                        upstream.tools_changed();
                    }
                }
                () = upstream.rewanted().notified() => {
                    sleep(GATHER).await;
                    let Some(filter) = self::filter(upstream, connection) else { continue };
                    // What is open stays until the next one is.
                    let acknowledged = upstream.acknowledged().notified();
                    let mut next = Box::pin(open(connection, filter));
                    let early = tokio::select! {
                        result = &mut next => Some(result),
                        _ = timeout(ACKNOWLEDGED, acknowledged) => None,
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
            Err(Fault::Refused(error)) => {
                connection.odd(&format!("it can't be listened to: {}", error.message));
                upstream.rewanted().notified().await;
            }
            Err(Fault::Status(status, _)) if status.is_client_error() => {
                connection.odd(&format!("it can't be listened to: HTTP status {}", status.as_u16()));
                upstream.rewanted().notified().await;
            }
            _ => sleep(backoff.next(false)).await,
        }
    }
}

async fn open(connection: &Arc<Connection>, filter: SubscriptionFilter) -> Result<RawJson, Fault> {
    let filter = serde_json::to_string(&filter).unwrap_or_default();
    connection.ask("subscriptions/listen", None, &format!(r#""notifications":{filter}"#)).await
}

/// What to listen for; none where there is nothing.
fn filter(upstream: &Upstream, connection: &Connection) -> Option<SubscriptionFilter> {
    let can = &connection.settled()?.facts.capabilities;
    let on = |can: Option<bool>| can.filter(|can| *can);
    let mut filter = SubscriptionFilter::new();
    filter.tools_list_changed = on(can.tools.as_ref().and_then(|tools| tools.list_changed));
    filter.prompts_list_changed = on(can.prompts.as_ref().and_then(|prompts| prompts.list_changed));
    if let Some(resources) = &can.resources {
        filter.resources_list_changed = on(resources.list_changed);
        let watched = upstream.wanted().lock().watched();
        filter.resource_subscriptions = Some(watched).filter(|watched| !watched.is_empty());
    }
    (filter != SubscriptionFilter::new()).then_some(filter)
}
