//! A gateway's engine with servers behind it, and clients that can be asked.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::Duration;

use async_trait::async_trait;
use parking_lot::Mutex;
use rmcp::model::{
    ClientCapabilities, InputRequests, InputResponses, LoggingMessageNotificationParam, ProtocolVersion,
    RequestMetaObject,
};
use serde_json::Value;
use tokio::sync::watch;
use toolway_core::{
    CallRequest, Caller, Engine, EngineParts, FinishedCall, RawArguments, Registry, SpecCache,
};
use toolway_mcp::client_link::{ClientLink, InputRequestError, RequestingClient};
use toolway_mcp::definition::ServerDefinition;
use toolway_mcp::upstream::{
    NoAuthorizer, Upstream, UpstreamDeps, UpstreamHttpClient, UpstreamManager, UpstreamSettings,
    UpstreamState, UpstreamStatus,
};
use toolway_types::{Outcome, RawJson, Slug, SystemClock, ToolError, ToolOutput};

/// Longer than anything here takes.
pub(crate) const TIMEOUT: Duration = Duration::from_secs(20);

/// An engine with servers.
pub(crate) struct UpstreamHarness {
    pub(crate) registry: Arc<Registry>,
    pub(crate) engine: Arc<Engine>,
    pub(crate) upstreams: Arc<UpstreamManager>,
    /// How often tools were registered.
    pub(crate) registered: Arc<watch::Sender<usize>>,
}

pub(crate) fn slug(name: &str) -> Slug {
    name.parse().unwrap()
}

impl UpstreamHarness {
    pub(crate) fn new() -> Self {
        Self::with_deps(|_| {})
    }

    /// With other parts than usual.
    pub(crate) fn with_deps(change: impl FnOnce(&mut UpstreamDeps)) -> Self {
        let registry = Registry::new();
        let engine = Engine::new(EngineParts::new(Arc::clone(&registry), Arc::new(SystemClock)));
        let registered = Arc::new(watch::Sender::new(0));
        let count = Arc::clone(&registered);
        let mut parts = UpstreamDeps {
            registry: Arc::clone(&registry),
            specs: Arc::new(SpecCache::default()),
            on_registered: Arc::new(move |_, _| {
                count.send_modify(|count| *count += 1);
                Box::pin(async {})
            }),
            clock: Arc::new(SystemClock),
            environment: environment(),
            folder: std::env::temp_dir(),
            secrets: Arc::new(toolway_secrets::NoSecrets),
            http: Arc::new(|| UpstreamHttpClient::new(tls_config(), "toolway-test")),
            authorizer: Arc::new(NoAuthorizer),
            client_name: "toolway-test".to_owned(),
            client_version: "1.0.0".to_owned(),
            settings: UpstreamSettings {
                probe_timeout: Duration::from_secs(1),
                ..UpstreamSettings::default()
            },
        };
        change(&mut parts);
        Self { registry, engine, upstreams: UpstreamManager::new(parts), registered }
    }

    /// With one server at an address, connected to.
    pub(crate) async fn connected_at(url: impl Into<String>) -> Self {
        let bench = Self::new();
        bench.apply([("up", at(url))]);
        bench.wait_connected("up").await;
        bench
    }

    pub(crate) fn apply<const N: usize>(&self, definitions: [(&str, ServerDefinition); N]) {
        let definitions = definitions.into_iter().map(|(name, definition)| (slug(name), definition));
        self.upstreams.apply(definitions.collect());
    }

    pub(crate) fn server(&self, name: &str) -> Arc<Upstream> {
        self.upstreams.get(&slug(name)).unwrap()
    }

    pub(crate) fn status(&self, name: &str) -> UpstreamStatus {
        self.server(name).status()
    }

    /// Waits until a server's status is as it should be.
    pub(crate) async fn wait_until(
        &self,
        name: &str,
        what: &str,
        is_so: impl Fn(&UpstreamStatus) -> bool,
    ) -> UpstreamStatus {
        let look = async {
            loop {
                let status = self.status(name);
                if is_so(&status) {
                    return status;
                }
                tokio::time::sleep(Duration::from_millis(5)).await;
            }
        };
        match tokio::time::timeout(TIMEOUT, look).await {
            Ok(status) => status,
            Err(_) => {
                panic!(
                    "{what} is not so: {:?}, log: {:?}",
                    self.status(name),
                    self.server(name).log().lines()
                )
            }
        }
    }

    pub(crate) async fn wait_connected(&self, name: &str) -> UpstreamStatus {
        self.wait_until(name, "connected", |status| status.state == UpstreamState::Connected).await
    }

    pub(crate) async fn wait_failed(&self, name: &str) -> UpstreamStatus {
        self.wait_until(name, "failed", |status| {
            status.state == UpstreamState::Failed && status.problem.is_some()
        })
        .await
    }

    /// The names of a source's tools.
    pub(crate) fn tools(&self, name: &str) -> Vec<String> {
        let snapshot = self.registry.snapshot();
        let source = snapshot.sources().find(|(slug, _)| slug.as_str() == name);
        let tools = source.map(|(_, source)| source.tools().clone());
        tools.iter().flat_map(|tools| tools.iter()).map(|tool| tool.spec().name().to_string()).collect()
    }

