//! One turn: asked for, followed to its end, stopped where somebody wants that. Where it is shown is the caller's
//! affair; it goes on in the gateway where this program goes.

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

/// Where a turn is shown.
pub(super) trait TurnOutput {
    /// Something happened; `raw` is how the gateway said it.
    fn handle_event(&mut self, event: TurnEvent, raw: &GatewayEvent) -> CliResult;
    /// Something that this program does not know happened.
    fn handle_unknown(&mut self, raw: &GatewayEvent) -> CliResult;
    /// Lines for the person, escaped.
    fn print_lines(&mut self, lines: &[String]) -> CliResult;
}

/// How a turn ended.
#[derive(Debug)]
pub(super) enum TurnResult {
    Done,
    Aborted,
    Failed(CliError),
}

/// What is left of a turn.
#[derive(Debug)]
pub(super) struct FinishedTurn {
    pub(super) result: TurnResult,
    /// The session and the agent, where the gateway said them.
    pub(super) session: Option<String>,
    pub(super) agent: Option<String>,
    /// Somebody who still reads the keyboard.
    pub(super) stdin_lines: Option<StdinLines>,
}

type AbortFuture<'a> = Pin<Box<dyn Future<Output = CliResult> + 'a>>;

/// Follows a turn to its end. Ctrl-C stops it; a second one leaves it, as a failure.
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
    let mut is_told = false;
    while ended.is_none() {
        let heard = tokio::select! {
            heard = asking.next_output(&mut events) => heard?,
            () = wait_for_stop(signals) => {
                if std::mem::replace(&mut is_told, true) {
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
        let event = match heard {
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
                // It was to be stopped before it was known what.
                if is_told && before.is_none() {
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

/// Waits until somebody wants to stop. That files are to be read again means nothing here.
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
    CliError::new("left before the turn was over; it may go on in the gateway")
        .with_code("interrupted")
        .with_optional_hint(session.map(resume_hint))
}

fn connection_lost_error(session: Option<&str>) -> CliError {
    CliError::new("the gateway ended the answer before the turn was over")
        .with_code("connection_lost")
        .with_optional_hint(session.map(resume_hint))
}

fn resume_hint(session: &str) -> String {
    format!("what was said is kept: `toolway chat --session {session}` goes on with it")
}
