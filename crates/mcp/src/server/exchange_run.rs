//! The run of a request: its work, and meanwhile the messages to its client.
//!
//! A client of 2026-07-28 gets questions as the response to its request. The work then waits
//! ([`super::pending_requests`]) until the client sends the request again with the answers. A client of an older
//! version gets each question as a request of the server.

use std::sync::Arc;
use std::time::Duration;

use rmcp::ErrorData;
use rmcp::model::{
    InputRequiredResult, LoggingMessageNotificationParam, ProgressNotificationParam, ProgressToken,
};
use tokio::time::{Instant, sleep_until};
use toolway_core::ProgressReport;

use super::client::{ClientMessage, LOG_METHOD, QueuedInputRequests};
use super::client_handle::ClientHandle;
use super::client_requests::{ClientSendFuture, ask_client, send_message};
use super::consent;
use super::exchange::ClientExchange;
use super::outgoing;
use super::pending_requests::{PendingAnswer, PendingRequests};
use crate::client_link::InputRequestError;

/// The method of a progress report.
const PROGRESS_METHOD: &str = "notifications/progress";
/// Time limit for the remaining messages after the work has ended.
const FLUSH_TIMEOUT: Duration = Duration::from_secs(1);

fn send_log(log: &LoggingMessageNotificationParam, client: &ClientHandle) -> Option<ClientSendFuture> {
    Some(send_message(client.logs.as_ref()?, outgoing::notification(LOG_METHOD, log)))
}

/// The reply to a request.
pub(crate) enum ExchangeReply {
    /// The result, as a JSON object: that of the work, or questions to the client.
    Done(String),
    /// The work continues after the time limit.
    StillRunning(Box<ClientExchange>),
}

impl ClientExchange {
    /// Runs the request until it ends or the client must answer a question. If the client cancels the request or
    /// loses access, the work is cancelled, and its result is the reply. With a `timeout`, the work is returned when
    /// the time is over or a question comes up before.
    pub(crate) async fn run(
        mut self,
        client: &ClientHandle,
        pending_requests: &Arc<PendingRequests>,
        timeout: Option<Duration>,
    ) -> Result<ExchangeReply, ErrorData> {
        let deadline = timeout.map(|timeout| Instant::now() + timeout);
        let mut sending: Option<ClientSendFuture> = None;
        loop {
            let is_cancelled = self.cancel.is_cancelled();
            let next = if deadline.is_none() && sending.is_none() { self.next_message.take() } else { None };
            let message = tokio::select! {
                biased;
                done = &mut self.work => {
                    self.flush_messages(sending, client).await;
                    return Ok(ExchangeReply::Done(done?));
                }
                () = async { if let Some(sending) = &mut sending { sending.await } }, if sending.is_some() => {
                    sending = None;
                    continue;
                }
                () = client.cancelled(), if !is_cancelled => {
                    self.cancel.cancel();
                    continue;
                }
                () = self.scope.revoked.cancelled(), if !is_cancelled => {
                    self.cancel.cancel();
                    continue;
                }
                () = sleep_until(deadline.unwrap_or_else(Instant::now)), if deadline.is_some() && !is_cancelled => {
                    return Ok(ExchangeReply::StillRunning(Box::new(self)));
                }
                Some(message) = async {
                    match next {
                        Some(message) => Some(message),
                        None => self.messages.recv().await,
                    }
                }, if sending.is_none() => message,
            };
            if deadline.is_some()
                && matches!(message, ClientMessage::InputRequests(_) | ClientMessage::Consent(_))
            {
                self.next_message = Some(message);
                return Ok(ExchangeReply::StillRunning(Box::new(self)));
            }
            let (requests, pending) = match message {
                ClientMessage::Progress(progress) => {
                    if deadline.is_some() && progress.message.is_some() {
                        self.last_message.clone_from(&progress.message);
                    }
                    sending = self.send_progress(*progress, client);
                    continue;
                }
                ClientMessage::Log(log) => {
                    sending = send_log(&log, client);
                    continue;
                }
                ClientMessage::InputRequests(queued) => {
                    let QueuedInputRequests { requests, answers } = *queued;
                    (requests, PendingAnswer::Answers(answers))
                }
                ClientMessage::Consent(question) => match consent::elicitation_form(&question) {
                    Some(requests) => (requests, PendingAnswer::Consent(self.consent_request(question))),
                    None => continue,
                },
            };
            if !self.client.profile().is_modern() {
                let (sink, open) = (client.messages.clone(), client.server_requests.clone());
                sending = sink.zip(open).map(|(sink, server_requests)| {
                    ask_client(sink, server_requests, requests, pending, self.scope.clone())
                });
                continue;
            }
            match pending_requests.suspend(self, pending) {
                Ok(state) => {
                    let result = InputRequiredResult::new(Some(requests), Some(state));
                    return Ok(ExchangeReply::Done(outgoing::to_json(&result)));
                }
                Err(back) => {
                    let (exchange, pending) = *back;
                    pending.submit(&exchange.scope, Err(InputRequestError::TooMany));
                    self = exchange;
                }
            }
        }
    }

    fn send_progress(&mut self, progress: ProgressReport, client: &ClientHandle) -> Option<ClientSendFuture> {
        let message = self.progress_param(progress, client.progress_token.clone()?);
        Some(send_message(client.messages.as_ref()?, outgoing::notification(PROGRESS_METHOD, &message)))
    }

    fn progress_param(
        &mut self,
        progress: ProgressReport,
        token: ProgressToken,
    ) -> ProgressNotificationParam {
        // MCP requires a rising value in each report (Utilities, "Progress"), but a device that asks a person repeats
        // its last value.
        let reported = progress.progress;
        self.last_progress =
            if reported > self.last_progress { reported } else { self.last_progress.next_up() };
        let mut message = ProgressNotificationParam::new(token, self.last_progress);
        message.total = progress.total;
        message.message = progress.message;
        message
    }

    /// Sends the remaining messages before the response, as fast as the client reads.
    async fn flush_messages(&mut self, sending: Option<ClientSendFuture>, client: &ClientHandle) {
        if client.messages.is_none() {
            return;
        }
        let rest = async {
            if let Some(sending) = sending {
                sending.await;
            }
            loop {
                let message = match self.messages.try_recv() {
                    Ok(message) => message,
                    Err(_) if self.messages.is_closed() => return,
                    Err(_) => {
                        // Later messages are not lost: they follow the response.
                        self.messages.close();
                        continue;
                    }
                };
                match message {
                    ClientMessage::Progress(progress) => {
                        if let Some(sending) = self.send_progress(*progress, client) {
                            sending.await;
                        }
                    }
                    ClientMessage::Log(log) => {
                        if let Some(sending) = send_log(&log, client) {
                            sending.await;
                        }
                    }
                    // The work that asked has ended.
                    ClientMessage::InputRequests(_) | ClientMessage::Consent(_) => {}
                }
            }
        };
        let _ = tokio::time::timeout(FLUSH_TIMEOUT, rest).await;
    }
}