    pub(crate) async fn finish(&self, call: CallRequest) -> FinishedCall {
        tokio::time::timeout(TIMEOUT, self.engine.call(call)).await.expect("the call ends")
    }

    pub(crate) async fn call(&self, tool: &str, arguments: &str) -> Result<ToolOutput, ToolError> {
        call_result(&self.finish(call(tool, arguments)).await)
    }

    pub(crate) async fn call_as(
        &self,
        client: &Arc<TestRequestingClient>,
        tool: &str,
        arguments: &str,
    ) -> Result<ToolOutput, ToolError> {
        call_result(&self.finish(call_as(client, tool, arguments)).await)
    }
}

pub(crate) fn call_result(finished: &FinishedCall) -> Result<ToolOutput, ToolError> {
    match &*finished.outcome {
        Outcome::Success(output) => Ok(output.clone()),
        Outcome::Error(error) => Err(error.clone()),
    }
}

pub(crate) fn call(tool: &str, arguments: &str) -> CallRequest {
    let arguments = RawArguments::Json(RawJson::parse(arguments).unwrap());
    CallRequest::new(tool.to_owned(), arguments, Caller::local_owner())
}

pub(crate) fn call_as(client: &Arc<TestRequestingClient>, tool: &str, arguments: &str) -> CallRequest {
    let mut call = call(tool, arguments);
    call.extension = Some(Arc::new(ClientLink(Arc::clone(client) as Arc<dyn RequestingClient>)));
    call
}

pub(crate) fn at(url: impl Into<String>) -> ServerDefinition {
    ServerDefinition { url: Some(url.into()), ..ServerDefinition::default() }
}

/// What a child needs to run a script.
pub(crate) fn environment() -> BTreeMap<String, String> {
    let variables = ["PATH", "HOME", "TMPDIR", "LANG"].into_iter();
    variables.filter_map(|name| Some((name.to_owned(), std::env::var(name).ok()?))).collect()
}

pub(crate) fn tls_config() -> rustls::ClientConfig {
    let provider = Arc::new(rustls::crypto::ring::default_provider());
    rustls::ClientConfig::builder_with_provider(provider)
        .with_safe_default_protocol_versions()
        .unwrap()
        .with_root_certificates(rustls::RootCertStore::empty())
        .with_no_client_auth()
}

type AnswerFn = Box<dyn Fn(InputRequests) -> Result<InputResponses, InputRequestError> + Send + Sync>;

/// A client that answers as a test wants.
pub(crate) struct TestRequestingClient {
    pub(crate) capabilities: ClientCapabilities,
    pub(crate) version: ProtocolVersion,
    pub(crate) meta: RequestMetaObject,
    pub(crate) initial_responses: Option<InputResponses>,
    pub(crate) answers: AnswerFn,
    /// What it was asked.
    pub(crate) requests: Mutex<Vec<Value>>,
    /// What it was told.
    pub(crate) logs: Mutex<Vec<LoggingMessageNotificationParam>>,
}

impl TestRequestingClient {
    pub(crate) fn new(capabilities: Value, answers: AnswerFn) -> Arc<Self> {
        Arc::new(Self::with_capabilities(capabilities, answers))
    }

    pub(crate) fn with_capabilities(capabilities: Value, answers: AnswerFn) -> Self {
        Self {
            capabilities: serde_json::from_value(capabilities).unwrap(),
            version: ProtocolVersion::V_2025_11_25,
            meta: RequestMetaObject::default(),
            initial_responses: None,
            answers,
            requests: Mutex::default(),
            logs: Mutex::default(),
        }
    }

    /// Answers everything with this.
    pub(crate) fn answering(capabilities: Value, answer: Value) -> Arc<Self> {
        let answers =
            move |asked: InputRequests| Ok(asked.into_keys().map(|key| (key, answer.clone())).collect());
        Self::new(capabilities, Box::new(answers))
    }

    /// Can't be asked anything.
    pub(crate) fn unaskable() -> Arc<Self> {
        Self::new(serde_json::json!({}), Box::new(|_| Err(InputRequestError::NotSupported)))
    }
}

#[async_trait]
impl RequestingClient for TestRequestingClient {
    fn capabilities(&self) -> &ClientCapabilities {
        &self.capabilities
    }

    fn protocol_version(&self) -> ProtocolVersion {
        self.version.clone()
    }

    fn meta(&self) -> &RequestMetaObject {
        &self.meta
    }

    fn initial_responses(&self) -> Option<InputResponses> {
        self.initial_responses.clone()
    }

    async fn request_input(&self, requests: InputRequests) -> Result<InputResponses, InputRequestError> {
        self.requests.lock().push(serde_json::to_value(&requests).unwrap());
        (self.answers)(requests)
    }

    fn send_log(&self, message: LoggingMessageNotificationParam) {
        self.logs.lock().push(message);
    }
}
