//! A fake model provider for tests. It answers with scripts and records the requests.

use std::collections::VecDeque;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

use async_trait::async_trait;
use futures_util::stream;
use parking_lot::Mutex;
use tokio::sync::Semaphore;
use toolway_models::provider::{AvailableModel, ProviderLimits};
use toolway_models::schema::NotExpressible;
use toolway_models::tools::ConvertedTool;
use toolway_models::{
    FinishReason, MessagePart, ModelError, ModelErrorKind, ModelEvent, ModelProvider, ModelRequest,
    ModelStream, ModelUsage, ProviderKind, ToolCall, ToolDefinition,
};
use toolway_types::{CallId, RawJson};

/// Step of a script.
#[derive(Debug, Clone)]
pub(crate) enum ScriptStep {
    /// Emits an event.
    Say(ModelEvent),
    /// Emits an error.
    Fail(ModelError),
    /// Waits until the gate is open.
    Wait(Arc<ScriptGate>),
    Sleep(Duration),
    /// Never continues.
    Hang,
    Panic,
}

/// Steps of one answer. The stream ends after the last step.
pub(crate) type ModelScript = Vec<ScriptStep>;

/// Gate at which a script waits until the test opens it.
#[derive(Debug)]
pub(crate) struct ScriptGate {
    open: Semaphore,
    reached: Semaphore,
}

impl ScriptGate {
    pub(crate) fn new() -> Arc<Self> {
        Arc::new(Self { open: Semaphore::new(0), reached: Semaphore::new(0) })
    }

    pub(crate) fn open(&self) {
        self.open.add_permits(1);
    }

    /// Resolves when a script waits at the gate.
    pub(crate) async fn reached(&self) {
        self.reached.acquire().await.unwrap().forget();
    }

    pub(crate) async fn wait(&self) {
        self.reached.add_permits(1);
        self.open.acquire().await.unwrap().forget();
    }
}

/// A provider whose answers are scripts, in order. The last one is repeated.
#[derive(Debug)]
pub(crate) struct ScriptedProvider {
    name: Arc<str>,
    pub(crate) max_tools: usize,
    /// Names of the tools that [`convert_tool`](ModelProvider::convert_tool) rejects.
    pub(crate) inexpressible_tools: Vec<String>,
    scripts: Mutex<VecDeque<ModelScript>>,
    requests: Mutex<Vec<Arc<ModelRequest>>>,
    dropped_streams: Arc<AtomicUsize>,
}

impl ScriptedProvider {
    pub(crate) fn new(scripts: Vec<ModelScript>) -> Self {
        Self {
            name: "fake".into(),
            max_tools: 128,
            inexpressible_tools: Vec::new(),
            scripts: Mutex::new(scripts.into()),
            requests: Mutex::default(),
            dropped_streams: Arc::default(),
        }
    }

    pub(crate) fn push_script(&self, script: ModelScript) {
        self.scripts.lock().push_back(script);
    }

    /// Returns the received requests, in order.
    pub(crate) fn requests(&self) -> Vec<Arc<ModelRequest>> {
        self.requests.lock().clone()
    }

    /// Returns the names of the tools of each request.
    pub(crate) fn request_tools(&self) -> Vec<Vec<String>> {
        let names = |request: &Arc<ModelRequest>| {
            request.tools.tools().iter().map(|tool| tool.name.clone()).collect()
        };
        self.requests().iter().map(names).collect()
    }

    /// Returns the number of response streams that were dropped.
    pub(crate) fn dropped_streams(&self) -> usize {
        self.dropped_streams.load(Ordering::SeqCst)
    }
}

struct ScriptedStream {
    script: VecDeque<ScriptStep>,
    dropped: Arc<AtomicUsize>,
}

impl Drop for ScriptedStream {
    fn drop(&mut self) {
        self.dropped.fetch_add(1, Ordering::SeqCst);
    }
}

impl ScriptedStream {
    async fn next(&mut self) -> Option<Result<ModelEvent, ModelError>> {
        loop {
            match self.script.pop_front()? {
                ScriptStep::Say(event) => return Some(Ok(event)),
                ScriptStep::Fail(error) => return Some(Err(error)),
                ScriptStep::Wait(gate) => gate.wait().await,
                ScriptStep::Sleep(time) => tokio::time::sleep(time).await,
                ScriptStep::Hang => std::future::pending().await,
                ScriptStep::Panic => panic!("the script says so"),
            }
        }
    }
}

