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
use desk::Desk;
use question::{Answer, Question};
pub(crate) use typed::Typed;

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
    /// An answer that was typed and not sent yet.
    given: Option<(Question, Answer)>,
}

impl<'a> Asking<'a> {
    /// Questions of this gateway. `labels` are the names for people of those who call.
    pub(crate) fn new(client: &'a Client, labels: HashMap<String, String>, context: &'a Context) -> Self {
        let desk = Desk::new(client.is_owner(), labels, context.printer.stderr().colour);
        Self { client, context, desk, typed: Typed::stdin(), given: None }
    }

    /// The next event that is no question; none where the gateway ends them. Until then questions are shown
    /// and answered.
    pub(crate) async fn next(&mut self, events: &mut Events) -> Done<Option<Event>> {
        loop {
            match self.step(events).await? {
                None => return Ok(None),
                Some(Heard::Event(event)) => return Ok(Some(event)),
                Some(Heard::Say(lines)) => self.say(&lines),
            }
        }
    }

    /// The next event that is no question, or what is to be said about one; none where the gateway ends the events.
    /// Nothing is lost where this is given up and asked again.
    pub(crate) async fn step(&mut self, events: &mut Events) -> Done<Option<Heard>> {
        if let Some((question, answer)) = self.given.clone() {
            let posted = post(self.client, &question.id, &answer).await;
            self.given = None;
            let turn = match posted {
                Ok(()) => self.desk.taken(&question, &answer, self.context.now_ms()),
                Err(failure) => self.desk.refused(question, &failure, self.context.now_ms()),
            };
            return Ok(Some(Heard::Say(turn.say)));
        }
        if !self.desk.is_asking() {
            // What is typed from here on is not for us.
            self.typed.leave();
        }
        let turn = tokio::select! {
            event = events.next() => match event? {
                None => return Ok(None),
                Some(event) => match event.kind.as_str() {
                    "asked" => self.desk.asked(read(&event.data)?, self.context.now_ms()),
                    "over" => self.desk.over(&read(&event.data)?, self.context.now_ms()),
                    _ => return Ok(Some(Heard::Event(event))),
                },
            },
            line = self.typed.next(), if self.desk.is_asking() => match line {
                Some(line) => self.desk.typed(&line, self.context.now_ms()),
                None => self.desk.input_ended(),
            },
        };
        self.given = turn.answer;
        Ok(Some(Heard::Say(turn.say)))
    }

    /// Lets go of the keyboard. What is left is a line that somebody types here and now where the system has no way
    /// to give up reading; see [`Typed::leave`].
    pub(crate) fn leave(mut self) -> Option<Typed> {
        self.typed.leave();
        self.typed.is_reading().then_some(self.typed)
    }

    fn say(&self, lines: &[String]) {
        for line in lines {
            self.context.printer.say(line);
        }
    }
}

/// What whoever asks hears.
#[derive(Debug)]
pub(crate) enum Heard {
    /// An event that is no question.
    Event(Event),
    /// Lines for the person, escaped.
    Say(Vec<String>),
}

/// Answers a question.
pub(crate) async fn post(client: &Client, id: &str, answer: &Answer) -> Done {
    client.send(Method::POST, &["api", "approvals", id], answer).await.map(drop)
}
