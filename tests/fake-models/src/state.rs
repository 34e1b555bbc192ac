//! The common state of requests and answers: the script, the observations, gates and ids.

use std::collections::{BTreeMap, HashMap};
use std::sync::Arc;

use parking_lot::Mutex;
use serde::Serialize;
use tokio::sync::watch;
use tokio::time::Instant;

use crate::gates::GateRegistry;
use crate::ids::IdSequence;
use crate::quirks::ApiQuirks;
use crate::received_request::ReceivedRequest;
use crate::script::{FakeModel, ResponseScript, ScriptLine, ScriptRules};

/// End of an answer.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum ResponseEnd {
    /// Everything was sent.
    Complete,
    /// The script cut it.
    Cut,
    /// The client disconnected before.
    Dropped,
}

/// The common state of requests and answers.
#[derive(Debug)]
pub(crate) struct FakeModelsState {
    pub(crate) epoch: Instant,
    pub(crate) gates: GateRegistry,
    pub(crate) ids: IdSequence,
    /// Responses: the reasoning item directly before each item, by their ids.
    pub(crate) issued: Arc<Mutex<HashMap<String, String>>>,
    pub(crate) state: Mutex<ScriptState>,
    changed: watch::Sender<u64>,
}

#[derive(Debug)]
pub(crate) struct ScriptState {
    pub(crate) models: Vec<FakeModel>,
    pub(crate) rules: ScriptRules,
    pub(crate) quirks: ApiQuirks,
    pub(crate) checks: bool,
    pub(crate) requests: Vec<ReceivedRequest>,
    pub(crate) ends: BTreeMap<usize, ResponseEnd>,
    pub(crate) marks: Vec<(String, Instant)>,
}

impl FakeModelsState {
    pub(crate) fn new() -> Self {
        Self {
            epoch: Instant::now(),
            gates: GateRegistry::default(),
            ids: IdSequence::default(),
            issued: Arc::default(),
            state: Mutex::new(ScriptState {
                models: FakeModel::defaults(),
                rules: ScriptRules::default(),
                quirks: ApiQuirks::default(),
                checks: true,
                requests: Vec::new(),
                ends: BTreeMap::new(),
                marks: Vec::new(),
            }),
            changed: watch::Sender::new(0),
        }
    }

    pub(crate) fn update<T>(&self, work: impl FnOnce(&mut ScriptState) -> T) -> T {
        let done = work(&mut self.state.lock());
        self.changed.send_modify(|count| *count += 1);
        done
    }

    pub(crate) fn mark(&self, name: &str) {
        self.update(|inner| inner.marks.push((name.to_owned(), Instant::now())));
    }

    pub(crate) fn ended(&self, number: usize, end: ResponseEnd) {
        self.update(|inner| inner.ends.insert(number, end));
    }

    pub(crate) fn models(&self) -> Vec<FakeModel> {
        self.state.lock().models.clone()
    }

    pub(crate) fn line(&self, line: ScriptLine) {
        self.update(|inner| inner.rules.add(line));
    }

    pub(crate) fn script(&self, script: ResponseScript) {
        self.gates.clear();
        self.update(|inner| {
            inner.models = if script.models.is_empty() { FakeModel::defaults() } else { script.models };
            inner.quirks = script.quirks;
            inner.checks = script.checks;
            inner.rules.clear();
            for line in script.lines {
                inner.rules.add(line);
            }
            inner.requests.clear();
            inner.ends.clear();
            inner.marks.clear();
        });
    }

    pub(crate) fn requests(&self) -> Vec<ReceivedRequest> {
        self.state.lock().requests.clone()
    }

    pub(crate) async fn request(&self, number: usize) -> ReceivedRequest {
        self.wait_until(|inner| inner.requests.get(number).cloned()).await
    }

    pub(crate) async fn end(&self, number: usize) -> ResponseEnd {
        self.wait_until(|inner| inner.ends.get(&number).copied()).await
    }

    pub(crate) fn unused(&self) -> usize {
        self.state.lock().rules.unused_lines()
    }

    async fn wait_until<T>(&self, mut ask: impl FnMut(&ScriptState) -> Option<T>) -> T {
        let mut changed = self.changed.subscribe();
        loop {
            if let Some(found) = ask(&self.state.lock()) {
                return found;
            }
            if changed.changed().await.is_err() {
                std::future::pending::<()>().await;
            }
        }
    }
}

impl ScriptState {
    pub(crate) fn set_status(&mut self, number: usize, status: u16) {
        if let Some(request) = self.requests.get_mut(number) {
            request.status = Some(status);
        }
    }
}
