//! Notifications to a client: changes of its tool list, and notifications of upstreams.

use std::collections::HashMap;
use std::hash::{DefaultHasher, Hash as _, Hasher as _};
use std::sync::Arc;
use std::time::Duration;

use futures_util::StreamExt as _;
use futures_util::stream::{BoxStream, SelectAll};
use parking_lot::Mutex;
use rmcp::model::{
    LoggingLevel, LoggingMessageNotificationParam, NotificationMetaObject, RequestId, SubscriptionFilter,
    SubscriptionsAcknowledgedNotificationParams,
};
use serde::Serialize;
use tokio::sync::broadcast::error::RecvError;
use tokio::sync::watch;
use toolway_core::Engine;
use toolway_types::Slug;

use super::client::{LOG_METHOD, is_at_least};
use super::client_scope::{ClientScope, PROMPTS_FEATURE, RESOURCES_FEATURE};
use super::message_sink::{MessageSink, SinkClosed};
use super::outgoing;
use super::scoped_offerings::{ScopedOfferings, SourceOffering};
use crate::offering::{OfferingRegistry, SubscriptionGuard, UpstreamEvent};
use crate::protocol_era::ProtocolEra;

/// Delay after a change, to combine it with further ones.
const DEBOUNCE: Duration = Duration::from_millis(50);

/// The subscriptions of one MCP session.
#[derive(Debug, Default)]
pub(crate) struct SessionSubscriptions {
    /// The lowest level of log messages, if the client has set one.
    pub(crate) log_level: Option<LoggingLevel>,
    /// The resulting requests to upstreams.
    pub(crate) log_subscriptions: Vec<SubscriptionGuard>,
    /// The subscribed resources by the URI that the client uses.
    pub(crate) resources: HashMap<String, SubscriptionGuard>,
}

/// A notification to a client.
pub(crate) enum ChangeNotification {
    ToolListChanged,
    PromptListChanged,
    ResourceListChanged,
    /// A resource changed. The URI is the one that the client uses.
    ResourceUpdated(String),
    Log(LoggingMessageNotificationParam),
}

/// The receiver of notifications.
pub(crate) enum NotificationSink {
    /// The client of a session, according to its subscriptions.
    Session(Arc<dyn MessageSink>, Arc<Mutex<SessionSubscriptions>>),
    /// The stream of one `subscriptions/listen` (2026-07-28).
    Subscription(Subscription),
}

/// The stream of one `subscriptions/listen`.
pub(crate) struct Subscription {
    pub(crate) sink: Arc<dyn MessageSink>,
    /// The id of the request, which names the subscription.
    pub(crate) id: RequestId,
    /// The notifications that the client gets.
    pub(crate) accepted: SubscriptionFilter,
}

impl Subscription {
    /// Sends the notification that the subscription has begun.
    pub(crate) async fn acknowledge(&self) -> Result<(), SinkClosed> {
        let params = SubscriptionsAcknowledgedNotificationParams::new(self.accepted.clone());
        let params = params.with_meta(self.meta());
        self.sink.send(outgoing::notification("notifications/subscriptions/acknowledged", &params)).await
    }

    fn meta(&self) -> NotificationMetaObject {
        let mut meta = NotificationMetaObject::new();
        meta.set_subscription_id(self.id.clone());
        meta
    }

    fn accepts(&self, news: &ChangeNotification) -> bool {
        match news {
            ChangeNotification::ToolListChanged => self.accepted.tools_list_changed == Some(true),
            ChangeNotification::PromptListChanged => self.accepted.prompts_list_changed == Some(true),
            ChangeNotification::ResourceListChanged => self.accepted.resources_list_changed == Some(true),
            ChangeNotification::ResourceUpdated(uri) => {
                self.accepted.resource_subscriptions.as_ref().is_some_and(|uris| uris.contains(uri))
            }
            ChangeNotification::Log(_) => false,
        }
    }
}

impl NotificationSink {
    /// Sends a notification. Returns false if the receiver is gone.
    async fn send(&self, news: ChangeNotification) -> bool {
        let (sink, message) = match self {
            Self::Session(sink, wishes) => {
                let is_wanted = match &news {
                    ChangeNotification::ResourceUpdated(uri) => wishes.lock().resources.contains_key(uri),
                    ChangeNotification::Log(message) => {
                        wishes.lock().log_level.is_some_and(|level| is_at_least(message.level, level))
                    }
                    _ => true,
                };
                (sink, is_wanted.then(|| news.message(None)))
            }
            Self::Subscription(subscription) => {
                let is_wanted = subscription.accepts(&news);
                (&subscription.sink, is_wanted.then(|| news.message(Some(subscription.meta()))))
            }
        };
        match message {
            Some(message) => sink.send(message).await.is_ok(),
            None => true,
        }
    }
}

/// Parameters of a notification about a change.
#[derive(Serialize)]
struct ChangeParams<'a> {
    #[serde(rename = "_meta", skip_serializing_if = "Option::is_none")]
    meta: Option<NotificationMetaObject>,
    #[serde(skip_serializing_if = "Option::is_none")]
    uri: Option<&'a str>,
}

impl ChangeNotification {
    fn message(&self, meta: Option<NotificationMetaObject>) -> String {
        let (method, uri) = match self {
            Self::ToolListChanged => ("notifications/tools/list_changed", None),
            Self::PromptListChanged => ("notifications/prompts/list_changed", None),
            Self::ResourceListChanged => ("notifications/resources/list_changed", None),
            Self::ResourceUpdated(uri) => ("notifications/resources/updated", Some(uri.as_str())),
            Self::Log(message) => return outgoing::notification(LOG_METHOD, message),
        };
        if meta.is_none() && uri.is_none() {
            return outgoing::bare_notification(method);
        }
        outgoing::notification(method, &ChangeParams { meta, uri })
    }
}

