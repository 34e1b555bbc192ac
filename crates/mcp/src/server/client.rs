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
use toolway_core::Progress;
use toolway_core::consent::Question;
use toolway_types::PrincipalId;

use crate::link::{Client, NoAnswer};

/// What waits for the client; reports beyond that are dropped.
const WAITING: usize = 64;

/// What goes to the client while its request runs. Small, since a queue makes room for many.
pub(crate) enum ToClient {
    /// How far the call is.
    Progress(Box<Progress>),
    /// A log message.
    Log(Box<LoggingMessageNotificationParam>),
    /// Questions of the tool.
    Ask(Box<Asked>),
    /// A question of the gateway: whether the call may run.
    Consent(Arc<Question>),
}

/// Questions, and where the answers go.
pub(crate) struct Asked {
    pub(crate) requests: InputRequests,
    pub(crate) answers: oneshot::Sender<Result<InputResponses, NoAnswer>>,
}

/// What is known of the client for one request.
#[derive(Debug)]
pub(crate) struct Known {
    pub(crate) principal: PrincipalId,
    pub(crate) capabilities: ClientCapabilities,
    pub(crate) version: ProtocolVersion,
    pub(crate) meta: RequestMetaObject,
    /// The lowest level of log messages that it wants; none where it wants none.
    pub(crate) level: Option<LoggingLevel>,
    /// How long it may take to answer.
    pub(crate) patience: Duration,
    /// How it is reached once its request is answered; none where it is not.
    pub(crate) later: Option<Peer<RoleServer>>,
}

impl Known {
    /// Whether it can be asked to fill in a form.
    pub(crate) fn has_forms(&self) -> bool {
        let elicitation = self.capabilities.elicitation.as_ref();
        // `{}` is what there was before there were modes, and means forms.
        elicitation.is_some_and(|modes| modes.form.is_some() || modes.url.is_none())
    }
}

/// The client behind one request.
pub(crate) struct Asking {
    known: Known,
    early: Mutex<Option<InputResponses>>,
    queue: mpsc::Sender<ToClient>,
    /// Log messages that the answer has overtaken.
    overtaken: OnceLock<mpsc::Sender<LoggingMessageNotificationParam>>,
}

impl Asking {
    /// With the queue's other end.
    pub(crate) fn new(known: Known, early: Option<InputResponses>) -> (Arc<Self>, mpsc::Receiver<ToClient>) {
        let (queue, waiting) = mpsc::channel(WAITING);
        (Arc::new(Self { known, early: Mutex::new(early), queue, overtaken: OnceLock::new() }), waiting)
    }

    pub(crate) fn known(&self) -> &Known {
        &self.known
    }

    /// Where reports and questions of the engine go.
    pub(crate) fn queue(&self) -> &mpsc::Sender<ToClient> {
        &self.queue
    }

    /// Says what came after the answer, in order, for as long as somebody holds this.
    fn log_after_the_answer(&self, message: LoggingMessageNotificationParam) {
        let Some(peer) = &self.known.later else { return };
        let queue = self.overtaken.get_or_init(|| {
            let (queue, mut waiting) = mpsc::channel(WAITING);
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
        let capabilities = &self.known.capabilities;
        match request {
            InputRequest::CreateMessage(_) => capabilities.sampling.is_some(),
            InputRequest::ListRoots(_) => capabilities.roots.is_some(),
            InputRequest::Elicitation(request) => match &request.params {
                rmcp::model::ElicitRequestParams::UrlElicitationParams { .. } => {
                    capabilities.elicitation.as_ref().is_some_and(|modes| modes.url.is_some())
                }
                _ => self.known.has_forms(),
            },
            _ => false,
        }
    }
}

#[async_trait]
impl Client for Asking {
    fn principal(&self) -> Option<PrincipalId> {
        Some(self.known.principal.clone())
    }

    fn capabilities(&self) -> &ClientCapabilities {
        &self.known.capabilities
    }

    fn protocol_version(&self) -> ProtocolVersion {
        self.known.version.clone()
    }

    fn meta(&self) -> &RequestMetaObject {
        &self.known.meta
    }

    fn early_answers(&self) -> Option<InputResponses> {
        self.early.lock().take()
    }

    async fn ask(&self, requests: InputRequests) -> Result<InputResponses, NoAnswer> {
        if !requests.values().all(|request| self.can_be_asked(request)) {
            return Err(NoAnswer::CannotBeAsked);
        }
        let (answers, answered) = oneshot::channel();
        let asking = async {
            let asked = ToClient::Ask(Box::new(Asked { requests, answers }));
            self.queue.send(asked).await.map_err(|_| NoAnswer::Gone)?;
            answered.await.unwrap_or(Err(NoAnswer::Gone))
        };
        tokio::time::timeout(self.known.patience, asking).await.unwrap_or(Err(NoAnswer::TooLate))
    }

    fn log(&self, message: LoggingMessageNotificationParam) {
        if !self.known.level.is_some_and(|level| is_at_least(message.level, level)) {
            return;
        }
        // A client that does not read misses some.
        if let Err(TrySendError::Closed(ToClient::Log(message))) =
            self.queue.try_send(ToClient::Log(Box::new(message)))
        {
            self.log_after_the_answer(*message);
        }
    }
}

/// Whether a message of one level is wanted by who wants those of another and above (RFC 5424's order).
pub(crate) fn is_at_least(message: LoggingLevel, wanted: LoggingLevel) -> bool {
    rank(message) >= rank(wanted)
}

pub(crate) fn rank(level: LoggingLevel) -> u8 {
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
