//! Asks the user to authorize access in an app (docs/app-providers.md, "Being asked"): once for all calls
//! that wait for the same app, never without consent, and never in another app.

use std::collections::HashMap;
use std::sync::Arc;
use std::time::Duration;

use async_trait::async_trait;
use parking_lot::Mutex;
use tokio::time::Instant;

use crate::failure::AuthorizationRequired;
use crate::provider::ToolProvider;
use crate::provider_client::ProviderClient;

/// Time after a refusal during which the user is not asked again about the app.
const PROMPT_COOLDOWN: Duration = Duration::from_secs(30);
/// Minimum interval between notices about the same app.
const NOTICE_INTERVAL: Duration = Duration::from_secs(60);
/// Maximum number of apps whose last question is remembered.
const MAX_REMEMBERED: usize = 1_024;
/// Timeout for opening a screen.
const OPEN_TIMEOUT: Duration = Duration::from_secs(10);

/// A question for the user.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct AuthorizationRequest {
    /// Package of the app; only this package is opened.
    pub package: String,
    /// Display name of the app.
    pub label: String,
    /// Authority of the provider.
    pub authority: String,
    /// The tool that was called; `None` if the tools were only being listed.
    pub tool: Option<String>,
    /// The app's description of the missing authorization. Untrusted text.
    pub message: String,
    /// The app's hint for the user. Untrusted text.
    pub hint: Option<String>,
    /// Action of the app's authorization screen; `None`, or an action that no screen of the app has, opens the
    /// app's start screen.
    pub action: Option<String>,
}

/// Answer of the user.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum AuthorizationConsent {
    /// The user agreed to open the app.
    Agreed,
    /// The user declined.
    Declined,
}

/// Shows questions to the phone's user. Callers limit the waiting time. If the future of a question is
/// dropped, the question must be removed from the screen.
#[async_trait]
pub trait AuthorizationPrompt: Send + Sync + 'static {
    /// Returns true if there is a user to ask.
    fn is_available(&self) -> bool {
        true
    }

    /// Asks for permission to open the app's screen.
    async fn request_consent(&self, request: &AuthorizationRequest) -> AuthorizationConsent;

    /// Waits until the user returns from the app.
    async fn wait_for_return(&self, request: &AuthorizationRequest);

    /// Notifies the user that an app requires authorization before it lists tools. Nobody waits for an
    /// answer; [`crate::bridge::ProviderBridge::authorize`] continues if the user wants to.
    fn notify_authorization_required(&self, request: &AuthorizationRequest);
}

/// A prompt for environments without a user.
#[derive(Debug, Clone, Copy, Default)]
pub struct NoPrompt;

#[async_trait]
impl AuthorizationPrompt for NoPrompt {
    fn is_available(&self) -> bool {
        false
    }

    async fn request_consent(&self, _: &AuthorizationRequest) -> AuthorizationConsent {
        AuthorizationConsent::Declined
    }

    async fn wait_for_return(&self, _: &AuthorizationRequest) {}

    fn notify_authorization_required(&self, _: &AuthorizationRequest) {}
}

/// Result of asking the user.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum AuthorizationOutcome {
    /// The user was in the app and has returned.
    Returned,
    /// The user declined.
    Declined,
    /// There was nobody to ask.
    NoPrompt,
    /// The app has neither such a screen nor a start screen, or it could not be opened.
    NotOpened,
    /// The user did not answer in time.
    TimedOut,
}

/// Lock for the calls that wait for the same app, with the time and result of the last question.
type AuthorizationQueue = Arc<tokio::sync::Mutex<Option<(Instant, AuthorizationOutcome)>>>;

/// Asks the user, one question at a time for each provider.
#[derive(Clone)]
pub struct ProviderAuthorizer {
    client: ProviderClient,
    prompt: Arc<dyn AuthorizationPrompt>,
    queues: Arc<Mutex<HashMap<String, AuthorizationQueue>>>,
    notified: Arc<Mutex<HashMap<String, Instant>>>,
}

