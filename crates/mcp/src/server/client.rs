//! The client of one request, as tools see it. Questions and reports go through a queue to the task that talks to the
//! client.

use std::sync::{Arc, OnceLock};
use std::time::Duration;

use async_trait::async_trait;
use parking_lot::Mutex;
use rmcp::model::{
    ClientCapabilities, InputRequest, InputRequests, InputResponses, LoggingLevel,
    LoggingMessageNotificationParam, ProtocolVersion, RequestMetaObject,
};
use tokio::sync::mpsc::error::TrySendError;
use tokio::sync::{mpsc, oneshot};
use toolway_core::ProgressReport;
use toolway_core::consent::Question;
use toolway_types::PrincipalId;

use super::message_sink::MessageSink;
use super::outgoing;
use super::protocol::is_modern;
use crate::client_link::{InputRequestError, RequestingClient};

/// The method of a log message.
pub(crate) const LOG_METHOD: &str = "notifications/message";
/// Capacity of the queue to the client. Reports beyond it are dropped.
const QUEUE_CAPACITY: usize = 64;

/// A message to the client while its request runs. Small, because each queue reserves memory for many.
pub(crate) enum ClientMessage {
    /// A progress report.
    Progress(Box<ProgressReport>),
    /// A log message.
    Log(Box<LoggingMessageNotificationParam>),
    /// Requests of the tool to the client.
    InputRequests(Box<QueuedInputRequests>),
    /// A question of the gateway: may the call run?
    Consent(Arc<Question>),
}

/// Requests to the client, and the sender for its answers.
pub(crate) struct QueuedInputRequests {
    pub(crate) requests: InputRequests,
    pub(crate) answers: oneshot::Sender<Result<InputResponses, InputRequestError>>,
}

/// The properties of the client for one request.
pub(crate) struct ClientProfile {
    pub(crate) principal: PrincipalId,
    pub(crate) capabilities: ClientCapabilities,
    pub(crate) version: ProtocolVersion,
    pub(crate) meta: RequestMetaObject,
    /// The lowest level of log messages that the client wants; `None` if it wants none.
    pub(crate) log_level: Option<LoggingLevel>,
    /// Timeout for an answer of the client.
    pub(crate) answer_timeout: Duration,
    /// The receiver of messages after the response; `None` if there is no session.
    pub(crate) session_sink: Option<Arc<dyn MessageSink>>,
}

impl ClientProfile {
    /// Returns true for a client of 2026-07-28 or later.
    pub(crate) fn is_modern(&self) -> bool {
        is_modern(&self.version)
    }

    /// Returns true if the client can poll tasks, which exist since 2026-07-28.
    pub(crate) fn supports_tasks(&self) -> bool {
        self.is_modern() && self.capabilities.supports_tasks()
    }

    /// Returns true if the client can show forms.
    pub(crate) fn supports_form_elicitation(&self) -> bool {
        let elicitation = self.capabilities.elicitation.as_ref();
        // `{}` predates the modes, and means forms.
        elicitation.is_some_and(|modes| modes.form.is_some() || modes.url.is_none())
    }
}

/// The client of one request.
pub(crate) struct QueuedClient {
    profile: ClientProfile,
    initial_responses: Mutex<Option<InputResponses>>,
    queue: mpsc::Sender<ClientMessage>,
    /// The sender of log messages after the response.
    late_logs: OnceLock<mpsc::Sender<LoggingMessageNotificationParam>>,
}

impl QueuedClient {
    /// Creates the client and the receiver of its queue.
    pub(crate) fn new(
        known: ClientProfile,
        early: Option<InputResponses>,
    ) -> (Arc<Self>, mpsc::Receiver<ClientMessage>) {
        let (queue, waiting) = mpsc::channel(QUEUE_CAPACITY);
        (
            Arc::new(Self {
                profile: known,
                initial_responses: Mutex::new(early),
                queue,
                late_logs: OnceLock::new(),
            }),
            waiting,
        )
    }