/// Forwards notifications to one client.
pub(crate) struct NotificationForwarder {
    engine: Arc<Engine>,
    offerings: Arc<dyn OfferingRegistry>,
    scope: ClientScope,
    era: ProtocolEra,
    registry_changes: watch::Receiver<u64>,
    /// Fingerprint of the tool list that the client knows.
    known_tools: u64,
    sources: Vec<FollowedSource>,
    events: NotificationStream,
}

/// A source whose notifications are forwarded. The flag is true if the client may use its prompts.
type FollowedSource = (Slug, bool);

type NotificationStream = SelectAll<BoxStream<'static, ChangeNotification>>;

impl NotificationForwarder {
    /// Collects changes from now on, so that a client that was told so misses none. `era` is that in which the client
    /// reaches servers of both.
    pub(crate) fn new(
        engine: Arc<Engine>,
        offerings: Arc<dyn OfferingRegistry>,
        scope: ClientScope,
        era: ProtocolEra,
    ) -> Self {
        // Before the fingerprint, so that a change in between counts.
        let registry_changes = engine.registry().changes();
        let known_tools = tool_list_fingerprint(&engine, &scope);
        let (sources, events) = (Vec::new(), SelectAll::new());
        let mut forwarder =
            Self { engine, offerings, scope, era, registry_changes, known_tools, sources, events };
        forwarder.follow_sources();
        forwarder
    }

    /// Forwards notifications until the receiver is gone or the client loses access.
    pub(crate) async fn run(mut self, reader: NotificationSink) {
        loop {
            let news = tokio::select! {
                () = self.scope.revoked.cancelled() => return,
                changed = self.registry_changes.changed() => {
                    if changed.is_err() {
                        return;
                    }
                    tokio::time::sleep(DEBOUNCE).await;
                    self.registry_changes.mark_unchanged();
                    let now = tool_list_fingerprint(&self.engine, &self.scope);
                    if now == self.known_tools {
                        continue;
                    }
                    self.known_tools = now;
                    // A new upstream may have connected.
                    self.follow_sources();
                    ChangeNotification::ToolListChanged
                }
                Some(news) = self.events.next() => news,
            };
            if !reader.send(news).await {
                return;
            }
        }
    }

    /// Follows the upstreams that the client may use. Streams that are still the right ones stay, because they may hold
    /// events.
    fn follow_sources(&mut self) {
        let (engine, offerings) = (self.engine.as_ref(), self.offerings.as_ref());
        let through = ScopedOfferings { engine, offerings, scope: &self.scope, era: self.era };
        let prompts: Vec<_> =
            through.permitted(PROMPTS_FEATURE).into_iter().map(|named| named.source).collect();
        let permitted: Vec<_> = through
            .permitted(RESOURCES_FEATURE)
            .into_iter()
            .map(|named| (prompts.contains(&named.source), named))
            .collect();
        let sources: Vec<_> =
            permitted.iter().map(|(has_prompts, named)| (named.source.clone(), *has_prompts)).collect();
        // A stream ends when its upstream is replaced.
        if sources == self.sources && sources.len() == self.events.len() {
            return;
        }
        self.events =
            permitted.into_iter().map(|(has_prompts, named)| events_of(named, has_prompts)).collect();
        self.sources = sources;
    }
}

/// The notifications of one upstream.
fn events_of(named: SourceOffering, has_prompts: bool) -> BoxStream<'static, ChangeNotification> {
    let events = named.offering.events();
    let unfolded = futures_util::stream::unfold((named, events), move |(named, mut events)| async move {
        loop {
            match events.recv().await {
                Ok(event) => match to_notification(&named, event, has_prompts) {
                    Some(news) => return Some((news, (named, events))),
                    None => continue,
                },
                // A lost event may have been a change of the list.
                Err(RecvError::Lagged(_)) => {
                    return Some((ChangeNotification::ResourceListChanged, (named, events)));
                }
                Err(RecvError::Closed) => return None,
            }
        }
    });
    unfolded.boxed()
}

fn to_notification(
    named: &SourceOffering,
    event: UpstreamEvent,
    has_prompts: bool,
) -> Option<ChangeNotification> {
    match event {
        UpstreamEvent::ResourceUpdated { uri } => {
            Some(ChangeNotification::ResourceUpdated(named.exposed_uri(&uri)))
        }
        UpstreamEvent::ResourceListChanged | UpstreamEvent::Reconnected => {
            Some(ChangeNotification::ResourceListChanged)
        }
        UpstreamEvent::PromptListChanged => has_prompts.then_some(ChangeNotification::PromptListChanged),
        UpstreamEvent::Log(message) => Some(ChangeNotification::Log(message)),
    }
}

/// Fingerprint of a tool list: its ids and the addresses of its specs.
fn tool_list_fingerprint(engine: &Engine, scope: &ClientScope) -> u64 {
    let mut hasher = DefaultHasher::new();
    for seen in scope.visible_tools(engine) {
        seen.id.hash(&mut hasher);
        Arc::as_ptr(seen.tool.spec()).addr().hash(&mut hasher);
    }
    hasher.finish()
}

#[cfg(test)]
mod tests;
