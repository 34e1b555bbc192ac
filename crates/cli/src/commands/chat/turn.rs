//! One turn: asked for, followed to its end, stopped where somebody wants that. Where it is shown is the caller's
//! affair; it goes on in the gateway where this program goes.

use std::collections::HashMap;
use std::future::pending;
use std::pin::Pin;

use reqwest::Method;
use serde::Serialize;

use super::attach::Attachment;
use super::event::TurnEvent;
use crate::asking::{Asking, Heard, Typed};
use crate::client::{Client, Event};
use crate::context::Context;
use crate::report::{Done, Failure};
use crate::signals::{Signal, Signals};

/// What is said.
#[derive(Debug, Default, Serialize)]
pub(super) struct Message<'a> {
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) session_id: Option<&'a str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) agent: Option<&'a str>,
    #[serde(skip_serializing_if = "String::is_empty")]
    pub(super) content: String,
    #[serde(skip_serializing_if = "<[_]>::is_empty")]
    pub(super) attachments: Vec<Attachment>,
    /// Instead of saying something: answer the last message again.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub(super) regenerate: bool,
    /// Whether somebody is there who can be asked what a call needs a person for.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub(super) ask: bool,
}

/// Where a turn is shown.
pub(super) trait Shown {
    /// Something happened; `raw` is how the gateway said it.
    fn take(&mut self, event: TurnEvent, raw: &Event) -> Done;
    /// Something that this program does not know happened.
    fn unknown(&mut self, raw: &Event) -> Done;
    /// Lines for the person, escaped.
    fn say(&mut self, lines: &[String]) -> Done;
}

/// How a turn ended.
#[derive(Debug)]
pub(super) enum Ended {
    Done,
    Aborted,
    Failed(Failure),
}

/// What is left of a turn.
#[derive(Debug)]
pub(super) struct Outcome {
    pub(super) ended: Ended,
    /// The session and the agent, where the gateway said them.
    pub(super) session: Option<String>,
    pub(super) agent: Option<String>,
    /// Somebody who still reads the keyboard.
    pub(super) typed: Option<Typed>,
}

type Stopping<'a> = Pin<Box<dyn Future<Output = Done> + 'a>>;

/// Follows a turn to its end. Ctrl-C stops it; a second one leaves it, as a failure.
pub(super) async fn run(
    message: &Message<'_>,
    client: &Client,
    signals: &mut Signals,
    shown: &mut dyn Shown,
    context: &Context,
) -> Done<Outcome> {
    let mut events = tokio::select! {
        events = client.post_for_events(&["api", "chat"], message) => events?,
        () = stop(signals) => return Err(left(message.session_id)),
    };
    let mut asking = Asking::new(client, HashMap::new(), context);
    let mut session = message.session_id.map(str::to_owned);
    let (mut agent, mut ended) = (None, None);
    let mut stopping: Option<Stopping<'_>> = None;
    let mut is_told = false;
    while ended.is_none() {
        let heard = tokio::select! {
            heard = asking.step(&mut events) => heard?,
            () = stop(signals) => {
                if std::mem::replace(&mut is_told, true) {
                    return Err(left(session.as_deref()));
                }
                stopping = session.clone().map(|session| abort(session, client));
                continue;
            }
            stopped = finished(&mut stopping) => {
                stopping = None;
                stopped?;
                continue;
            }
        };
        let event = match heard {
            None => break,
            Some(Heard::Say(lines)) => {
                shown.say(&lines)?;
                continue;
            }
            Some(Heard::Event(event)) => event,
        };
        let Some(read) = TurnEvent::read(&event)? else {
            shown.unknown(&event)?;
            continue;
        };
        match &read {
            TurnEvent::Started(started) => {
                let before = session.replace(started.session_id.clone());
                agent.clone_from(&started.agent);
                // It was to be stopped before it was known what.
                if is_told && before.is_none() {
                    stopping = Some(abort(started.session_id.clone(), client));
                }
            }
            TurnEvent::Done(_) => ended = Some(Ended::Done),
            TurnEvent::Aborted(_) => ended = Some(Ended::Aborted),
            TurnEvent::Failed(failed) => ended = Some(Ended::Failed(failed.failure())),
            _ => {}
        }
        shown.take(read, &event)?;
    }
    let typed = asking.leave();
    let ended = ended.ok_or_else(|| cut_off(session.as_deref()))?;
    Ok(Outcome { ended, session, agent, typed })
}

/// Waits until somebody wants to stop. That files are to be read again means nothing here.
pub(super) async fn stop(signals: &mut Signals) {
    while signals.next().await != Signal::Stop {}
}

fn abort(session: String, client: &Client) -> Stopping<'_> {
    Box::pin(async move { client.ask(Method::POST, &["api", "sessions", &session, "abort"]).await.map(drop) })
}

async fn finished(stopping: &mut Option<Stopping<'_>>) -> Done {
    match stopping {
        Some(stopping) => stopping.await,
        None => pending().await,
    }
}

fn left(session: Option<&str>) -> Failure {
    Failure::new("left before the turn was over; it may go on in the gateway")
        .code("interrupted")
        .maybe_hint(session.map(goes_on))
}

fn cut_off(session: Option<&str>) -> Failure {
    Failure::new("the gateway ended the answer before the turn was over")
        .code("connection_lost")
        .maybe_hint(session.map(goes_on))
}

fn goes_on(session: &str) -> String {
    format!("what was said is kept: `toolway chat --session {session}` goes on with it")
}