impl std::fmt::Debug for ProviderAuthorizer {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("ProviderAuthorizer").finish_non_exhaustive()
    }
}

impl ProviderAuthorizer {
    /// Creates an authorizer with this prompt.
    #[must_use]
    pub fn new(reach: ProviderClient, prompt: Arc<dyn AuthorizationPrompt>) -> Self {
        Self { client: reach, prompt, queues: Arc::default(), notified: Arc::default() }
    }

    /// Notifies the user that a provider requires authorization, unless there was a recent notice.
    pub fn notify_once(&self, request: &AuthorizationRequest) {
        let now = Instant::now();
        {
            let mut offered = self.notified.lock();
            offered.retain(|_, at| now.saturating_duration_since(*at) < NOTICE_INTERVAL);
            if offered.len() >= MAX_REMEMBERED || offered.insert(request.authority.clone(), now).is_some() {
                return;
            }
        }
        self.prompt.notify_authorization_required(request);
    }

    /// Returns true if there is a user to ask.
    #[must_use]
    pub fn can_prompt(&self) -> bool {
        self.prompt.is_available()
    }

    /// Asks the user and opens the app's screen. If several calls need authorization by the same app, one
    /// asks, and the calls that were made before its answer (`since`) share the result.
    pub async fn ask(
        &self,
        request: &AuthorizationRequest,
        since: Instant,
        timeout: Duration,
    ) -> AuthorizationOutcome {
        let line = {
            let mut lines = self.queues.lock();
            if lines.len() >= MAX_REMEMBERED {
                // Locks that are in use stay.
                lines.retain(|_, line| Arc::strong_count(line) > 1);
            }
            Arc::clone(lines.entry(request.authority.clone()).or_default())
        };
        let in_turn = async {
            let mut last = line.lock().await;
            match *last {
                Some((at, asked)) if at >= since => asked,
                Some((at, AuthorizationOutcome::Declined)) if at.elapsed() < PROMPT_COOLDOWN => {
                    AuthorizationOutcome::Declined
                }
                _ => {
                    let asked = self.ask_now(request).await;
                    *last = Some((Instant::now(), asked));
                    asked
                }
            }
        };
        tokio::time::timeout(timeout, in_turn).await.unwrap_or(AuthorizationOutcome::TimedOut)
    }

    async fn ask_now(&self, request: &AuthorizationRequest) -> AuthorizationOutcome {
        if !self.can_prompt() {
            return AuthorizationOutcome::NoPrompt;
        }
        match self.prompt.request_consent(request).await {
            AuthorizationConsent::Agreed => {}
            AuthorizationConsent::Declined => return AuthorizationOutcome::Declined,
        }
        let (package, action) = (request.package.clone(), request.action.clone());
        let opened = self
            .client
            .ask_system(OPEN_TIMEOUT, move |host| {
                // An app that names a screen that it does not have still has a start screen.
                let is_open = match &action {
                    Some(action) => host.open_authorization(&package, action)?,
                    None => false,
                };
                if is_open { Ok(true) } else { host.launch(&package) }
            })
            .await;
        if !matches!(opened, Ok(Ok(true))) {
            return AuthorizationOutcome::NotOpened;
        }
        self.prompt.wait_for_return(request).await;
        AuthorizationOutcome::Returned
    }
}

/// Creates the question about this provider.
#[must_use]
pub fn authorization_request(
    provider: &ToolProvider,
    tool: Option<&str>,
    required: &AuthorizationRequired,
) -> AuthorizationRequest {
    AuthorizationRequest {
        package: provider.package.clone(),
        label: provider.title().to_owned(),
        authority: provider.authority.clone(),
        tool: tool.map(str::to_owned),
        message: required.message.clone(),
        hint: required.hint.clone(),
        action: required.intent.clone(),
    }
}
