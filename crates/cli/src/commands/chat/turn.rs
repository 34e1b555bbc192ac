//! Runs one turn: sends the request, follows the events to the end, and stops the turn on Ctrl-C. The caller chooses
//! the output. The turn continues in the gateway if this program exits.

use std::collections::HashMap;
use std::future::pending;
use std::pin::Pin;

use reqwest::Method;
use toolway_api::chat::ChatRequest;

use super::event::{TurnEvent, failure_error};
use crate::approval_prompt::{ApprovalPrompter, PrompterOutput, StdinLines};
use crate::client::{GatewayClient, GatewayEvent};
use crate::context::CliContext;
use crate::error::{CliError, CliResult};
use crate::signals::{ProcessSignal, SignalListener};

/// Output of a turn.
pub(super) trait TurnOutput {
    /// Handles an event; `raw` is its unparsed form.
    fn handle_event(&mut self, event: TurnEvent, raw: &GatewayEvent) -> CliResult;
    /// Handles an event of an unknown type.
    fn handle_unknown(&mut self, raw: &GatewayEvent) -> CliResult;
    /// Prints lines for the user, already escaped.
    fn print_lines(&mut self, lines: &[String]) -> CliResult;
}

/// Result of a turn.
#[derive(Debug)]
pub(super) enum TurnResult {
    Done,
    Aborted,
    Failed(CliError),
}

/// A turn that has ended.
#[derive(Debug)]
pub(super) struct FinishedTurn {
    pub(super) result: TurnResult,
    /// Session of the turn, if the gateway sent it.
    pub(super) session: Option<String>,
    pub(super) agent: Option<String>,
    /// Reader that may still hold standard input.
    pub(super) stdin_lines: Option<StdinLines>,
}

type AbortFuture<'a> = Pin<Box<dyn Future<Output = CliResult> + 'a>>;

/// Follows a turn to its end. Ctrl-C stops the turn; a second one returns an error.
pub(super) async fn run_turn(
    message: &ChatRequest,
    client: &GatewayClient,
    signals: &mut SignalListener,
    shown: &mut dyn TurnOutput,
    context: &CliContext,
) -> CliResult<FinishedTurn> {
    let mut events = tokio::select! {
        events = client.post_for_events(&["api", "chat"], message) => events?,
        () = wait_for_stop(signals) => return Err(interrupted_error(message.session_id.as_deref())),
    };
    let mut asking = ApprovalPrompter::new(client, HashMap::new(), context);
    let mut session = message.session_id.clone();
    let (mut agent, mut ended) = (None, None);
    let mut stopping: Option<AbortFuture<'_>> = None;
    let mut stop_requested = false;
    while ended.is_none() {
        let output = tokio::select! {
            output = asking.next_output(&mut events) => output?,
            () = wait_for_stop(signals) => {
                if std::mem::replace(&mut stop_requested, true) {
                    return Err(interrupted_error(session.as_deref()));
                }
                stopping = session.clone().map(|session| start_abort(session, client));
                continue;
            }
            stopped = wait_for_abort(&mut stopping) => {
                stopping = None;
                stopped?;
                continue;
            }
        };
        let event = match output {
            None => break,
            Some(PrompterOutput::Lines(lines)) => {
                shown.print_lines(&lines)?;
                continue;
            }
            Some(PrompterOutput::Event(event)) => event,
        };
        let Some(read) = TurnEvent::parse(&event)? else {
            shown.handle_unknown(&event)?;
            continue;
        };
        match &read {
            TurnEvent::Started(started) => {
                let before = session.replace(started.session_id.clone());
                agent.clone_from(&started.agent);
                // The user interrupted before the session was known.
                if stop_requested && before.is_none() {
                    stopping = Some(start_abort(started.session_id.clone(), client));
                }
            }
            TurnEvent::Done(_) => ended = Some(TurnResult::Done),
            TurnEvent::Aborted(_) => ended = Some(TurnResult::Aborted),
            TurnEvent::Failed(failed) => ended = Some(TurnResult::Failed(failure_error(failed))),
            _ => {}
        }
        shown.handle_event(read, &event)?;
    }
    let typed = asking.release_stdin();
    let ended = ended.ok_or_else(|| connection_lost_error(session.as_deref()))?;
    Ok(FinishedTurn { result: ended, session, agent, stdin_lines: typed })
}

/// Waits for a stop signal. Ignores reload signals, because there is nothing to reload.
pub(super) async fn wait_for_stop(signals: &mut SignalListener) {
    while signals.next_signal().await != ProcessSignal::Stop {}
}

fn start_abort(session: String, client: &GatewayClient) -> AbortFuture<'_> {
    Box::pin(async move {
        client.send_empty(Method::POST, &["api", "sessions", &session, "abort"]).await.map(drop)
    })
}

async fn wait_for_abort(stopping: &mut Option<AbortFuture<'_>>) -> CliResult {
    match stopping {
        Some(stopping) => stopping.await,
        None => pending().await,
    }
}

fn interrupted_error(session: Option<&str>) -> CliError {
    CliError::new("interrupted; the turn may still run in the gateway")
        .with_code("interrupted")
        .with_optional_hint(session.map(resume_hint))
}

fn connection_lost_error(session: Option<&str>) -> CliError {
    CliError::new("the gateway closed the stream before the turn ended")
        .with_code("connection_lost")
        .with_optional_hint(session.map(resume_hint))
}

fn resume_hint(session: &str) -> String {
    format!("continue the conversation with `toolway chat --session {session}`")
}
