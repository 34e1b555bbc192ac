//! Asking the person at the terminal: questions that calls wait with come as events, and what is typed answers
//! them. Everything that is said goes to standard error; standard output is for data.

mod answer_option;
pub(crate) mod approval;
mod approval_queue;
mod stdin_lines;

use std::collections::HashMap;

use reqwest::Method;
use toolway_api::approvals::{AnswerApprovalRequest, PendingApproval};
use toolway_api::event_stream::{APPROVAL_REQUESTED, APPROVAL_RESOLVED};

use crate::client::{GatewayClient, GatewayEvent, GatewayEventStream, parse_response};
use crate::context::CliContext;
use crate::error::CliResult;
use approval_queue::ApprovalQueue;
pub(crate) use stdin_lines::StdinLines;

/// Whether there is a person who can be asked: somebody reads what is said, and types.
pub(crate) fn is_available(context: &CliContext) -> bool {
    !context.printer.json && context.environment.stdin_is_terminal && context.printer.stderr().is_terminal
}

/// Asks, and posts the answers.
pub(crate) struct ApprovalPrompter<'a> {
    client: &'a GatewayClient,
    context: &'a CliContext,
    queue: ApprovalQueue,
    stdin_lines: StdinLines,
    /// An answer that was typed and not sent yet.
    unsent_answer: Option<(PendingApproval, AnswerApprovalRequest)>,
}

impl<'a> ApprovalPrompter<'a> {
    /// Questions of this gateway. `labels` are the names for people of those who call.
    pub(crate) fn new(
        client: &'a GatewayClient,
        labels: HashMap<String, String>,
        context: &'a CliContext,
    ) -> Self {
        let desk = ApprovalQueue::new(client.is_owner(), labels, context.printer.stderr().colour);
        Self { client, context, queue: desk, stdin_lines: StdinLines::stdin(), unsent_answer: None }
    }

    /// The next event that is no question; none where the gateway ends them. Until then questions are shown
    /// and answered.
    pub(crate) async fn next_event(
        &mut self,
        events: &mut GatewayEventStream,
    ) -> CliResult<Option<GatewayEvent>> {
        loop {
            match self.next_output(events).await? {
                None => return Ok(None),
                Some(PrompterOutput::Event(event)) => return Ok(Some(event)),
                Some(PrompterOutput::Lines(lines)) => self.print_lines(&lines),
            }
        }
    }

    /// The next event that is no question, or what is to be said about one; none where the gateway ends the events.
    /// Nothing is lost where this is given up and asked again.
    pub(crate) async fn next_output(
        &mut self,
        events: &mut GatewayEventStream,
    ) -> CliResult<Option<PrompterOutput>> {
        if let Some((question, answer)) = self.unsent_answer.clone() {
            let posted = post_answer(self.client, &question.id, &answer).await;
            self.unsent_answer = None;
            let turn = match posted {
                Ok(()) => self.queue.handle_accepted(&question, &answer, self.context.now_ms()),
                Err(failure) => self.queue.handle_rejected(question, &failure, self.context.now_ms()),
            };
            return Ok(Some(PrompterOutput::Lines(turn.lines)));
        }
        if !self.queue.is_asking() {
            // What is typed from here on is not for us.
            self.stdin_lines.stop_reading();
        }
        let turn = tokio::select! {
            event = events.next_event() => match event? {
                None => return Ok(None),
                Some(event) => match event.kind.as_str() {
                    APPROVAL_REQUESTED => self.queue.add_approval(parse_response(&event.data)?, self.context.now_ms()),
                    APPROVAL_RESOLVED => self.queue.close_approval(&parse_response(&event.data)?, self.context.now_ms()),
                    _ => return Ok(Some(PrompterOutput::Event(event))),
                },
            },
            line = self.stdin_lines.next_line(), if self.queue.is_asking() => match line {
                Some(line) => self.queue.handle_line(&line, self.context.now_ms()),
                None => self.queue.handle_input_end(),
            },
        };
        self.unsent_answer = turn.answer;
        Ok(Some(PrompterOutput::Lines(turn.lines)))
    }

    /// Lets go of the keyboard. What is left is a line that somebody types here and now where the system has no way
    /// to give up reading; see [`Typed::leave`].
    pub(crate) fn release_stdin(mut self) -> Option<StdinLines> {
        self.stdin_lines.stop_reading();
        self.stdin_lines.is_reading().then_some(self.stdin_lines)
    }

    fn print_lines(&self, lines: &[String]) {
        for line in lines {
            self.context.printer.interactive_line(line);
        }
    }
}

/// What whoever asks hears.
#[derive(Debug)]
pub(crate) enum PrompterOutput {
    /// An event that is no question.
    Event(GatewayEvent),
    /// Lines for the person, escaped.
    Lines(Vec<String>),
}

/// Answers a question.
pub(crate) async fn post_answer(
    client: &GatewayClient,
    id: &str,
    answer: &AnswerApprovalRequest,
) -> CliResult {
    client.send(Method::POST, &["api", "approvals", id], answer).await.map(drop)
}
