//! What whoever offers tools may send.

use std::collections::HashSet;
use std::sync::Arc;

use toolway_core::ProgressReport;
use toolway_types::{Code, ContentPart, RawJson, ToolError, ToolOutput};
use toolway_wire::client_message::{
    RegisterMode, RegisterTools, ToolFailure, ToolProgress, ToolResult, ToolWaiting, UnregisterTools,
};
use toolway_wire::error_code;
use toolway_wire::gateway_message::{RegisteredTools, ResultAcknowledged, ResultStatus, ToolsRegistered};

use super::close::CloseReason;
use super::outbox::PeerGone;
use super::peer::SocketPeer;
use super::registration::{self, RegistrationCapacity};
use crate::sources::device_session::DeviceSession;

/// Messages with more tools or bytes than this are compiled on a thread for blocking work.
const COMPILE_BLOCKING_THRESHOLD: (usize, usize) = (32, 32 << 10);
/// Of what a person is asked on a device no more is passed on, in characters.
const MAX_QUESTION: usize = 2000;

pub(super) async fn register(peer: &mut SocketPeer, message: RegisterTools) -> Result<(), CloseReason> {
    if !peer.token.role().may_offer_tools() {
        let text = "a token of the role client may not offer tools; pair as a device or a companion";
        return peer.send_error(error_code::FORBIDDEN, text).await;
    }
    let seat = peer.require_session().await?;
    let mode = message.mode.unwrap_or(match peer.version {
        1 => RegisterMode::Add,
        _ => RegisterMode::Replace,
    });
    let source = seat.source().clone();
    let registering = source.registration_lock.lock().await;
    let kept: Vec<(String, usize)> = match mode {
        RegisterMode::Replace => Vec::new(),
        RegisterMode::Add => registered_specs(&seat),
    };
    let limits = &peer.app.settings.limits;
    let allowed = peer.app.rules.registration_allowance(source.token(), source.slug());
    let (count, bytes): (usize, usize) =
        (message.tools.len(), message.tools.iter().map(|tool| tool.get().len()).sum());
    let room = RegistrationCapacity {
        tools: limits.tools_per_connection.saturating_sub(kept.len()),
        bytes: limits.spec_bytes_per_connection.saturating_sub(kept.iter().map(|(_, bytes)| bytes).sum()),
        own_names: kept.into_iter().map(|(name, _)| name).collect(),
        other_names: allowed.max_tools().map(|_| names_of_other_connections(&seat)).unwrap_or_default(),
    };
    let specs = peer.app.specs.clone();
    let compile = move || registration::check_specs(&specs, &message.tools, &room, &allowed);
    let checked = if count > COMPILE_BLOCKING_THRESHOLD.0 || bytes > COMPILE_BLOCKING_THRESHOLD.1 {
        tokio::task::spawn_blocking(compile).await.unwrap_or_default()
    } else {
        compile()
    };
    if source.identity().is_some() {
        peer.app.tool_changes.submit(source.slug(), &checked.accepted).await;
    }
    let tools = seat.tools(checked.accepted);
    let registered = seat.with_lease(|lease| {
        match mode {
            RegisterMode::Replace => lease.replace(tools),
            RegisterMode::Add => lease.add(tools),
        }
        lease.tools().len()
    });
    peer.app.sources.tools_changed(&source);
    drop(registering);
    let rejected = if peer.version >= 2 { checked.rejected } else { Vec::new() };
    peer.send(ToolsRegistered { count, registered: registered.unwrap_or_default(), rejected }).await
}

/// What a seat holds: names, and the bytes of their specs.
fn registered_specs(seat: &Arc<DeviceSession>) -> Vec<(String, usize)> {
    let tools = seat.with_lease(|lease| lease.tools()).unwrap_or_default();
    let size = |tool: &Arc<dyn toolway_core::Tool>| {
        serde_json::to_string(tool.spec().document().as_ref()).map_or(0, |text| text.len())
    };
    tools.iter().map(|tool| (tool.spec().name().to_string(), size(tool))).collect()
}

/// The names of what other connections of a seat's source hold.
fn names_of_other_connections(seat: &Arc<DeviceSession>) -> HashSet<String> {
    let others = seat.source().sessions().into_iter().filter(|other| !Arc::ptr_eq(other, seat));
    let tools = others.filter_map(|other| other.with_lease(|lease| lease.tools()));
    tools
        .flat_map(|tools| tools.iter().map(|tool| tool.spec().name().to_string()).collect::<Vec<_>>())
        .collect()
}

