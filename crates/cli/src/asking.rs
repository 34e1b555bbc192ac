//! Asking the person at the terminal: questions that calls wait with come as events, and what is typed answers
//! them. Everything that is said goes to standard error; standard output is for data.

mod desk;
mod offer;
pub(crate) mod question;
mod typed;

use std::collections::HashMap;

use reqwest::Method;

use crate::client::{Client, Event, Events, read};
use crate::context::Context;
use crate::report::Done;
use desk::{Desk, Turn};
use question::Answer;
use typed::Typed;

/// Whether there is a person who can be asked: somebody reads what is said, and types.
pub(crate) fn possible(context: &Context) -> bool {
    !context.printer.json && context.environment.stdin_is_terminal && context.printer.stderr().is_terminal
}

/// Asks, and posts the answers.
pub(crate) struct Asking<'a> {
    client: &'a Client,
    context: &'a Context,
    desk: Desk,
    typed: Typed,
}

impl<'a> Asking<'a> {
    /// Questions of this gateway. `labels` are the names for people of those who call.
    pub(crate) fn new(client: &'a Client, labels: HashMap<String, String>, context: &'a Context) -> Self {
        let desk = Desk::new(client.is_owner(), labels, context.printer.stderr().colour);
        Self { client, context, desk, typed: Typed::stdin() }
    }

    /// The next event that is no question; none where the gateway ends them. Until then questions are shown
    /// and answered.
    pub(crate) async fn next(&mut self, events: &mut Events) -> Done<Option<Event>> {
        loop {
            let turn = tokio::select! {
                event = events.next() => match event? {
                    None => return Ok(None),
                    Some(event) => match event.kind.as_str() {
                        "asked" => self.desk.asked(read(&event.data)?, self.context.now_ms()),
                        "over" => self.desk.over(&read(&event.data)?, self.context.now_ms()),
                        _ => return Ok(Some(event)),
                    },
                },
                line = self.typed.next(), if self.desk.is_asking() => match line {
                    Some(line) => self.desk.typed(&line, self.context.now_ms()),
                    None => self.desk.input_ended(),
                },
            };
            self.take(turn).await;
        }
    }

    /// Says what is to be said, and posts what is to be answered.
    async fn take(&mut self, turn: Turn) {
        self.say(&turn.say);
        let Some((question, answer)) = turn.answer else { return };
        let turn = match post(self.client, &question.id, &answer).await {
            Ok(()) => self.desk.taken(&question, &answer, self.context.now_ms()),
            Err(failure) => self.desk.refused(question, &failure, self.context.now_ms()),
        };
        self.say(&turn.say);
    }

    fn say(&self, lines: &[String]) {
        for line in lines {
            self.context.printer.say(line);
        }
    }
}

/// Answers a question.
pub(crate) async fn post(client: &Client, id: &str, answer: &Answer) -> Done {
    client.send(Method::POST, &["api", "approvals", id], answer).await.map(drop)
}
