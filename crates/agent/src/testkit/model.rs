//! A model that says what a script says.

use std::collections::VecDeque;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

use async_trait::async_trait;
use futures_util::stream;
use parking_lot::Mutex;
use tokio::sync::Semaphore;
use toolway_models::provider::{Converted, NotExpressible, OfferedModel, ProviderLimits};
use toolway_models::{
    FinishReason, ModelError, ModelErrorKind, ModelEvent, ModelProvider, ModelRequest, ModelStream, Part,
    ProviderKind, ToolCall, ToolDefinition, Usage,
};
use toolway_types::{CallId, RawJson};

/// One thing that a scripted model does.
#[derive(Debug, Clone)]
pub(crate) enum Act {
    Say(ModelEvent),
    Fail(ModelError),
    /// Waits until the gate is opened.
    Wait(Arc<Gate>),
    Sleep(Duration),
    /// Says nothing for ever.
    Hang,
    Panic,
}

/// One answer. The stream ends with it.
pub(crate) type Script = Vec<Act>;

/// Holds a script up until it is opened.
#[derive(Debug)]
pub(crate) struct Gate {
    open: Semaphore,
    reached: Semaphore,
}

impl Gate {
    pub(crate) fn new() -> Arc<Self> {
        Arc::new(Self { open: Semaphore::new(0), reached: Semaphore::new(0) })
    }

    pub(crate) fn open(&self) {
        self.open.add_permits(1);
    }

    /// Resolves when somebody waits at it.
    pub(crate) async fn reached(&self) {
        self.reached.acquire().await.unwrap().forget();
    }

    pub(crate) async fn pass(&self) {
        self.reached.add_permits(1);
        self.open.acquire().await.unwrap().forget();
    }
}

/// A provider whose answers are scripts, in order; the last one again when they are used up.
#[derive(Debug)]
pub(crate) struct Scripted {
    name: Arc<str>,
    pub(crate) most_tools: usize,
    /// Tools that it can't be told of.
    pub(crate) refuses: Vec<String>,
    scripts: Mutex<VecDeque<Script>>,
    seen: Mutex<Vec<Arc<ModelRequest>>>,
    dropped: Arc<AtomicUsize>,
}

impl Scripted {
    pub(crate) fn new(scripts: Vec<Script>) -> Self {
        Self {
            name: "fake".into(),
            most_tools: 128,
            refuses: Vec::new(),
            scripts: Mutex::new(scripts.into()),
            seen: Mutex::default(),
            dropped: Arc::default(),
        }
    }

    pub(crate) fn then(&self, script: Script) {
        self.scripts.lock().push_back(script);
    }

    /// What it was asked, in order.
    pub(crate) fn seen(&self) -> Vec<Arc<ModelRequest>> {
        self.seen.lock().clone()
    }

    /// The names of the tools of each request.
    pub(crate) fn tools(&self) -> Vec<Vec<String>> {
        let names = |request: &Arc<ModelRequest>| {
            request.tools.tools().iter().map(|tool| tool.name.clone()).collect()
        };
        self.seen().iter().map(names).collect()
    }

    /// How many answers were let go of.
    pub(crate) fn dropped(&self) -> usize {
        self.dropped.load(Ordering::SeqCst)
    }
}

struct Speaking {
    script: VecDeque<Act>,
    dropped: Arc<AtomicUsize>,
}

impl Drop for Speaking {
    fn drop(&mut self) {
        self.dropped.fetch_add(1, Ordering::SeqCst);
    }
}

impl Speaking {
    async fn next(&mut self) -> Option<Result<ModelEvent, ModelError>> {
        loop {
            match self.script.pop_front()? {
                Act::Say(event) => return Some(Ok(event)),
                Act::Fail(error) => return Some(Err(error)),
                Act::Wait(gate) => gate.pass().await,
                Act::Sleep(time) => tokio::time::sleep(time).await,
                Act::Hang => std::future::pending().await,
                Act::Panic => panic!("the script says so"),
            }
        }
    }
}

#[async_trait]
impl ModelProvider for Scripted {
    fn name(&self) -> &Arc<str> {
        &self.name
    }

    fn kind(&self) -> ProviderKind {
        ProviderKind::Compatible
    }

    fn limits(&self) -> ProviderLimits {
        ProviderLimits { tools: self.most_tools, name_chars: 64 }
    }

    fn stream(&self, request: Arc<ModelRequest>) -> ModelStream {
        self.seen.lock().push(request);
        let mut scripts = self.scripts.lock();
        let script = if scripts.len() > 1 { scripts.pop_front() } else { scripts.front().cloned() };
        // A script is said anew each time, and its calls have ids of their own.
        let script = script.unwrap_or_default().into_iter().map(renewed).collect();
        let speaking = Speaking { script, dropped: Arc::clone(&self.dropped) };
        Box::pin(stream::unfold(speaking, |mut speaking| async move {
            let event = speaking.next().await?;
            Some((event, speaking))
        }))
    }

    fn body(&self, _: &ModelRequest) -> Result<RawJson, ModelError> {
        Err(ModelError::new(ModelErrorKind::Protocol, Arc::clone(&self.name), "no body here"))
    }

    fn convert(&self, tool: &ToolDefinition) -> Result<Arc<Converted>, NotExpressible> {
        match self.refuses.contains(&tool.name) {
            true => Err(NotExpressible("its schema is a riddle".to_owned())),
            false => Ok(Arc::default()),
        }
    }

    async fn models(&self) -> Result<Vec<OfferedModel>, ModelError> {
        Ok(Vec::new())
    }
}

fn renewed(act: Act) -> Act {
    match act {
        Act::Say(ModelEvent::Part(Part::ToolCall(call))) => {
            Act::Say(ModelEvent::Part(Part::ToolCall(ToolCall { id: CallId::new(), ..call })))
        }
        other => other,
    }
}

pub(crate) fn text(text: &str) -> Act {
    Act::Say(ModelEvent::Text(text.to_owned()))
}

pub(crate) fn finished(reason: FinishReason) -> Act {
    Act::Say(ModelEvent::Finished(reason))
}

pub(crate) fn usage(input: u64, output: u64) -> Act {
    let usage = Usage { input: Some(input), output: Some(output), ..Usage::default() };
    Act::Say(ModelEvent::Usage(usage))
}

/// A whole answer in words.
pub(crate) fn says(words: &str) -> Script {
    vec![
        Act::Say(ModelEvent::Started { model: Some("fake-1".to_owned()) }),
        text(words),
        Act::Say(ModelEvent::Part(Part::text(words))),
        usage(10, 5),
        finished(FinishReason::Stop),
    ]
}

fn call(name: &str, arguments: &str, is_cut: bool) -> Act {
    Act::Say(ModelEvent::Part(Part::ToolCall(ToolCall {
        id: CallId::new(),
        name: name.to_owned(),
        arguments: arguments.to_owned(),
        is_cut,
        opaque: None,
    })))
}

/// A whole answer that calls tools.
pub(crate) fn calls(calls: &[(&str, &str)]) -> Script {
    let mut script = vec![Act::Say(ModelEvent::Started { model: None })];
    script.extend(calls.iter().map(|(name, arguments)| call(name, arguments, false)));
    script.extend([usage(10, 5), finished(FinishReason::ToolCalls)]);
    script
}

/// An answer that ends in the middle of a call.
pub(crate) fn cut_call(name: &str, arguments: &str) -> Script {
    vec![call(name, arguments, true), usage(10, 5), finished(FinishReason::Length)]
}
