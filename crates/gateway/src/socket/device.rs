//! Handles messages of a peer that offers tools: registrations, and the progress and results of calls.

use std::collections::HashSet;
use std::sync::Arc;

use toolway_core::ProgressReport;
use toolway_types::pattern::SchemaPatterns;
use toolway_types::text::truncate;
use toolway_types::{Code, ContentPart, RawJson, ToolError, ToolOutput};
use toolway_wire::client_message::{
    RegisterMode, RegisterTools, ToolFailure, ToolProgress, ToolResult, ToolResultOutput, ToolWaiting,
    UnregisterTools,
};
use toolway_wire::error_code;
use toolway_wire::gateway_message::{RegisteredTools, ResultAcknowledged, ResultStatus, ToolsRegistered};

use super::close::CloseReason;
use super::context::SocketContext;
use super::tool_provider::ToolProvider;
use crate::memory_budget::{LastingMemory, OverBudget, cost};
use crate::outbox::PeerGone;
use crate::rules::RegistrationAllowance;
use crate::sources::SourceSession;
use crate::sources::device_session::DeviceSession;
use crate::sources::registration::{self, CheckedSpecs, RegistrationCapacity};
use crate::sources::remote_tool::remote_tools;

/// Maximum length of a call's id in an acknowledgement, in bytes. A longer one is cut.
const MAX_ID_BYTES: usize = 4096;
/// Maximum length of a call's id in the log, in bytes. A longer one is cut.
const MAX_LOGGED_ID_BYTES: usize = 200;
/// Maximum length of the description of an unreadable answer, in bytes.
const MAX_PROBLEM_BYTES: usize = 500;
/// Maximum size of a message's specs that are looked up among those in use before they are compiled, in bytes.
const MAX_INLINE_BYTES: usize = 32 << 10;
/// Maximum length of a question for the caller, in characters. Longer questions are truncated.
const MAX_QUESTION: usize = 2000;

pub(super) async fn register(
    cx: &SocketContext,
    provider: &mut ToolProvider,
    message: RegisterTools,
) -> Result<(), CloseReason> {
    let SourceSession { source, session } = provider.require_session(cx).await?;
    let mode = message.mode.unwrap_or(match cx.version {
        1 => RegisterMode::Add,
        _ => RegisterMode::Replace,
    });
    let registering = source.registration_lock.lock().await;
    let (kept, patterns) = match mode {
        RegisterMode::Replace => (Vec::new(), SchemaPatterns::default()),
        RegisterMode::Add => registered_specs(&session),
    };
    let (kept_tools, kept_bytes) = (kept.len(), kept.iter().map(|(_, bytes)| bytes).sum::<usize>());
    let limits = &cx.app.settings.limits;
    let allowed = cx.app.rules.registration_allowance(source.token(), source.slug());
    let count = message.tools.len();
    let others = || source.sessions().into_iter().filter(|other| !Arc::ptr_eq(other, &session));
    let capacity = RegistrationCapacity {
        tools: limits.tools_per_connection.saturating_sub(kept.len()),
        bytes: limits.spec_bytes_per_connection.saturating_sub(kept_bytes),
        own_names: kept.into_iter().map(|(name, _)| name).collect(),
        other_names: allowed.max_tools().map(|_| registered_names(others())).unwrap_or_default(),
        patterns,
    };
    let mut checked = check_specs(cx, message.tools, capacity, allowed).await;
    let memory = cost::definitions(kept_tools + checked.accepted.len(), kept_bytes + checked.bytes);
    if let Err(refusal) = count_definitions(cx, &session, memory) {
        checked.reject_all(&format!("{refusal}; the limit is the setting limits.memory_bytes"));
        let _ = count_definitions(cx, &session, cost::definitions(kept_tools, kept_bytes));
    }
    // Compared before they are registered, so that no call can run a changed tool unnoticed.
    if source.identity().is_some() {
        cx.app.tool_changes.submit(source.slug(), &checked.accepted).await;
    }
    let tools = remote_tools(&session, checked.accepted);
    let registered = session.with_lease(|lease| {
        match mode {
            RegisterMode::Replace => lease.replace(tools),
            RegisterMode::Add => lease.add(tools),
        }
        lease.tools().len()
    });
    cx.app.sources.tools_changed(&source);
    drop(registering);
    let registered = registered.unwrap_or_default();
    cx.send(ToolsRegistered { count, registered, rejected: checked.rejected }).await
}

/// Checks the specs of a message.
async fn check_specs(
    cx: &SocketContext,
    tools: Vec<RawJson>,
    capacity: RegistrationCapacity,
    allowed: RegistrationAllowance,
) -> CheckedSpecs {
    let specs = Arc::clone(&cx.app.specs);
    // Many devices have the same tools. Finding a spec that is in use takes little, if it is short.
    let is_short = tools.iter().map(|tool| tool.get().len()).sum::<usize>() <= MAX_INLINE_BYTES;
    if is_short && let Some(known) = registration::check_known_specs(&specs, &tools, &capacity, &allowed) {
        return known;
    }
    // Always apart from other connections: a few bytes of a schema can take long to compile.
    let compile = {
        let specs = Arc::clone(&specs);
        move || registration::check_specs(&specs, &tools, &capacity, &allowed)
    };
    specs.run_compile_job(&cx.token.principal.id.0, compile).await.unwrap_or_default()
}

