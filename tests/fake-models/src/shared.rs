//! What requests and answers share: the script as it stands, what was seen, gates and ids.

use std::collections::{BTreeMap, HashMap};
use std::sync::Arc;

use parking_lot::Mutex;
use serde::Serialize;
use tokio::sync::watch;
use tokio::time::Instant;

use crate::gates::Gates;
use crate::ids::Ids;
use crate::quirks::Quirks;
use crate::script::{Line, Model, Rules, Script};
use crate::seen::SeenRequest;

/// How an answer ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum ResponseEnd {
    /// All of it was sent.
    Complete,
    /// The script cut it.
    Cut,
    /// Whoever asked went away before.
    Dropped,
}

/// What requests and answers share.
#[derive(Debug)]
pub(crate) struct Shared {
    pub(crate) epoch: Instant,
    pub(crate) gates: Gates,
    pub(crate) ids: Ids,
    /// Responses: which reasoning item came right before an item, by their ids.
    pub(crate) issued: Arc<Mutex<HashMap<String, String>>>,
    pub(crate) state: Mutex<Inner>,
    changed: watch::Sender<u64>,
}

#[derive(Debug)]
pub(crate) struct Inner {
    pub(crate) models: Vec<Model>,
    pub(crate) rules: Rules,
    pub(crate) quirks: Quirks,
    pub(crate) checks: bool,
    pub(crate) requests: Vec<SeenRequest>,
    pub(crate) ends: BTreeMap<usize, ResponseEnd>,
    pub(crate) marks: Vec<(String, Instant)>,
}

impl Shared {
    pub(crate) fn new() -> Self {
        Self {
            epoch: Instant::now(),
            gates: Gates::default(),
            ids: Ids::default(),
            issued: Arc::default(),
            state: Mutex::new(Inner {
                models: Model::usual(),
                rules: Rules::default(),
                quirks: Quirks::default(),
                checks: true,
                requests: Vec::new(),
                ends: BTreeMap::new(),
                marks: Vec::new(),
            }),
            changed: watch::Sender::new(0),
        }
    }

    pub(crate) fn change<T>(&self, work: impl FnOnce(&mut Inner) -> T) -> T {
        let done = work(&mut self.state.lock());
        self.changed.send_modify(|count| *count += 1);
        done
    }

    pub(crate) fn mark(&self, name: &str) {
        self.change(|inner| inner.marks.push((name.to_owned(), Instant::now())));
    }

    pub(crate) fn ended(&self, number: usize, end: ResponseEnd) {
        self.change(|inner| inner.ends.insert(number, end));
    }

    pub(crate) fn models(&self) -> Vec<Model> {
        self.state.lock().models.clone()
    }

    pub(crate) fn line(&self, line: Line) {
        self.change(|inner| inner.rules.add(line));
    }

    pub(crate) fn script(&self, script: Script) {
        self.gates.clear();
        self.change(|inner| {
            inner.models = if script.models.is_empty() { Model::usual() } else { script.models };
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

    pub(crate) fn requests(&self) -> Vec<SeenRequest> {
        self.state.lock().requests.clone()
    }

    pub(crate) async fn request(&self, number: usize) -> SeenRequest {
        self.until(|inner| inner.requests.get(number).cloned()).await
    }

    pub(crate) async fn end(&self, number: usize) -> ResponseEnd {
        self.until(|inner| inner.ends.get(&number).copied()).await
    }

    pub(crate) fn unused(&self) -> usize {
        self.state.lock().rules.unused()
    }

    async fn until<T>(&self, mut ask: impl FnMut(&Inner) -> Option<T>) -> T {
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

impl Inner {
    pub(crate) fn set_status(&mut self, number: usize, status: u16) {
        if let Some(request) = self.requests.get_mut(number) {
            request.status = Some(status);
        }
    }
}