    pub(crate) fn profile(&self) -> &ClientProfile {
        &self.profile
    }

    /// The queue for reports and questions of the engine.
    pub(crate) fn queue(&self) -> &mpsc::Sender<ClientMessage> {
        &self.queue
    }

    /// Sends a log message that came after the response, in order, while the client exists.
    fn send_late_log(&self, message: LoggingMessageNotificationParam) {
        let Some(sink) = &self.profile.session_sink else { return };
        let queue = self.late_logs.get_or_init(|| {
            let (queue, mut waiting) = mpsc::channel(QUEUE_CAPACITY);
            let sink = Arc::clone(sink);
            tokio::spawn(async move {
                while let Some(message) = waiting.recv().await {
                    if sink.send(outgoing::notification(LOG_METHOD, &message)).await.is_err() {
                        return;
                    }
                }
            });
            queue
        });
        // A client that does not read misses some.
        let _ = queue.try_send(message);
    }

    fn can_be_asked(&self, request: &InputRequest) -> bool {
        let capabilities = &self.profile.capabilities;
        match request {
            InputRequest::CreateMessage(_) => capabilities.sampling.is_some(),
            InputRequest::ListRoots(_) => capabilities.roots.is_some(),
            InputRequest::Elicitation(request) => match &request.params {
                rmcp::model::ElicitRequestParams::UrlElicitationParams { .. } => {
                    capabilities.elicitation.as_ref().is_some_and(|modes| modes.url.is_some())
                }
                _ => self.profile.supports_form_elicitation(),
            },
            _ => false,
        }
    }
}

#[async_trait]
impl RequestingClient for QueuedClient {
    fn principal(&self) -> Option<PrincipalId> {
        Some(self.profile.principal.clone())
    }

    fn capabilities(&self) -> &ClientCapabilities {
        &self.profile.capabilities
    }

    fn protocol_version(&self) -> ProtocolVersion {
        self.profile.version.clone()
    }

    fn meta(&self) -> &RequestMetaObject {
        &self.profile.meta
    }

    fn initial_responses(&self) -> Option<InputResponses> {
        self.initial_responses.lock().take()
    }

    async fn request_input(&self, requests: InputRequests) -> Result<InputResponses, InputRequestError> {
        if !requests.values().all(|request| self.can_be_asked(request)) {
            return Err(InputRequestError::NotSupported);
        }
        let (answers, answered) = oneshot::channel();
        let asking = async {
            let asked = ClientMessage::InputRequests(Box::new(QueuedInputRequests { requests, answers }));
            self.queue.send(asked).await.map_err(|_| InputRequestError::Disconnected)?;
            answered.await.unwrap_or(Err(InputRequestError::Disconnected))
        };
        tokio::time::timeout(self.profile.answer_timeout, asking)
            .await
            .unwrap_or(Err(InputRequestError::TimedOut))
    }

    fn send_log(&self, message: LoggingMessageNotificationParam) {
        if !self.profile.log_level.is_some_and(|level| is_at_least(message.level, level)) {
            return;
        }
        // A client that does not read misses some.
        if let Err(TrySendError::Closed(ClientMessage::Log(message))) =
            self.queue.try_send(ClientMessage::Log(Box::new(message)))
        {
            self.send_late_log(*message);
        }
    }
}

/// Returns true if a message of this level reaches the wanted level (in the order of RFC 5424).
pub(crate) fn is_at_least(message: LoggingLevel, wanted: LoggingLevel) -> bool {
    severity(message) >= severity(wanted)
}

pub(crate) fn severity(level: LoggingLevel) -> u8 {
    match level {
        LoggingLevel::Debug => 0,
        LoggingLevel::Info => 1,
        LoggingLevel::Notice => 2,
        LoggingLevel::Warning => 3,
        LoggingLevel::Error => 4,
        LoggingLevel::Critical => 5,
        LoggingLevel::Alert => 6,
        LoggingLevel::Emergency => 7,
    }
}
