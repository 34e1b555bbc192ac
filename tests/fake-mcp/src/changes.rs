//! What changes while the server runs, and who is told.

use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};

use rmcp::RoleServer;
use rmcp::model::{ResourceUpdatedNotificationParam, SubscriptionFilter};
use rmcp::service::{Peer, ServiceError, SubscriptionContext, SubscriptionSendError};
use tokio::sync::broadcast;

use crate::client_session::FakeMcpSession;

/// So many changes wait for one who does not read.
const CHANNEL_CAPACITY: usize = 64;

/// Something that changed.
#[derive(Debug, Clone)]
pub(crate) enum ServerChange {
    Tools,
    Prompts,
    Resources,
    Resource(String),
}

/// What is there just now.
#[derive(Debug)]
pub(crate) struct ServerChanges {
    tool: AtomicBool,
    prompt: AtomicBool,
    resource: AtomicBool,
    updates: AtomicU64,
    sender: broadcast::Sender<ServerChange>,
}

impl Default for ServerChanges {
    fn default() -> Self {
        Self {
            tool: AtomicBool::new(false),
            prompt: AtomicBool::new(false),
            resource: AtomicBool::new(false),
            updates: AtomicU64::new(0),
            sender: broadcast::channel(CHANNEL_CAPACITY).0,
        }
    }
}

impl ServerChanges {
    /// Whether the tool that comes and goes is there.
    pub(crate) fn has_tool(&self) -> bool {
        self.tool.load(Ordering::SeqCst)
    }

    /// Whether the prompt that comes and goes is there.
    pub(crate) fn has_prompt(&self) -> bool {
        self.prompt.load(Ordering::SeqCst)
    }

    /// Whether the resource that comes and goes is there.
    pub(crate) fn has_resource(&self) -> bool {
        self.resource.load(Ordering::SeqCst)
    }

    /// How often the watched resource has changed.
    pub(crate) fn updates(&self) -> u64 {
        self.updates.load(Ordering::SeqCst)
    }

    /// Makes a change and tells whoever listens.
    pub(crate) fn apply(&self, change: ServerChange) {
        match change {
            ServerChange::Tools => drop(self.tool.fetch_not(Ordering::SeqCst)),
            ServerChange::Prompts => drop(self.prompt.fetch_not(Ordering::SeqCst)),
            ServerChange::Resources => drop(self.resource.fetch_not(Ordering::SeqCst)),
            ServerChange::Resource(_) => drop(self.updates.fetch_add(1, Ordering::SeqCst)),
        }
        // Nobody may be listening.
        let _ = self.sender.send(change);
    }

    pub(crate) fn listen(&self) -> broadcast::Receiver<ServerChange> {
        self.sender.subscribe()
    }
}

/// Tells a client of the versions before 2026-07-28 of all changes that it wants to hear of, until it goes.
pub(crate) async fn notify_session(
    mut changes: broadcast::Receiver<ServerChange>,
    peer: Peer<RoleServer>,
    session: std::sync::Arc<FakeMcpSession>,
) {
    while let Some(change) = next(&mut changes).await {
        let told = match change {
            ServerChange::Tools => peer.notify_tool_list_changed().await,
            ServerChange::Prompts => peer.notify_prompt_list_changed().await,
            ServerChange::Resources => peer.notify_resource_list_changed().await,
            ServerChange::Resource(uri) if session.is_subscribed(&uri) => {
                peer.notify_resource_updated(ResourceUpdatedNotificationParam::new(uri)).await
            }
            ServerChange::Resource(_) => Ok(()),
        };
        if matches!(told, Err(ServiceError::TransportClosed | ServiceError::TransportSend(_))) {
            return;
        }
    }
}

/// Tells a client of version 2026-07-28 of what its subscription is about, until it gives it up.
pub(crate) async fn notify_subscription(
    mut changes: broadcast::Receiver<ServerChange>,
    subscription: SubscriptionContext,
) {
    let wants: &SubscriptionFilter = subscription.accepted();
    let sink = subscription.sink();
    loop {
        let change = tokio::select! {
            change = next(&mut changes) => change,
            () = subscription.cancelled() => return,
        };
        let told = match change {
            Some(ServerChange::Tools) if wants.tools_list_changed == Some(true) => {
                sink.notify_tool_list_changed().await
            }
            Some(ServerChange::Prompts) if wants.prompts_list_changed == Some(true) => {
                sink.notify_prompt_list_changed().await
            }
            Some(ServerChange::Resources) if wants.resources_list_changed == Some(true) => {
                sink.notify_resource_list_changed().await
            }
            Some(ServerChange::Resource(uri))
                if wants.resource_subscriptions.as_ref().is_some_and(|uris| uris.contains(&uri)) =>
            {
                sink.notify_resource_updated(uri).await
            }
            Some(_) => Ok(()),
            None => return,
        };
        if matches!(told, Err(SubscriptionSendError::SubscriptionClosed | SubscriptionSendError::Service(_)))
        {
            return;
        }
    }
}

async fn next(changes: &mut broadcast::Receiver<ServerChange>) -> Option<ServerChange> {
    loop {
        match changes.recv().await {
            Ok(change) => return Some(change),
            Err(broadcast::error::RecvError::Lagged(_)) => {}
            Err(broadcast::error::RecvError::Closed) => return None,
        }
    }
}