#[async_trait]
impl ModelProvider for ScriptedProvider {
    fn name(&self) -> &Arc<str> {
        &self.name
    }

    fn kind(&self) -> ProviderKind {
        ProviderKind::Compatible
    }

    fn limits(&self) -> ProviderLimits {
        ProviderLimits { max_tools: self.max_tools, max_name_chars: 64 }
    }

    fn stream(&self, request: Arc<ModelRequest>) -> ModelStream {
        self.requests.lock().push(request);
        let mut scripts = self.scripts.lock();
        let script = if scripts.len() > 1 { scripts.pop_front() } else { scripts.front().cloned() };
        // The last script is used several times, but call ids must be unique.
        let script = script.unwrap_or_default().into_iter().map(duplicate_step).collect();
        let speaking = ScriptedStream { script, dropped: Arc::clone(&self.dropped_streams) };
        Box::pin(stream::unfold(speaking, |mut speaking| async move {
            let event = speaking.next().await?;
            Some((event, speaking))
        }))
    }

    fn request_body(&self, _: &ModelRequest) -> Result<RawJson, ModelError> {
        Err(ModelError::new(ModelErrorKind::Protocol, Arc::clone(&self.name), "no body here"))
    }

    fn convert_tool(&self, tool: &ToolDefinition) -> Result<Arc<ConvertedTool>, NotExpressible> {
        match self.inexpressible_tools.contains(&tool.name) {
            true => Err(NotExpressible("its schema is a riddle".to_owned())),
            false => Ok(Arc::default()),
        }
    }

    async fn list_models(&self) -> Result<Vec<AvailableModel>, ModelError> {
        Ok(Vec::new())
    }
}

fn duplicate_step(act: ScriptStep) -> ScriptStep {
    match act {
        ScriptStep::Say(ModelEvent::Part(MessagePart::ToolCall(call))) => {
            ScriptStep::Say(ModelEvent::Part(MessagePart::ToolCall(ToolCall { id: CallId::new(), ..call })))
        }
        other => other,
    }
}

pub(crate) fn text(text: &str) -> ScriptStep {
    ScriptStep::Say(ModelEvent::Text(text.to_owned()))
}

pub(crate) fn finished(reason: FinishReason) -> ScriptStep {
    ScriptStep::Say(ModelEvent::Finished(reason))
}

pub(crate) fn usage(input: u64, output: u64) -> ScriptStep {
    let usage = ModelUsage { input: Some(input), output: Some(output), ..ModelUsage::default() };
    ScriptStep::Say(ModelEvent::Usage(usage))
}

/// Creates a complete answer with text.
pub(crate) fn text_answer(words: &str) -> ModelScript {
    vec![
        ScriptStep::Say(ModelEvent::Started { model: Some("fake-1".to_owned()) }),
        text(words),
        ScriptStep::Say(ModelEvent::Part(MessagePart::text(words))),
        usage(10, 5),
        finished(FinishReason::Stop),
    ]
}

fn call(name: &str, arguments: &str, is_cut: bool) -> ScriptStep {
    ScriptStep::Say(ModelEvent::Part(MessagePart::ToolCall(ToolCall {
        id: CallId::new(),
        name: name.to_owned(),
        arguments: arguments.to_owned(),
        is_cut,
        opaque: None,
    })))
}

/// Creates a complete answer that calls tools.
pub(crate) fn tool_call_answer(calls: &[(&str, &str)]) -> ModelScript {
    let mut script = vec![ScriptStep::Say(ModelEvent::Started { model: None })];
    script.extend(calls.iter().map(|(name, arguments)| call(name, arguments, false)));
    script.extend([usage(10, 5), finished(FinishReason::ToolCalls)]);
    script
}

/// Creates an answer that ends in the middle of a call.
pub(crate) fn cut_call_answer(name: &str, arguments: &str) -> ModelScript {
    vec![call(name, arguments, true), usage(10, 5), finished(FinishReason::Length)]
}
