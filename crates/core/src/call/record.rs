//! The last step, prepared first: an open record closes exactly once, also when the call's future is dropped
//! half-way.

use std::sync::Arc;

use serde_json::Value;
use tokio::time::Instant;
use toolway_types::{Code, Outcome, RawJson, ToolError, ToolId, ToolOutput};

use super::lookup::Target;
use super::once::Turn;
use crate::arguments::Arguments;
use crate::context::CallContext;
use crate::engine::{Call, Engine, EngineSettings, Finished};
use crate::record::{ClosedCall, Commit, Durations, OpenedCall};

/// What stands in a record in the place of a secret.
const REDACTED: &str = "[redacted]";

/// An open record. Dropped without being closed, it closes as cancelled: its caller went away.
pub(super) struct OpenRecord {
    engine: Arc<Engine>,
    opened: Arc<OpenedCall>,
    started: Instant,
    /// How far the run is, once it runs.
    context: Option<CallContext>,
    turn: Option<Turn>,
    commit: Option<Commit>,
    closed: bool,
}

impl OpenRecord {
    pub(super) fn open(
        engine: &Arc<Engine>,
        settings: &EngineSettings,
        call: &Call,
        target: Option<&Target>,
        arguments: Option<&Arguments>,
        turn: Option<Turn>,
    ) -> Self {
        let write_only = target.is_some_and(|target| target.tool.spec().parameters().has_write_only());
        let opened = Arc::new(OpenedCall {
            id: call.id,
            name: call.name.clone(),
            tool: target.map(|target| target.id.clone()),
            principal: call.caller.principal.id.clone(),
            role: call.caller.principal.role,
            door: call.caller.door,
            agent: call.caller.principal.agent.clone(),
            arguments: arguments.map(|arguments| {
                let schema = target.filter(|_| write_only).and_then(schema_of);
                redacted(arguments, schema.as_ref(), &settings.redact)
            }),
            started_ms: engine.clock.now_ms(),
            key: turn.as_ref().map(|turn| turn.key().clone()),
        });
        if let Some(tool) = &opened.tool {
            tracing::Span::current().record("tool", tracing::field::display(tool));
        }
        let commit = engine.recorder.open(opened.clone());
        Self {
            engine: engine.clone(),
            opened,
            started: Instant::now(),
            context: None,
            turn,
            commit: Some(commit),
            closed: false,
        }
    }

    /// Waits until the record is on disk, where that was asked for.
    pub(super) async fn committed(mut self) -> Self {
        if let Some(commit) = self.commit.take() {
            commit.wait().await;
        }
        self
    }

    /// From now on the record knows how far the run is.
    pub(super) fn runs_in(&mut self, context: &CallContext) {
        self.context = Some(context.clone());
    }

    /// Closes the record with what the call ended in.
    pub(super) async fn close(
        mut self,
        result: Result<ToolOutput, ToolError>,
        tool: Option<ToolId>,
    ) -> Finished {
        let (finished, commit) = self.finish(result.into());
        commit.wait().await;
        Finished { tool: tool.or_else(|| self.opened.tool.clone()), ..finished }
    }

    fn finish(&mut self, outcome: Outcome) -> (Finished, Commit) {
        self.closed = true;
        let outcome = Arc::new(outcome);
        let durations = self.durations();
        let attempts = self.context.as_ref().map_or(0, CallContext::attempts);
        let finished = Finished {
            id: self.opened.id,
            tool: self.opened.tool.clone(),
            outcome: outcome.clone(),
            durations,
        };
        let closed = ClosedCall { opened: self.opened.clone(), outcome, durations, attempts };
        let commit = self.engine.recorder.close(closed);
        if let Some(turn) = self.turn.take() {
            turn.end(&finished);
        }
        (finished, commit)
    }

    fn durations(&self) -> Durations {
        let total = self.started.elapsed();
        let Some(context) = &self.context else { return Durations { total, ..Durations::default() } };
        let (waiting, queued) = (context.clock().waited(), context.queued());
        Durations { total, waiting, queued, running: total.saturating_sub(waiting + queued) }
    }
}

impl Drop for OpenRecord {
    fn drop(&mut self) {
        if self.closed {
            return;
        }
        let dispatched = self.context.as_ref().is_some_and(CallContext::is_dispatched);
        let error = ToolError::new(Code::Cancelled, "The caller went away").dispatched(dispatched);
        // Nobody is left to wait for the commit.
        let _ = self.finish(Outcome::Error(error));
    }
}

fn schema_of(target: &Target) -> Option<Value> {
    target.tool.spec().parameters().raw().map(RawJson::to_value)
}

/// The arguments as they may be recorded: values of the listed names, and of properties that the schema marks
/// `writeOnly`, replaced.
fn redacted(arguments: &Arguments, schema: Option<&Value>, names: &[String]) -> RawJson {
    let write_only = schema.map(write_only_names).unwrap_or_default();
    let secret = |name: &str| {
        names.iter().any(|listed| listed.eq_ignore_ascii_case(name)) || write_only.iter().any(|it| it == name)
    };
    if !any_key(arguments.value(), &secret) {
        return arguments.raw().clone();
    }
    let mut value = arguments.value().clone();
    replace(&mut value, &secret);
    RawJson::from(&value)
}

/// The names of all properties that a schema marks `writeOnly`, wherever they are.
fn write_only_names(schema: &Value) -> Vec<String> {
    fn collect(schema: &Value, names: &mut Vec<String>) {
        match schema {
            Value::Object(fields) => {
                for (name, inner) in fields {
                    if inner.get("writeOnly") == Some(&Value::Bool(true)) {
                        names.push(name.clone());
                    }
                    collect(inner, names);
                }
            }
            Value::Array(items) => items.iter().for_each(|item| collect(item, names)),
            _ => {}
        }
    }
    let mut names = Vec::new();
    collect(schema, &mut names);
    names
}

fn any_key(value: &Value, matches: &impl Fn(&str) -> bool) -> bool {
    match value {
        Value::Object(fields) => fields.iter().any(|(name, inner)| matches(name) || any_key(inner, matches)),
        Value::Array(items) => items.iter().any(|item| any_key(item, matches)),
        _ => false,
    }
}

fn replace(value: &mut Value, matches: &impl Fn(&str) -> bool) {
    match value {
        Value::Object(fields) => {
            for (name, inner) in fields {
                if matches(name) {
                    *inner = Value::String(REDACTED.to_owned());
                } else {
                    replace(inner, matches);
                }
            }
        }
        Value::Array(items) => items.iter_mut().for_each(|item| replace(item, matches)),
        _ => {}
    }
}
