//! Tells a client that what it sees has changed: the list of tools, and what upstreams say by themselves.

use std::collections::HashMap;
use std::hash::{DefaultHasher, Hash as _, Hasher as _};
use std::sync::Arc;
use std::time::Duration;

use futures_util::StreamExt as _;
use futures_util::stream::SelectAll;
use parking_lot::Mutex;
use rmcp::model::{LoggingLevel, LoggingMessageNotificationParam, ResourceUpdatedNotificationParam};
use rmcp::service::SubscriptionSink;
use rmcp::{Peer, RoleServer};
use tokio::sync::broadcast::error::RecvError;
use toolway_core::Engine;

use super::client::is_at_least;
use super::through::{Named, Through};
use super::visitor::{PROMPTS, RESOURCES, Visitor};
use crate::offering::{Event, Offerings, Subscription};

/// How long to wait for further changes after one.
const SETTLE: Duration = Duration::from_millis(50);

/// What one MCP session has asked for.
#[derive(Debug, Default)]
pub(crate) struct Wishes {
    /// The lowest level of log messages, once it was said.
    pub(crate) level: Option<LoggingLevel>,
    /// What the upstreams were told because of it.
    pub(crate) levels: Vec<Subscription>,
    /// Resources, by the URI that the client uses.
    pub(crate) resources: HashMap<String, Subscription>,
}

/// Something to tell a client.
pub(crate) enum News {
    Tools,
    Prompts,
    Resources,
    /// By the URI that the client uses.
    Updated(String),
    Log(LoggingMessageNotificationParam),
}

/// Where news go.
pub(crate) enum Reader {
    /// To a session's client, as far as it asked for them.
    Session(Peer<RoleServer>, Arc<Mutex<Wishes>>),
    /// To a subscription, which passes on what it accepted.
    Subscription(SubscriptionSink),
}

impl Reader {
    /// False where nobody reads any more.
    async fn tell(&self, news: News) -> bool {
        match self {
            Self::Session(peer, wishes) => {
                let told = match news {
                    News::Tools => peer.notify_tool_list_changed().await,
                    News::Prompts => peer.notify_prompt_list_changed().await,
                    News::Resources => peer.notify_resource_list_changed().await,
                    News::Updated(uri) if wishes.lock().resources.contains_key(&uri) => {
                        peer.notify_resource_updated(ResourceUpdatedNotificationParam::new(uri)).await
                    }
                    News::Log(message)
                        if wishes.lock().level.is_some_and(|level| is_at_least(message.level, level)) =>
                    {
                        peer.notify_logging_message(message).await
                    }
                    News::Updated(_) | News::Log(_) => Ok(()),
                };
                told.is_ok()
            }
            Self::Subscription(sink) => {
                use rmcp::service::SubscriptionSendError::NotificationNotAccepted;
                let told = match news {
                    News::Tools => sink.notify_tool_list_changed().await,
                    News::Prompts => sink.notify_prompt_list_changed().await,
                    News::Resources => sink.notify_resource_list_changed().await,
                    News::Updated(uri) => sink.notify_resource_updated(uri).await,
                    News::Log(_) => Ok(()),
                };
                matches!(told, Ok(()) | Err(NotificationNotAccepted(_)))
            }
        }
    }
}

/// Tells the reader until it reads no more, or the visitor may not come in any more.
pub(crate) async fn follow(
    engine: Arc<Engine>,
    offerings: Arc<dyn Offerings>,
    visitor: Visitor,
    reader: Reader,
) {
    let mut changes = engine.registry().changes();
    let mut seen = fingerprint(&engine, &visitor);
    let mut said = events(&engine, offerings.as_ref(), &visitor);
    loop {
        let news = tokio::select! {
            () = visitor.gone.cancelled() => return,
            changed = changes.changed() => {
                if changed.is_err() {
                    return;
                }
                tokio::time::sleep(SETTLE).await;
                changes.mark_unchanged();
                let now = fingerprint(&engine, &visitor);
                if now == seen {
                    continue;
                }
                seen = now;
                // An upstream may have come.
                said = events(&engine, offerings.as_ref(), &visitor);
                News::Tools
            }
            Some(news) = said.next() => news,
        };
        if !reader.tell(news).await {
            return;
        }
    }
}

type Said = SelectAll<futures_util::stream::BoxStream<'static, News>>;

/// What the upstreams say by themselves, as far as the visitor may have it.
fn events(engine: &Engine, offerings: &dyn Offerings, visitor: &Visitor) -> Said {
    let through = Through { engine, offerings, visitor };
    let prompts: Vec<_> = through.all(PROMPTS).into_iter().map(|named| named.source).collect();
    let streams = through.all(RESOURCES).into_iter().map(|named| {
        let has_prompts = prompts.contains(&named.source);
        let events = named.offering.events();
        let unfolded = futures_util::stream::unfold((named, events), move |(named, mut events)| async move {
            loop {
                match events.recv().await {
                    Ok(event) => match news(&named, event, has_prompts) {
                        Some(news) => return Some((news, (named, events))),
                        None => continue,
                    },
                    // What was missed may have been that the list changed.
                    Err(RecvError::Lagged(_)) => return Some((News::Resources, (named, events))),
                    Err(RecvError::Closed) => return None,
                }
            }
        });
        unfolded.boxed()
    });
    futures_util::stream::select_all(streams)
}

fn news(named: &Named, event: Event, has_prompts: bool) -> Option<News> {
    match event {
        Event::ResourceUpdated { uri } => Some(News::Updated(named.uri(&uri))),
        Event::ResourceListChanged | Event::Reconnected => Some(News::Resources),
        Event::PromptListChanged => has_prompts.then_some(News::Prompts),
        Event::Log(message) => Some(News::Log(message)),
    }
}

/// Tells one list of tools from another: their ids, and where their specs lie.
fn fingerprint(engine: &Engine, visitor: &Visitor) -> u64 {
    let mut hasher = DefaultHasher::new();
    for seen in visitor.tools(engine) {
        seen.id.hash(&mut hasher);
        Arc::as_ptr(seen.tool.spec()).addr().hash(&mut hasher);
    }
    hasher.finish()
}
