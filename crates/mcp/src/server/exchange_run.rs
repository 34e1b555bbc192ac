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

/// Time limit for the remaining messages after the work has ended.
const FLUSH_TIMEOUT: Duration = Duration::from_secs(1);

/// The reply to a request.
pub(crate) enum ExchangeReply {
    /// The result.
    Done(ExchangeResult),
    /// Questions to the client.
    InputRequired(InputRequiredResult),
    /// The work continues after the time limit.
    StillRunning(Box<ClientExchange>),
}

impl ClientExchange {
    /// Runs the request until it ends or the client must answer a question. If the client cancels the request or
    /// loses access, the work is cancelled, and its result is the reply. With a `timeout`, the work is returned when
    /// the time is over or a question comes up before.
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
            // The call of a disconnected client is cancelled elsewhere.
            let _ = peer.notify_progress(said).await;
        }))
    }

    fn progress_param(
        &mut self,
        progress: ProgressReport,
        token: ProgressToken,
    ) -> ProgressNotificationParam {
        // MCP requires a rising value in each report (Utilities, "Progress"), but a device that asks a person repeats
        // its last value.
        let far = progress.progress;
        self.last_progress = if far > self.last_progress { far } else { self.last_progress.next_up() };
        let mut said = ProgressNotificationParam::new(token, self.last_progress);
        said.total = progress.total;
        said.message = progress.message;
        said
    }

    /// Sends the remaining messages before the response, as fast as the client reads.
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
                        // Later messages are not lost: they follow the response.
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
                    // The work that asked has ended.
                    ClientMessage::InputRequests(_) | ClientMessage::Consent(_) => {}
                }
            }
        };
        let _ = tokio::time::timeout(FLUSH_TIMEOUT, rest).await;
    }
}
