//! Calls with arguments that are not held against the tool's schema, since some scenarios want to see what becomes of
//! those that do not fit. One tool takes any, and hands them to the server's own tool within its own call.

use std::sync::{Arc, Weak};

use async_trait::async_trait;
use rmcp::model::ProtocolVersion;
use serde::Deserialize;
use serde_json::json;
use serde_json::value::RawValue;
use toolway_core::{
    Arguments, Call, CallContext, Caller, Engine, Keep, Lease, RawArguments, Registry, Tool, ToolSpec,
};
use toolway_mcp::link::{Client, Link};
use toolway_types::{Code, Outcome, RawJson, Slug, SpecDocument, ToolError, ToolOutput};

use crate::person::Person;

const SOURCE: &str = "conformance";
const NAME: &str = "unchecked";

/// Calls the tools of one source.
pub(crate) struct Calls {
    engine: Arc<Engine>,
    person: Arc<dyn Client>,
    _lease: Lease,
}

impl Calls {
    /// For tools of `source`, made for a client that speaks this version.
    pub(crate) fn new(engine: Arc<Engine>, source: Slug, version: ProtocolVersion) -> Result<Self, String> {
        let spec = ToolSpec::compile(SpecDocument::named(NAME)).map_err(|error| error.to_string())?;
        let registry = engine.registry();
        let lease = registry.lease(SOURCE.parse().map_err(|error| format!("{error}"))?, Keep::Known);
        let tool = Unchecked { spec: Arc::new(spec), registry: Arc::downgrade(registry), source };
        lease.replace(vec![Arc::new(tool)]);
        Ok(Self { engine, person: Arc::new(Person::of(version)), _lease: lease })
    }

    /// The client that they are made for.
    pub(crate) fn person(&self) -> Arc<dyn Client> {
        Arc::clone(&self.person)
    }

    /// Calls a tool.
    pub(crate) async fn call(&self, tool: &str, arguments: &RawValue) -> Result<(), String> {
        let arguments = json!({"tool": tool, "arguments": arguments}).to_string();
        let caller = Caller::local_owner();
        let mut call = Call::new(format!("{SOURCE}__{NAME}"), RawArguments::Text(arguments), caller);
        call.attachment = Some(Arc::new(Link(Arc::clone(&self.person))));
        match &*self.engine.call(call).await.outcome {
            Outcome::Success(_) => Ok(()),
            Outcome::Error(error) => Err(format!("{tool}: {}", error.message)),
        }
    }
}

struct Unchecked {
    spec: Arc<ToolSpec>,
    registry: Weak<Registry>,
    source: Slug,
}

#[derive(Deserialize)]
struct Wanted {
    tool: String,
    arguments: Box<RawValue>,
}

#[async_trait]
impl Tool for Unchecked {
    fn spec(&self) -> &Arc<ToolSpec> {
        &self.spec
    }

    async fn execute(&self, arguments: Arguments, cx: &CallContext) -> Result<ToolOutput, ToolError> {
        let bad = |why: String| ToolError::new(Code::InvalidArguments, why);
        let wanted: Wanted =
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
            None => Err(ToolError::not_available(&wanted.tool)),
        }
    }
}
