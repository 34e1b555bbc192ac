//! Changes while the server runs, and their notifications.

use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};

use rmcp::RoleServer;
use rmcp::model::{ResourceUpdatedNotificationParam, SubscriptionFilter};
use rmcp::service::{Peer, ServiceError, SubscriptionContext, SubscriptionSendError};
use tokio::sync::broadcast;

use crate::client_session::FakeMcpSession;

/// Maximum number of changes that wait for a slow reader.
const CHANNEL_CAPACITY: usize = 64;

/// A change.
#[derive(Debug, Clone)]
pub(crate) enum ServerChange {
    Tools,
    Prompts,
    Resources,
    Resource(String),
}

/// The current state of changeable entries.
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
    /// Returns true if the changeable tool exists.
    pub(crate) fn has_tool(&self) -> bool {
        self.tool.load(Ordering::SeqCst)
    }

    /// Returns true if the changeable prompt exists.
    pub(crate) fn has_prompt(&self) -> bool {
        self.prompt.load(Ordering::SeqCst)
    }

    /// Returns true if the changeable resource exists.
    pub(crate) fn has_resource(&self) -> bool {
        self.resource.load(Ordering::SeqCst)
    }

    /// Returns the number of changes of the watched resource.
    pub(crate) fn updates(&self) -> u64 {
        self.updates.load(Ordering::SeqCst)
    }

    /// Makes a change and notifies listeners.
    pub(crate) fn apply(&self, change: ServerChange) {
        match change {
            ServerChange::Tools => drop(self.tool.fetch_not(Ordering::SeqCst)),
            ServerChange::Prompts => drop(self.prompt.fetch_not(Ordering::SeqCst)),
            ServerChange::Resources => drop(self.resource.fetch_not(Ordering::SeqCst)),
            ServerChange::Resource(_) => drop(self.updates.fetch_add(1, Ordering::SeqCst)),
        }
        // There may be no listener.
        let _ = self.sender.send(change);
    }

    pub(crate) fn listen(&self) -> broadcast::Receiver<ServerChange> {
        self.sender.subscribe()
    }
}

/// Notifies a client of versions before 2026-07-28 about all changes that it listens to, until it
/// disconnects.
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

/// Notifies a client of version 2026-07-28 about the changes of its subscription, until it cancels it.
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
