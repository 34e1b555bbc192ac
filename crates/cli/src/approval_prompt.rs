//! Asks the person at the terminal to answer pending approvals. Approvals arrive as events; typed lines answer them.
//! All output goes to standard error, because standard output is for data.

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

/// True if a person can answer: standard input and standard error are a terminal, and the output is not JSON.
pub(crate) fn is_available(context: &CliContext) -> bool {
    !context.printer.json && context.environment.stdin_is_terminal && context.printer.stderr().is_terminal
}

/// Shows pending approvals and posts the answers.
pub(crate) struct ApprovalPrompter<'a> {
    client: &'a GatewayClient,
    context: &'a CliContext,
    queue: ApprovalQueue,
    stdin_lines: StdinLines,
    /// An answer that was typed but not sent yet.
    unsent_answer: Option<(PendingApproval, AnswerApprovalRequest)>,
}

impl<'a> ApprovalPrompter<'a> {
    /// Creates a prompter for this gateway. `labels` maps ids of principals to their labels.
    pub(crate) fn new(
        client: &'a GatewayClient,
        labels: HashMap<String, String>,
        context: &'a CliContext,
    ) -> Self {
        let queue = ApprovalQueue::new(client.is_owner(), labels, context.printer.stderr().colour);
        Self { client, context, queue, stdin_lines: StdinLines::stdin(), unsent_answer: None }
    }

    /// Returns the next event that is not an approval, or `None` at the end of the stream. Shows and answers approvals
    /// until then.
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

    /// Returns the next event that is not an approval, or lines to print about one; `None` at the end of the stream.
    /// Cancel safe: dropping the future loses no event and no answer.
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
            // Lines typed from here on are for the shell or another reader.
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

    /// Stops reading standard input. Returns the reader if the system cannot cancel a read that has started: the next
    /// typed line then arrives there. See [`StdinLines::stop_reading`].
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

/// Output of [`ApprovalPrompter::next_output`].
#[derive(Debug)]
pub(crate) enum PrompterOutput {
    /// An event that is not an approval.
    Event(GatewayEvent),
    /// Lines to print, escaped.
    Lines(Vec<String>),
}

/// Posts the answer to an approval.
pub(crate) async fn post_answer(
    client: &GatewayClient,
    id: &str,
    answer: &AnswerApprovalRequest,
) -> CliResult {
    client.send(Method::POST, &["api", "approvals", id], answer).await.map(drop)
}