pub(super) async fn unregister(peer: &mut SocketPeer, message: UnregisterTools) -> Result<(), CloseReason> {
    let count = message.names.len();
    let Some(seat) = peer.session().cloned() else {
        return peer.send(ToolsRegistered { count, registered: 0, rejected: Vec::new() }).await;
    };
    let registered = seat.with_lease(|lease| {
        lease.remove(&message.names);
        lease.tools().len()
    });
    peer.app.sources.tools_changed(seat.source());
    let registered = registered.unwrap_or_default();
    peer.send(ToolsRegistered { count, registered, rejected: Vec::new() }).await
}

pub(super) async fn list_registered(peer: &mut SocketPeer) -> Result<(), CloseReason> {
    let tools = peer.session().and_then(|seat| seat.with_lease(|lease| lease.tools())).unwrap_or_default();
    let document = |tool: &Arc<dyn toolway_core::Tool>| {
        let document = tool.spec().document().as_ref();
        if peer.version >= 2 {
            return RawJson::from_value(document).ok();
        }
        // Version 1 knows three fields, and reads `parameters` as an object.
        let parameters = document.parameters.clone().unwrap_or_else(RawJson::empty_object);
        let description = document.description.clone().unwrap_or_default();
        let fields = serde_json::json!({ "name": document.name, "description": description });
        let mut fields = fields.as_object().cloned().unwrap_or_default();
        fields.insert("parameters".to_owned(), parameters.to_value());
        RawJson::from_value(&fields).ok()
    };
    peer.send(RegisteredTools { tools: tools.iter().filter_map(document).collect() }).await
}

pub(super) async fn handle_result(peer: &mut SocketPeer, result: ToolResult) -> Result<(), CloseReason> {
    let ToolResult { id, output, success, error, structured, content } = result;
    let status = answer(peer, &id, || match success {
        Some(false) => {
            let message = error.filter(|text| !text.is_empty()).unwrap_or(output);
            Err(tool_error(Code::ToolFailed, message))
        }
        _ => Ok(ToolOutput::new(result_parts(output, content, structured.is_some()), structured)),
    });
    acknowledge(peer, id, status).await
}

pub(super) async fn handle_failure(peer: &mut SocketPeer, failure: ToolFailure) -> Result<(), CloseReason> {
    let ToolFailure { id, error, code, hint, authorize_intent, retryable, .. } = failure;
    let status = answer(peer, &id, || {
        let mut failed = tool_error(Code::from_device_code(code.as_deref()), error);
        failed.hint = hint;
        failed.authorize_intent = authorize_intent;
        failed.retryable = retryable.unwrap_or(failed.retryable);
        Err(failed)
    });
    acknowledge(peer, id, status).await
}

pub(super) async fn handle_progress(
    peer: &mut SocketPeer,
    progress: ToolProgress,
) -> Result<(), CloseReason> {
    if let Some(seat) = peer.session() {
        let ToolProgress { id, progress, total, message, content } = progress;
        seat.report_progress(&id, ProgressReport { progress, total, message, content });
    }
    Ok(())
}

pub(super) async fn handle_waiting(peer: &mut SocketPeer, waiting: ToolWaiting) -> Result<(), CloseReason> {
    if let Some(seat) = peer.session() {
        seat.report_waiting(&waiting.id, || question(waiting.prompt, waiting.hint));
    }
    Ok(())
}

/// What a person is asked, for whoever waits for the call: the question, and after it where to answer.
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
    peer: &SocketPeer,
    id: &str,
    reply: impl FnOnce() -> Result<ToolOutput, ToolError>,
) -> ResultStatus {
    peer.session().map_or(ResultStatus::Unknown, |seat| seat.answer(id, reply))
}

async fn acknowledge(peer: &SocketPeer, id: String, status: ResultStatus) -> Result<(), CloseReason> {
    if status != ResultStatus::Accepted {
        peer.app.metrics.record_discarded_result(status);
        let source = peer.session().map(|seat| seat.source().slug().to_string());
        tracing::info!(?source, id, ?status, "a result that no call waits for");
        if peer.version < 2 {
            return Ok(());
        }
    }
    let status = (peer.version >= 2).then_some(status);
    let frame = toolway_wire::GatewayMessage::from(ResultAcknowledged { id, status }).encode();
    peer.outbox.send_lazily(frame).await.map_err(|PeerGone| CloseReason::PeerGone)
}

fn tool_error(code: Code, message: String) -> ToolError {
    let message = if message.is_empty() { "The tool failed without saying why".to_owned() } else { message };
    ToolError::new(code, message).with_dispatched(true)
}

/// The parts of a result: its text first, unless that is empty and something else says what there is, or the
/// parts say it themselves, as where all that a tool gave is sent in `content` and its text in `output` again.
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
