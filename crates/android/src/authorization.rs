//! Asking the user to allow access in an app (rows 8 and 10 of the consumer's rules): once for all the calls that
//! wait for the same app, never without agreement, never in another app.

use std::collections::HashMap;
use std::sync::Arc;
use std::time::Duration;

use async_trait::async_trait;
use parking_lot::Mutex;
use tokio::time::Instant;

use crate::failure::AuthorizationRequired;
use crate::provider::Provider;
use crate::reach::Reach;

/// How long nobody is asked again about an app after they declined.
const REST: Duration = Duration::from_secs(30);
/// How long an app that wants to be allowed is not offered again.
const BETWEEN_OFFERS: Duration = Duration::from_secs(60);
/// Apps of which it is remembered when they were last asked about.
const REMEMBERED: usize = 1_024;
/// How long the system may take to open a screen.
const OPENING: Duration = Duration::from_secs(10);

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
pub enum Agreement {
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
    fn is_anybody_there(&self) -> bool {
        true
    }

    /// Whether the app's screen may be opened.
    async fn agree(&self, request: &AuthorizationRequest) -> Agreement;

    /// Waits until the user is back from it.
    async fn returned(&self, request: &AuthorizationRequest);

    /// Lets the user know that an app shows no tools before it is allowed. Nobody waits; where the user takes it
    /// up, [`crate::bridge::Bridge::authorize`] goes on from there.
    fn offer(&self, request: &AuthorizationRequest);
}

/// For where nobody can be asked.
#[derive(Debug, Clone, Copy, Default)]
pub struct NobodyThere;

#[async_trait]
impl AuthorizationPrompt for NobodyThere {
    fn is_anybody_there(&self) -> bool {
        false
    }

    async fn agree(&self, _: &AuthorizationRequest) -> Agreement {
        Agreement::Declined
    }

    async fn returned(&self, _: &AuthorizationRequest) {}

    fn offer(&self, _: &AuthorizationRequest) {}
}

/// How asking ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Asked {
    /// The user was in the app and is back.
    Returned,
    /// The user did not want to.
    Declined,
    /// Nobody could be asked.
    NobodyThere,
    /// The app has no such screen, or it could not be opened.
    NotOpened,
    /// The user took too long.
    Overdue,
}

/// One app's line of calls that wait for the user.
type Line = Arc<tokio::sync::Mutex<Option<(Instant, Asked)>>>;

/// Asks, one question at a time for each provider.
#[derive(Clone)]
pub struct Authorizations {
    reach: Reach,
    prompt: Arc<dyn AuthorizationPrompt>,
    lines: Arc<Mutex<HashMap<String, Line>>>,
    offered: Arc<Mutex<HashMap<String, Instant>>>,
}

impl std::fmt::Debug for Authorizations {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Authorizations").finish_non_exhaustive()
    }
}

impl Authorizations {
    /// With this way of asking.
    #[must_use]
    pub fn new(reach: Reach, prompt: Arc<dyn AuthorizationPrompt>) -> Self {
        Self { reach, prompt, lines: Arc::default(), offered: Arc::default() }
    }

    /// Lets the user know that a provider wants to be allowed, unless they were told of it a moment ago.
    pub fn offer(&self, request: &AuthorizationRequest) {
        let now = Instant::now();
        {
            let mut offered = self.offered.lock();
            offered.retain(|_, at| now.saturating_duration_since(*at) < BETWEEN_OFFERS);
            if offered.len() >= REMEMBERED || offered.insert(request.authority.clone(), now).is_some() {
                return;
            }
        }
        self.prompt.offer(request);
    }

    /// Whether anybody can be asked.
    #[must_use]
    pub fn is_anybody_there(&self) -> bool {
        self.prompt.is_anybody_there()
    }

    /// Asks the user and opens the app's screen. Of several calls that need the same app's permission at the same
    /// time, one asks, and those that were made before it was answered take what came of it; `since` is when
    /// the call was made.
    pub async fn ask(&self, request: &AuthorizationRequest, since: Instant, patience: Duration) -> Asked {
        let line = {
            let mut lines = self.lines.lock();
            if lines.len() >= REMEMBERED {
                // Those that somebody waits in stay.
                lines.retain(|_, line| Arc::strong_count(line) > 1);
            }
            Arc::clone(lines.entry(request.authority.clone()).or_default())
        };
        let in_turn = async {
            let mut last = line.lock().await;
            match *last {
                Some((at, asked)) if at >= since => asked,
                Some((at, Asked::Declined)) if at.elapsed() < REST => Asked::Declined,
                _ => {
                    let asked = self.ask_now(request).await;
                    *last = Some((Instant::now(), asked));
                    asked
                }
            }
        };
        tokio::time::timeout(patience, in_turn).await.unwrap_or(Asked::Overdue)
    }

    async fn ask_now(&self, request: &AuthorizationRequest) -> Asked {
        if !self.is_anybody_there() {
            return Asked::NobodyThere;
        }
        match self.prompt.agree(request).await {
            Agreement::Agreed => {}
            Agreement::Declined => return Asked::Declined,
        }
        let (package, action) = (request.package.clone(), request.action.clone());
        let opened = self
            .reach
            .ask(OPENING, move |host| match &action {
                Some(action) => host.open_authorization(&package, action),
                None => host.launch(&package),
            })
            .await;
        if !matches!(opened, Ok(Ok(true))) {
            return Asked::NotOpened;
        }
        self.prompt.returned(request).await;
        Asked::Returned
    }
}

/// What to ask the user about this provider.
#[must_use]
pub fn request(
    provider: &Provider,
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