/// Counts the memory of a session's tools. It outlives the connection, because the session may be resumed.
fn count_definitions(cx: &SocketContext, session: &DeviceSession, memory: usize) -> Result<(), OverBudget> {
    let lasting = LastingMemory(Arc::clone(&cx.app.memory));
    session.count_definitions(&lasting.open(&cx.token.principal), memory)
}

/// Returns the names of a session's tools with the sizes of their specs in bytes, and all their patterns.
fn registered_specs(session: &DeviceSession) -> (Vec<(String, usize)>, SchemaPatterns) {
    let tools = session.with_lease(|lease| lease.tools()).unwrap_or_default();
    let size = |tool: &Arc<dyn toolway_core::Tool>| {
        serde_json::to_string(tool.spec().document().as_ref()).map_or(0, |text| text.len())
    };
    let mut patterns = SchemaPatterns::default();
    tools.iter().for_each(|tool| patterns.add(tool.spec().patterns()));
    (tools.iter().map(|tool| (tool.spec().name().to_string(), size(tool))).collect(), patterns)
}

/// Returns the names of the tools of all these sessions.
fn registered_names(sessions: impl Iterator<Item = Arc<DeviceSession>>) -> HashSet<String> {
    let tools = sessions.filter_map(|session| session.with_lease(|lease| lease.tools()));
    tools
        .flat_map(|tools| tools.iter().map(|tool| tool.spec().name().to_string()).collect::<Vec<_>>())
        .collect()
}

pub(super) async fn unregister(
    cx: &SocketContext,
    provider: &ToolProvider,
    message: UnregisterTools,
) -> Result<(), CloseReason> {
    let count = message.names.len();
    let Some(SourceSession { source, session }) = provider.source_session() else {
        return cx.send(ToolsRegistered { count, registered: 0, rejected: Vec::new() }).await;
    };
    let registered = session.with_lease(|lease| {
        lease.remove(&message.names);
        lease.tools().len()
    });
    let (kept, _) = registered_specs(&session);
    let bytes = kept.iter().map(|(_, bytes)| bytes).sum();
    // Less than before, so that there is memory for it.
    let _ = count_definitions(cx, &session, cost::definitions(kept.len(), bytes));
    cx.app.sources.tools_changed(&source);
    let registered = registered.unwrap_or_default();
    cx.send(ToolsRegistered { count, registered, rejected: Vec::new() }).await
}

pub(super) async fn list_registered(cx: &SocketContext, provider: &ToolProvider) -> Result<(), CloseReason> {
    let tools =
        provider.session().and_then(|session| session.with_lease(|lease| lease.tools())).unwrap_or_default();
    let document = |tool: &Arc<dyn toolway_core::Tool>| {
        let document = tool.spec().document().as_ref();
        if cx.version >= 2 {
            return RawJson::from_value(document).ok();
        }
        // Version 1 has only three fields, and `parameters` must be an object.
        let parameters = document.parameters.clone().unwrap_or_else(RawJson::empty_object);
        let description = document.description.clone().unwrap_or_default();
        let fields = serde_json::json!({ "name": document.name, "description": description });
        let mut fields = fields.as_object().cloned().unwrap_or_default();
        fields.insert("parameters".to_owned(), parameters.to_value());
        RawJson::from_value(&fields).ok()
    };
    cx.send(RegisteredTools { tools: tools.iter().filter_map(document).collect() }).await
}

pub(super) async fn handle_result(
    cx: &SocketContext,
    provider: &ToolProvider,
    result: ToolResult,
) -> Result<(), CloseReason> {
    let ToolResult { id, output, success, error, structured, content } = result;
    let (output, structured) = match output {
        ToolResultOutput::Text(text) => (text, structured),
        // Devices of version 1 have no other place for a structured result.
        ToolResultOutput::Json(json) if cx.version < 2 => (String::new(), Some(json)),
        ToolResultOutput::Json(_) => {
            let text = "the message \"tool_result\" has a field of the wrong form: `output` must be a string; \
                        put other values into `structured`";
            fail_unreadable(cx, provider, &id, text);
            return cx.send_error_about(error_code::INVALID_MESSAGE, text, Some(id)).await;
        }
    };
    let status = answer(provider, &id, || match success {
        Some(false) => {
            let json = || structured.as_ref().map(|json| json.get().to_owned()).unwrap_or_default();
            let said = error.filter(|text| !text.is_empty());
            let message = said.unwrap_or_else(|| if output.is_empty() { json() } else { output });
            Err(tool_error(Code::ToolFailed, message))
        }
        _ => Ok(ToolOutput::new(result_parts(output, content, structured.is_some()), structured)),
    });
    acknowledge(cx, provider, id, status).await
}

