//! Makes calls without validating the arguments, because some scenarios test invalid ones. One tool accepts
//! any arguments, and passes them to the server's tool within its own call.

use std::sync::{Arc, Weak};

use async_trait::async_trait;
use rmcp::model::ProtocolVersion;
use serde::Deserialize;
use serde_json::json;
use serde_json::value::RawValue;
use toolway_core::{
    Arguments, CallContext, CallRequest, Caller, Engine, Lease, RawArguments, Registry, SourceRetention,
    Tool, ToolSpec,
};
use toolway_mcp::client_link::{ClientLink, RequestingClient};
use toolway_types::{Code, Outcome, RawJson, Slug, SpecDocument, ToolError, ToolOutput};

use crate::accepting_client::AcceptingClient;

const SOURCE: &str = "conformance";
const NAME: &str = "unchecked";

/// Calls the tools of one source.
pub(crate) struct SourceToolCaller {
    engine: Arc<Engine>,
    client: Arc<dyn RequestingClient>,
    _lease: Lease,
}

impl SourceToolCaller {
    /// Creates a caller for tools of `source`, on behalf of a client of this version.
    pub(crate) fn new(engine: Arc<Engine>, source: Slug, version: ProtocolVersion) -> Result<Self, String> {
        let spec = ToolSpec::compile(SpecDocument::named(NAME)).map_err(|error| error.to_string())?;
        let registry = engine.registry();
        let lease =
            registry.lease(SOURCE.parse().map_err(|error| format!("{error}"))?, SourceRetention::Names);
        let tool = UncheckedTool { spec: Arc::new(spec), registry: Arc::downgrade(registry), source };
        lease.replace(vec![Arc::new(tool)]);
        Ok(Self { engine, client: Arc::new(AcceptingClient::new(version)), _lease: lease })
    }

    /// Returns the client of the calls.
    pub(crate) fn client(&self) -> Arc<dyn RequestingClient> {
        Arc::clone(&self.client)
    }

    /// Calls a tool.
    pub(crate) async fn call(&self, tool: &str, arguments: &RawValue) -> Result<(), String> {
        let arguments = json!({"tool": tool, "arguments": arguments}).to_string();
        let caller = Caller::local_owner();
        let mut call = CallRequest::new(format!("{SOURCE}__{NAME}"), RawArguments::Text(arguments), caller);
        call.extension = Some(Arc::new(ClientLink(Arc::clone(&self.client))));
        match &*self.engine.call(call).await.outcome {
            Outcome::Success(_) => Ok(()),
            Outcome::Error(error) => Err(format!("{tool}: {}", error.message)),
        }
    }
}

struct UncheckedTool {
    spec: Arc<ToolSpec>,
    registry: Weak<Registry>,
    source: Slug,
}

#[derive(Deserialize)]
struct UncheckedToolCall {
    tool: String,
    arguments: Box<RawValue>,
}

#[async_trait]
impl Tool for UncheckedTool {
    fn spec(&self) -> &Arc<ToolSpec> {
        &self.spec
    }

    async fn execute(&self, arguments: Arguments, cx: &CallContext) -> Result<ToolOutput, ToolError> {
        let bad = |why: String| ToolError::new(Code::InvalidArguments, why);
        let wanted: UncheckedToolCall =
            serde_json::from_str(arguments.raw().get()).map_err(|error| bad(error.to_string()))?;
        let raw = RawJson::parse(wanted.arguments.get()).map_err(|error| bad(error.to_string()))?;
        let arguments = Arguments::parse(RawArguments::Json(raw)).map_err(bad)?;
        let tool = self.registry.upgrade().and_then(|registry| {
            let snapshot = registry.snapshot();
            let tools = snapshot.source(&self.source)?.tools();
            tools.iter().find(|tool| tool.spec().name().as_str() == wanted.tool).cloned()
        });
        match tool {
            Some(tool) => tool.execute(arguments, cx).await,
            None => Err(ToolError::tool_not_available(&wanted.tool)),
        }
    }
}
