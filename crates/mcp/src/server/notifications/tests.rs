use async_trait::async_trait;
use rmcp::ErrorData;
use rmcp::model::{
    CompleteRequestParams, CompleteResult, GetPromptRequestParams, GetPromptResponse, ListPromptsResult,
    ListResourceTemplatesResult, ListResourcesResult, PaginatedRequestParams, ReadResourceRequestParams,
    ReadResourceResponse,
};
use serde_json::Value;
use tokio::sync::{broadcast, mpsc};
use tokio_util::sync::CancellationToken;
use toolway_core::{Caller, EngineParts, Lease, Registry, SourceRetention, ToolBuilder};
use toolway_types::{SystemClock, ToolOutput};

use super::*;
use crate::client_link::RequestingClient;
use crate::offering::{NoOfferings, ServerFacts, ServerOffering};
use crate::server::client_scope::EndpointScope;

const TIMEOUT: Duration = Duration::from_secs(10);

struct ForwarderHarness {
    registry: Arc<Registry>,
    forwarder: NotificationForwarder,
}

impl ForwarderHarness {
    fn new(offerings: Arc<dyn OfferingRegistry>) -> Self {
        let registry = Registry::new();
        let engine = Engine::new(EngineParts::new(Arc::clone(&registry), Arc::new(SystemClock)));
        let scope = ClientScope {
            caller: Caller::local_owner(),
            scope: EndpointScope::Everything,
            restrictions: Arc::default(),
            revoked: CancellationToken::new(),
        };
        let forwarder = NotificationForwarder::new(engine, offerings, scope, ProtocolEra::Stateless);
        Self { registry, forwarder }
    }

    /// Runs the forwarder for the client of a session.
    fn run(self) -> mpsc::Receiver<String> {
        let (sink, messages) = mpsc::channel(16);
        tokio::spawn(self.forwarder.run(NotificationSink::Session(Arc::new(sink), Arc::default())));
        messages
    }
}

#[derive(serde::Deserialize, schemars::JsonSchema)]
struct NoArguments {}

fn add_tool(registry: &Arc<Registry>) -> Lease {
    let tool = ToolBuilder::new("late", "A tool")
        .build(async |_: NoArguments, _| Ok(ToolOutput::text("done")))
        .unwrap();
    let lease = registry.lease("desk".parse().unwrap(), SourceRetention::Nothing);
    lease.replace(vec![tool]);
    lease
}

async fn next_method(messages: &mut mpsc::Receiver<String>) -> String {
    let message = tokio::time::timeout(TIMEOUT, messages.recv()).await.expect("a message comes").unwrap();
    serde_json::from_str::<Value>(&message).unwrap()["method"].as_str().unwrap().to_owned()
}

#[tokio::test]
async fn a_change_of_the_tools_before_the_first_notification_is_told() {
    let harness = ForwarderHarness::new(Arc::new(NoOfferings));
    let _lease = add_tool(&harness.registry);
    assert_eq!(next_method(&mut harness.run()).await, "notifications/tools/list_changed");
}

#[tokio::test(start_paused = true)]
async fn an_event_of_a_server_during_a_change_of_the_tools_is_told() {
    let server = Arc::new(EventSource(broadcast::Sender::new(4)));
    let harness = ForwarderHarness::new(Arc::clone(&server) as Arc<dyn OfferingRegistry>);
    let _lease = add_tool(&harness.registry);
    let mut messages = harness.run();
    // The forwarder now collects changes of the tools.
    tokio::time::sleep(DEBOUNCE / 2).await;
    server.0.send(UpstreamEvent::PromptListChanged).unwrap();
    let mut methods = [next_method(&mut messages).await, next_method(&mut messages).await];
    methods.sort();
    assert_eq!(methods, ["notifications/prompts/list_changed", "notifications/tools/list_changed"]);
}

/// A server with events and nothing else.
struct EventSource(broadcast::Sender<UpstreamEvent>);

impl OfferingRegistry for EventSource {
    fn offering(&self, _: &Slug, _: ProtocolEra) -> Option<Arc<dyn ServerOffering>> {
        None
    }

    fn all(&self, _: ProtocolEra) -> Vec<(Slug, Arc<dyn ServerOffering>)> {
        vec![("up".parse().unwrap(), Arc::new(Self(self.0.clone())))]
    }
}

fn no_such_feature<T>() -> Result<T, ErrorData> {
    Err(ErrorData::internal_error("not offered", None))
}

#[async_trait]
impl ServerOffering for EventSource {
    fn facts(&self) -> Option<Arc<ServerFacts>> {
        None
    }

    async fn list_resources(
        &self,
        _: Option<PaginatedRequestParams>,
    ) -> Result<ListResourcesResult, ErrorData> {
        no_such_feature()
    }

    async fn list_resource_templates(
        &self,
        _: Option<PaginatedRequestParams>,
    ) -> Result<ListResourceTemplatesResult, ErrorData> {
        no_such_feature()
    }

    async fn read_resource(
        &self,
        _: ReadResourceRequestParams,
        _: Arc<dyn RequestingClient>,
    ) -> Result<ReadResourceResponse, ErrorData> {
        no_such_feature()
    }

    async fn list_prompts(&self, _: Option<PaginatedRequestParams>) -> Result<ListPromptsResult, ErrorData> {
        no_such_feature()
    }

    async fn get_prompt(
        &self,
        _: GetPromptRequestParams,
        _: Arc<dyn RequestingClient>,
    ) -> Result<GetPromptResponse, ErrorData> {
        no_such_feature()
    }

    async fn complete(&self, _: CompleteRequestParams) -> Result<CompleteResult, ErrorData> {
        no_such_feature()
    }

    async fn subscribe(&self, _: &str) -> Result<SubscriptionGuard, ErrorData> {
        no_such_feature()
    }

    async fn request_log_level(&self, _: LoggingLevel) -> Result<SubscriptionGuard, ErrorData> {
        no_such_feature()
    }

    fn events(&self) -> broadcast::Receiver<UpstreamEvent> {
        self.0.subscribe()
    }
}
