//! `subscriptions/listen` (2026-07-28): notifications of changes until the client ends its request.

use std::sync::Arc;

use rmcp::ErrorData;
use rmcp::model::{RequestId, SubscriptionsListenRequestParams, SubscriptionsListenResult};

use super::RequestContext;
use crate::protocol_era::ProtocolEra;
use crate::server::json_rpc::RequestParams;
use crate::server::notifications::{NotificationForwarder, NotificationSink, Subscription};
use crate::server::outgoing::to_json;
use crate::server::session::MAX_SUBSCRIPTIONS;

impl RequestContext {
    /// Sends notifications until the client cancels the request or loses access.
    pub(super) async fn listen(&self, id: RequestId, params: &RequestParams) -> Result<String, ErrorData> {
        let requested = params.to::<SubscriptionsListenRequestParams>()?.notifications;
        let Some(sink) = self.client.messages.clone() else {
            return Err(ErrorData::invalid_request(
                "a subscription needs a stream for its notifications",
                None,
            ));
        };
        let config = self.server.config();
        let accepted = requested.supported_by(&config.capabilities);
        let mut held = Vec::new();
        let uris = accepted.resource_subscriptions.clone().unwrap_or_default();
        let subscription = Subscription { sink, id: id.clone(), accepted };
        let shared = &self.server.shared;
        let (engine, offerings) = (Arc::clone(&shared.engine), Arc::clone(&shared.offerings));
        let (scope, era) = (self.server.scope.clone(), ProtocolEra::Stateless);
        // Before the acknowledgement: the client may cause a change as soon as it has it.
        let forwarder = NotificationForwarder::new(engine, offerings, scope, era);
        if subscription.acknowledge().await.is_ok() {
            let subscribing = async {
                for uri in uris.iter().take(MAX_SUBSCRIPTIONS) {
                    // An unknown resource can't change.
                    if let Ok(guard) = self.server.subscribe_resource(era, uri).await {
                        held.push(guard);
                    }
                }
                std::future::pending::<()>().await;
            };
            tokio::select! {
                () = forwarder.run(NotificationSink::Subscription(subscription)) => {}
                () = self.client.cancelled() => {}
                () = subscribing => {}
            }
        }
        let mut result = SubscriptionsListenResult::complete(id);
        result.meta.set_server_info(config.server_info);
        Ok(to_json(&result))
    }
}
