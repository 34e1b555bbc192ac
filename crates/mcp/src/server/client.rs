//! The client behind one request, as the tools that run for it see it: what they ask and report goes through a queue
//! to whatever speaks with the client.

use std::sync::{Arc, OnceLock};
use std::time::Duration;

use async_trait::async_trait;
use parking_lot::Mutex;
use rmcp::model::{
    ClientCapabilities, InputRequest, InputRequests, InputResponses, LoggingLevel,
    LoggingMessageNotificationParam, ProtocolVersion, RequestMetaObject,
};
use rmcp::{Peer, RoleServer};
use tokio::sync::mpsc::error::TrySendError;
use tokio::sync::{mpsc, oneshot};
use toolway_core::ProgressReport;
use toolway_core::consent::Question;
use toolway_types::PrincipalId;

use crate::client_link::{InputRequestError, RequestingClient};

/// What waits for the client; reports beyond that are dropped.
const QUEUE_CAPACITY: usize = 64;

/// What goes to the client while its request runs. Small, since a queue makes room for many.
pub(crate) enum ClientMessage {
    /// How far the call is.
    Progress(Box<ProgressReport>),
    /// A log message.
    Log(Box<LoggingMessageNotificationParam>),
    /// Questions of the tool.
    InputRequests(Box<QueuedInputRequests>),
    /// A question of the gateway: whether the call may run.
    Consent(Arc<Question>),
}

/// Questions, and where the answers go.
pub(crate) struct QueuedInputRequests {
    pub(crate) requests: InputRequests,
    pub(crate) answers: oneshot::Sender<Result<InputResponses, InputRequestError>>,
}

/// What is known of the client for one request.
#[derive(Debug)]
pub(crate) struct ClientProfile {
    pub(crate) principal: PrincipalId,
    pub(crate) capabilities: ClientCapabilities,
    pub(crate) version: ProtocolVersion,
    pub(crate) meta: RequestMetaObject,
    /// The lowest level of log messages that it wants; none where it wants none.
    pub(crate) log_level: Option<LoggingLevel>,
    /// How long it may take to answer.
    pub(crate) answer_timeout: Duration,
    /// How it is reached once its request is answered; none where it is not.
    pub(crate) session_peer: Option<Peer<RoleServer>>,
}

impl ClientProfile {
    /// Whether it can be asked to fill in a form.
    pub(crate) fn supports_form_elicitation(&self) -> bool {
        let elicitation = self.capabilities.elicitation.as_ref();
        // `{}` is what there was before there were modes, and means forms.
        elicitation.is_some_and(|modes| modes.form.is_some() || modes.url.is_none())
    }
}

/// The client behind one request.
pub(crate) struct QueuedClient {
    profile: ClientProfile,
    initial_responses: Mutex<Option<InputResponses>>,
    queue: mpsc::Sender<ClientMessage>,
    /// Log messages that the answer has overtaken.
    late_logs: OnceLock<mpsc::Sender<LoggingMessageNotificationParam>>,
}

impl QueuedClient {
    /// With the queue's other end.
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

    /// Where reports and questions of the engine go.
    pub(crate) fn queue(&self) -> &mpsc::Sender<ClientMessage> {
        &self.queue
    }

    /// Says what came after the answer, in order, for as long as somebody holds this.
    fn send_late_log(&self, message: LoggingMessageNotificationParam) {
        let Some(peer) = &self.profile.session_peer else { return };
        let queue = self.late_logs.get_or_init(|| {
            let (queue, mut waiting) = mpsc::channel(QUEUE_CAPACITY);
            let peer = peer.clone();
            tokio::spawn(async move {
                while let Some(message) = waiting.recv().await {
                    if peer.notify_logging_message(message).await.is_err() {
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

/// Whether a message of one level is wanted by who wants those of another and above (RFC 5424's order).
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