/// Ends a call whose answer can't be read. `problem` says what is wrong with the answer.
pub(super) fn fail_unreadable(cx: &SocketContext, provider: &ToolProvider, id: &str, problem: &str) {
    let message = || format!("The device's answer can't be read: {}", truncate(problem, MAX_PROBLEM_BYTES));
    let status = answer(provider, id, || Err(tool_error(Code::ToolFailed, message())));
    if let Some(line) = cx.app.peer_log.admit(&cx.token.principal.id) {
        let source = provider.session().map(|session| session.source().to_string());
        let (id, omitted) = (truncate(id, MAX_LOGGED_ID_BYTES), line.omitted);
        tracing::info!(?source, %id, ?status, omitted, "an unreadable answer");
    }
}

pub(super) async fn handle_failure(
    cx: &SocketContext,
    provider: &ToolProvider,
    failure: ToolFailure,
) -> Result<(), CloseReason> {
    let ToolFailure { id, error, code, hint, authorize_intent, retryable, .. } = failure;
    let status = answer(provider, &id, || {
        let mut failed = tool_error(Code::from_device_code(code.as_deref()), error);
        failed.hint = hint;
        failed.authorize_intent = authorize_intent;
        failed.retryable = retryable.unwrap_or(failed.retryable);
        Err(failed)
    });
    acknowledge(cx, provider, id, status).await
}

pub(super) fn handle_progress(provider: &ToolProvider, progress: ToolProgress) {
    if let Some(session) = provider.session() {
        let ToolProgress { id, progress, total, message, content } = progress;
        session.report_progress(&id, ProgressReport { progress, total, message, content });
    }
}

pub(super) fn handle_waiting(provider: &ToolProvider, waiting: ToolWaiting) {
    if let Some(session) = provider.session() {
        session.report_waiting(&waiting.id, || question(waiting.prompt, waiting.hint));
    }
}

/// Creates the message for the caller while a person is asked: the question, then the place to answer it.
fn question(prompt: Option<String>, hint: Option<String>) -> Option<String> {
    let said = |text: Option<String>| text.filter(|text| !text.trim().is_empty());
    let mut question = match (said(prompt), said(hint)) {
        (None, None) => return None,
        (Some(text), None) | (None, Some(text)) => text,
        (Some(prompt), Some(hint)) => format!("{prompt} ({hint})"),
    };
    if let Some((end, _)) = question.char_indices().nth(MAX_QUESTION) {
        question.truncate(end);
    }
    Some(question)
}

fn answer(
    provider: &ToolProvider,
    id: &str,
    reply: impl FnOnce() -> Result<ToolOutput, ToolError>,
) -> ResultStatus {
    provider.session().map_or(ResultStatus::Unknown, |session| session.answer(id, reply))
}

async fn acknowledge(
    cx: &SocketContext,
    provider: &ToolProvider,
    id: String,
    status: ResultStatus,
) -> Result<(), CloseReason> {
    // The gateway's own ids are short. An unknown one may be as long as a frame.
    let id = if id.len() > MAX_ID_BYTES { truncate(&id, MAX_ID_BYTES) } else { id };
    if status != ResultStatus::Accepted {
        cx.app.metrics.record_discarded_result(status);
        if let Some(line) = cx.app.peer_log.admit(&cx.token.principal.id) {
            let source = provider.session().map(|session| session.source().to_string());
            let (logged, omitted) = (truncate(&id, MAX_LOGGED_ID_BYTES), line.omitted);
            tracing::info!(?source, id = logged, ?status, omitted, "a result without a pending call");
        }
        if cx.version < 2 {
            return Ok(());
        }
    }
    let status = (cx.version >= 2).then_some(status);
    let frame = ResultAcknowledged::write(&id, status);
    cx.outbox.send_lazily(frame).await.map_err(|PeerGone| CloseReason::PeerGone)
}

fn tool_error(code: Code, message: String) -> ToolError {
    let message = if message.is_empty() { "The tool failed without a reason".to_owned() } else { message };
    ToolError::new(code, message).with_dispatched(true)
}

/// Returns the parts of a result, its text first. Omits the text if it is empty and there are other parts, or
/// if the parts already contain it: some devices send everything in `content`, and its text again in
/// `output`.
fn result_parts(text: String, mut content: Vec<ContentPart>, structured: bool) -> Vec<ContentPart> {
    let says_nothing = text.is_empty() && (structured || !content.is_empty());
    let texts = || content.iter().filter_map(ContentPart::as_text);
    let is_said = texts().any(|said| said == text) || texts().collect::<Vec<_>>().join("\n") == text;
    if !says_nothing && (content.is_empty() || !is_said) {
        content.insert(0, ContentPart::Text { text });
    }
    content
}

#[cfg(test)]
mod tests;
