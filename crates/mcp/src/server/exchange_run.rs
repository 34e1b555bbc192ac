//! The run of a request: its work, and meanwhile the messages to its client.
//!
//! A client of 2026-07-28 gets questions as the response to its request. The work then waits
//! ([`super::pending_requests`]) until the client sends the request again with the answers. A client of an older
//! version gets each question as a request of the server.

use std::sync::Arc;
use std::time::Duration;

use rmcp::ErrorData;
use rmcp::model::{InputRequiredResult, ProgressNotificationParam, ProgressToken};
use tokio::time::{Instant, sleep_until};
use toolway_core::ProgressReport;

use super::client::{ClientMessage, QueuedInputRequests};
use super::client_handle::ClientHandle;
use super::client_requests::{ClientSendFuture, ask_client, forward_log};
use super::consent;
use super::exchange::{ClientExchange, ExchangeResult};
use super::pending_requests::{PendingAnswer, PendingRequests};
use super::tool_result::is_modern;
use crate::client_link::InputRequestError;

/// How long what is still to be told may take once the work is done.
const FLUSH_TIMEOUT: Duration = Duration::from_secs(1);

/// How a request is answered.
pub(crate) enum ExchangeReply {
    /// With what it ends in.
    Done(ExchangeResult),
    /// With questions.
    InputRequired(InputRequiredResult),
    /// Not in time: the work goes on.
    StillRunning(Box<ClientExchange>),
}

impl ClientExchange {
    /// Until it is done, or its client has to be asked. Once the client cancels the request or may not come in any
    /// more, the work is cancelled, and what that ends in is the answer. After `timeout`, where there is one, and where
    /// its client has to be asked before that, the work is given back.
    pub(crate) async fn run(
        mut self,
        reach: &ClientHandle<'_>,
        parking: &Arc<PendingRequests>,
        timeout: Option<Duration>,
    ) -> Result<ExchangeReply, ErrorData> {
        let late = timeout.map(|timeout| Instant::now() + timeout);
        let mut talk: Option<ClientSendFuture> = None;
        loop {
            let is_cancelled = self.cancel.is_cancelled();
            let unsaid = if late.is_none() && talk.is_none() { self.next_message.take() } else { None };
            let said = tokio::select! {
                biased;
                done = &mut self.work => {
                    self.flush_messages(talk, reach).await;
                    return Ok(ExchangeReply::Done(done?));
                }
                () = async { if let Some(talk) = &mut talk { talk.await } }, if talk.is_some() => {
                    talk = None;
                    continue;
                }
                () = reach.cancelled(), if !is_cancelled => {
                    self.cancel.cancel();
                    continue;
                }
                () = self.scope.revoked.cancelled(), if !is_cancelled => {
                    self.cancel.cancel();
                    continue;
                }
                () = sleep_until(late.unwrap_or_else(Instant::now)), if late.is_some() && !is_cancelled => {
                    return Ok(ExchangeReply::StillRunning(Box::new(self)));
                }
                Some(said) = async {
                    match unsaid {
                        Some(said) => Some(said),
                        None => self.messages.recv().await,
                    }
                }, if talk.is_none() => said,
            };
            if late.is_some() && matches!(said, ClientMessage::InputRequests(_) | ClientMessage::Consent(_)) {
                self.next_message = Some(said);
                return Ok(ExchangeReply::StillRunning(Box::new(self)));
            }
            let (requests, pending) = match said {
                ClientMessage::Progress(progress) => {
                    talk = self.send_progress(*progress, reach);
                    continue;
                }
                ClientMessage::Log(message) => {
                    talk = reach.peer.map(|peer| forward_log(peer.clone(), *message));
                    continue;
                }
                ClientMessage::InputRequests(asked) => {
                    let QueuedInputRequests { requests, answers } = *asked;
                    (requests, PendingAnswer::Answers(answers))
                }
                ClientMessage::Consent(question) => match consent::elicitation_form(&question) {
                    Some(requests) => (requests, PendingAnswer::Consent(self.consent_request(question))),
                    None => continue,
                },
            };
            if !is_modern(&self.client.profile().version) {
                talk = reach.peer.map(|peer| ask_client(peer.clone(), requests, pending, self.scope.clone()));
                continue;
            }
            match parking.suspend(self, pending) {
                Ok(state) => {
                    return Ok(ExchangeReply::InputRequired(InputRequiredResult::new(
                        Some(requests),
                        Some(state),
                    )));
                }
                Err(back) => {
                    let (exchange, pending) = *back;
                    pending.submit(&exchange.scope, Err(InputRequestError::TooMany));
                    self = exchange;
                }
            }
        }
    }

    fn send_progress(
        &mut self,
        progress: ProgressReport,
        reach: &ClientHandle<'_>,
    ) -> Option<ClientSendFuture> {
        let said = self.progress_param(progress, reach.progress_token.clone()?);
        let peer = reach.peer?.clone();
        Some(Box::pin(async move {
            // A client that has gone has its call cancelled.
            let _ = peer.notify_progress(said).await;
        }))
    }

    fn progress_param(
        &mut self,
        progress: ProgressReport,
        token: ProgressToken,
    ) -> ProgressNotificationParam {
        // MCP requires a rising value in each report (Utilities, "Progress"); what a device says of a person that is asked does not.
        let far = progress.progress;
        self.last_progress = if far > self.last_progress { far } else { self.last_progress.next_up() };
        let mut said = ProgressNotificationParam::new(token, self.last_progress);
        said.total = progress.total;
        said.message = progress.message;
        said
    }

    /// What was reported before the end reaches the client before the answer, as far as it reads.
    async fn flush_messages(&mut self, talk: Option<ClientSendFuture>, reach: &ClientHandle<'_>) {
        let Some(peer) = reach.peer else { return };
        let rest = async {
            if let Some(talk) = talk {
                talk.await;
            }
            loop {
                let said = match self.messages.try_recv() {
                    Ok(said) => said,
                    Err(_) if self.messages.is_closed() => return,
                    Err(_) => {
                        // What comes from here on is not lost: it comes after the answer.
                        self.messages.close();
                        continue;
                    }
                };
                match said {
                    ClientMessage::Progress(progress) => {
                        if let Some(talk) = self.send_progress(*progress, reach) {
                            talk.await;
                        }
                    }
                    ClientMessage::Log(message) => {
                        let _ = peer.notify_logging_message(*message).await;
                    }
                    // Their work has ended.
                    ClientMessage::InputRequests(_) | ClientMessage::Consent(_) => {}
                }
            }
        };
        let _ = tokio::time::timeout(FLUSH_TIMEOUT, rest).await;
    }
}
