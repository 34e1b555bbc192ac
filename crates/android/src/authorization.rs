//! Asks the user to allow access in an app (docs/app-providers.md, "Being asked"): once for all the calls that
//! wait for the same app, never without agreement, never in another app.

use std::collections::HashMap;
use std::sync::Arc;
use std::time::Duration;

use async_trait::async_trait;
use parking_lot::Mutex;
use tokio::time::Instant;

use crate::failure::AuthorizationRequired;
use crate::provider::ToolProvider;
use crate::provider_client::ProviderClient;

/// How long nobody is asked again about an app after they declined.
const PROMPT_COOLDOWN: Duration = Duration::from_secs(30);
/// How long an app that wants to be allowed is not offered again.
const NOTICE_INTERVAL: Duration = Duration::from_secs(60);
/// Apps of which it is remembered when they were last asked about.
const MAX_REMEMBERED: usize = 1_024;
/// How long the system may take to open a screen.
const OPEN_TIMEOUT: Duration = Duration::from_secs(10);

/// What a person is asked.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct AuthorizationRequest {
    /// The app's package, the only one in which anything is opened.
    pub package: String,
    /// The app's name for people.
    pub label: String,
    /// Its authority.
    pub authority: String,
    /// The tool that was called; nothing where the app was only asked for its tools.
    pub tool: Option<String>,
    /// What the app says is missing. Untrusted text.
    pub message: String,
    /// What the app says the user can do. Untrusted text.
    pub hint: Option<String>,
    /// The action of the app's screen for it; nothing where the app is opened as its icon does.
    pub action: Option<String>,
}

/// A person's answer.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum AuthorizationConsent {
    /// Open it.
    Agreed,
    /// Don't.
    Declined,
}

/// Shows questions to the phone's user. Waiting is bounded by whoever asks; a question whose future is dropped is
/// to be taken off the screen.
#[async_trait]
pub trait AuthorizationPrompt: Send + Sync + 'static {
    /// Whether anybody can be asked at all.
    fn is_available(&self) -> bool {
        true
    }

    /// Whether the app's screen may be opened.
    async fn request_consent(&self, request: &AuthorizationRequest) -> AuthorizationConsent;

    /// Waits until the user is back from it.
    async fn wait_for_return(&self, request: &AuthorizationRequest);

    /// Lets the user know that an app shows no tools before it is allowed. Nobody waits; where the user takes it
    /// up, [`crate::bridge::Bridge::authorize`] goes on from there.
    fn notify_authorization_required(&self, request: &AuthorizationRequest);
}

/// For where nobody can be asked.
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

/// How asking ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum AuthorizationOutcome {
    /// The user was in the app and is back.
    Returned,
    /// The user did not want to.
    Declined,
    /// Nobody could be asked.
    NoPrompt,
    /// The app has no such screen, or it could not be opened.
    NotOpened,
    /// The user took too long.
    TimedOut,
}

/// One app's line of calls that wait for the user.
type AuthorizationQueue = Arc<tokio::sync::Mutex<Option<(Instant, AuthorizationOutcome)>>>;

/// Asks, one question at a time for each provider.
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
    /// With this way of asking.
    #[must_use]
    pub fn new(reach: ProviderClient, prompt: Arc<dyn AuthorizationPrompt>) -> Self {
        Self { client: reach, prompt, queues: Arc::default(), notified: Arc::default() }
    }

    /// Lets the user know that a provider wants to be allowed, unless they were told of it a moment ago.
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

    /// Whether anybody can be asked.
    #[must_use]
    pub fn can_prompt(&self) -> bool {
        self.prompt.is_available()
    }

    /// Asks the user and opens the app's screen. Of several calls that need the same app's permission at the same
    /// time, one asks, and those that were made before it was answered take what came of it; `since` is when
    /// the call was made.
    pub async fn ask(
        &self,
        request: &AuthorizationRequest,
        since: Instant,
        timeout: Duration,
    ) -> AuthorizationOutcome {
        let line = {
            let mut lines = self.queues.lock();
            if lines.len() >= MAX_REMEMBERED {
                // Those that somebody waits in stay.
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
            .ask_system(OPEN_TIMEOUT, move |host| match &action {
                Some(action) => host.open_authorization(&package, action),
                None => host.launch(&package),
            })
            .await;
        if !matches!(opened, Ok(Ok(true))) {
            return AuthorizationOutcome::NotOpened;
        }
        self.prompt.wait_for_return(request).await;
        AuthorizationOutcome::Returned
    }
}

/// What to ask the user about this provider.
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
