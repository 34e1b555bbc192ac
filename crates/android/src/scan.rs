//! Finds providers and asks each for its tools: all at the same time, each under its own deadline, so that one that
//! hangs keeps nobody waiting but for its own row. While a scan goes on, packages can be asked anew; what was on its
//! way from them then counts no more.

use std::collections::{BTreeMap, BTreeSet, HashMap};
use std::time::Duration;

use tokio::task::{Id, JoinSet};
use tokio::time::Instant;

use crate::bundle::Bundle;
use crate::cetp;
use crate::dialect::Dialect;
use crate::discovery::declared;
use crate::failure::ProviderFailure;
use crate::host::{CallFailure, HostError};
use crate::listed::Listed;
use crate::mcp;
use crate::naming::{Claim, Owner};
use crate::provider::{Provider, Refusal, State};
use crate::reach::{Effort, Reach, Unreached};
use crate::workers::Missed;

/// How long the system may take to say what is installed.
const DISCOVERY: Duration = Duration::from_secs(20);

/// How long a provider is waited for to say who it is, once its tools are there.
const INFO: Duration = Duration::from_secs(1);

/// Why nothing could be scanned.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum ScanError {
    /// The system, or the way to it.
    #[error(transparent)]
    Host(#[from] HostError),
    /// The system did not answer.
    #[error("the phone did not say which apps it has: {}", in_words(*.0))]
    Missed(Missed),
}

fn in_words(missed: Missed) -> &'static str {
    match missed {
        Missed::Overdue | Missed::NotStarted => "it took too long",
        Missed::Hanging | Missed::Crowded => "earlier questions are still unanswered",
        Missed::Exhausted => "too many apps hang",
        Missed::Panicked => "asking it failed inside Toolway",
    }
}

/// What providers said of themselves when they were last asked; nothing where they had nothing to say.
pub type KnownInfo = HashMap<Owner, Option<cetp::ProviderInfo>>;

/// Whom to ask, and how.
#[derive(Debug, Clone, Default)]
pub struct Wanted {
    /// The packages; all of them where none are named.
    pub packages: Option<BTreeSet<String>>,
    /// Who need not be asked again who they are.
    pub known: KnownInfo,
    /// How long each may take to tell its tools.
    pub patience: Duration,
}

/// All providers, or those of some packages, with their tools, sorted by authority. They have no names yet. Takes as
/// long as the slowest of them, and little longer than `patience` after the system has said what is installed.
///
/// # Errors
/// [`ScanError`].
pub async fn scan(
    reach: &Reach,
    packages: Option<Vec<String>>,
    patience: Duration,
) -> Result<Vec<Provider>, ScanError> {
    let packages = packages.map(|packages| packages.into_iter().collect());
    let mut scan = Scan::default();
    scan.ask(reach, Wanted { packages, patience, ..Wanted::default() }).await?;
    let mut providers = Vec::new();
    while let Some(batch) = scan.batch(patience).await {
        providers.extend(batch);
    }
    providers.sort_by(|a, b| (&a.authority, &a.package).cmp(&(&b.authority, &b.package)));
    Ok(providers)
}

/// What the system says is installed.
#[derive(Debug, Clone, Default)]
pub struct Found {
    /// Who may have a name: those that were not refused for what they declare. Known before any of them has answered, so
    /// that names do not depend on who is quick.
    pub claims: Vec<Claim>,
    /// The packages of which providers were found.
    pub packages: BTreeSet<String>,
}

/// A scan that goes on: what is installed is known, and each provider is being asked.
#[derive(Debug, Default)]
pub struct Scan {
    asked: JoinSet<Provider>,
    /// Who is being asked, for the case that asking fails.
    askings: HashMap<Id, (Asking, Provider)>,
    /// By package.
    open: BTreeMap<String, Open>,
    asking: Asking,
}

/// Which question to a package it is; one that was asked later counts.
type Asking = u64;

/// A package of which not everything has been given.
#[derive(Debug, Default)]
struct Open {
    asking: Asking,
    /// How many of its providers have not answered.
    unanswered: usize,
    answered: Vec<Provider>,
}

impl Scan {
    /// Asks these packages, anew where they are being asked already.
    ///
    /// # Errors
    /// [`ScanError`]; then nobody is asked who was not before.
    pub async fn ask(&mut self, reach: &Reach, wanted: Wanted) -> Result<Found, ScanError> {
        let Wanted { packages, mut known, patience } = wanted;
        let asked = packages.clone();
        let found = reach
            .ask(DISCOVERY, move |host| {
                let named = asked.as_ref().map(|packages| packages.iter().cloned().collect::<Vec<_>>());
                let mut declarations = host.discover(named.as_deref())?;
                if let Some(packages) = &asked {
                    declarations.retain(|declaration| packages.contains(&declaration.package));
                }
                declared(declarations, |authority| host.resolve(authority))
            })
            .await
            .map_err(ScanError::Missed)??;
        self.asking += 1;
        match packages {
            None => self.open.clear(),
            Some(packages) => self.open.retain(|package, _| !packages.contains(package)),
        }
        let mut said = Found::default();
        for provider in found {
            let open = self.open.entry(provider.package.clone()).or_default();
            open.asking = self.asking;
            open.unanswered += 1;
            let info = known.remove(&provider.owner());
            if !provider.is_declared_wrongly() {
                said.claims.push(provider.claim());
            }
            said.packages.insert(provider.package.clone());
            let (reach, asked) = (reach.clone(), provider.clone());
            let task = self.asked.spawn(async move { list(&reach, asked, info, patience).await });
            self.askings.insert(task.id(), (self.asking, provider));
        }
        Ok(said)
    }

    /// Whether nothing is on its way any more.
    #[must_use]
    pub fn is_over(&self) -> bool {
        self.open.is_empty()
    }

    /// The providers of the packages that are through: of all of them where they are within `settle`, else of those
    /// that are, or of the next one. Nothing once all were given. Nothing is lost where it is not waited for.
    pub async fn batch(&mut self, settle: Duration) -> Option<Vec<Provider>> {
        let until = Instant::now() + settle;
        while !self.open.is_empty() {
            let next = if self.open.values().any(|open| open.unanswered == 0) {
                match tokio::time::timeout_at(until, self.asked.join_next_with_id()).await {
                    Ok(next) => next,
                    Err(_) => break,
                }
            } else {
                self.asked.join_next_with_id().await
            };
            match next {
                Some(Ok((id, provider))) => self.answered(id, Some(provider)),
                Some(Err(failed)) => self.answered(failed.id(), None),
                None => break,
            }
        }
        let through: Vec<String> = self
            .open
            .iter()
            .filter(|(_, open)| open.unanswered == 0)
            .map(|(package, _)| package.clone())
            .collect();
        if through.is_empty() {
            return None;
        }
        Some(
            through
                .iter()
                .filter_map(|package| self.open.remove(package))
                .flat_map(|open| open.answered)
                .collect(),
        )
    }

    fn answered(&mut self, id: Id, provider: Option<Provider>) {
        let Some((asking, asked)) = self.askings.remove(&id) else { return };
        // Whoever was asked again since answers once more.
        let Some(open) = self.open.get_mut(&asked.package).filter(|open| open.asking == asking) else {
            return;
        };
        open.unanswered = open.unanswered.saturating_sub(1);
        open.answered.push(provider.unwrap_or_else(|| {
            let reason = "asking it failed inside Toolway".to_owned();
            Provider { state: State::Unavailable { reason }, ..asked }
        }));
    }
}

/// Asks one provider for its tools, and for what it says of itself where that is not known.
async fn list(
    reach: &Reach,
    mut provider: Provider,
    info: Option<Option<cetp::ProviderInfo>>,
    patience: Duration,
) -> Provider {
    if provider.is_declared_wrongly() {
        return provider;
    }
    let found_as = provider.dialect;
    let method = match found_as {
        Dialect::Cetp => cetp::LIST_TOOLS,
        Dialect::McpA | Dialect::McpB | Dialect::McpC => mcp::GET_TOOL_INFO,
    };
    let answer = match ask(reach, &provider, method, patience, false).await {
        Ok(answer) => answer,
        Err(unreached) => {
            provider.state = of_unreached(unreached, provider.permission.as_deref(), reach.way_out());
            return provider;
        }
    };
    // Compiling hundreds of schemas takes its time.
    let read = tokio::task::spawn_blocking(move || match found_as {
        Dialect::Cetp => cetp::read_list(answer.as_ref()).map(|listed| (Dialect::Cetp, listed)),
        found_as => mcp::read_info(answer.as_ref(), found_as),
    });
    let failed = |_| Err(ProviderFailure::Failed("reading its list failed inside Toolway".to_owned()));
    match read.await.unwrap_or_else(failed) {
        Ok((dialect, Listed { tools, notes })) => {
            if dialect == Dialect::Cetp {
                provider.info = match info {
                    Some(known) => known,
                    None => say_who(reach, &provider, patience.min(INFO)).await,
                };
            }
            provider.state = State::Ready;
            provider.dialect = dialect;
            provider.tools = tools;
            provider.notes.extend(notes);
            if provider.tools.is_empty() {
                provider.notes.flag(None, "it offers no usable tool");
            }
        }
        Err(failure) => provider.state = of_failure(failure),
    }
    provider
}

/// It only reads, whichever dialect: nobody's tool runs.
async fn ask(
    reach: &Reach,
    provider: &Provider,
    method: &str,
    patience: Duration,
    optional: bool,
) -> Result<Option<Bundle>, Unreached> {
    let effort = Effort { repeatable: true, launch: false, optional };
    reach.call(provider, method, None, patience, effort).await
}

async fn say_who(reach: &Reach, provider: &Provider, patience: Duration) -> Option<cetp::ProviderInfo> {
    let answer = ask(reach, provider, cetp::GET_PROVIDER_INFO, patience, true).await.ok()?;
    cetp::read_info(answer.as_ref())
}

/// What it means for the provider's row that no answer came.
fn of_unreached(unreached: Unreached, permission: Option<&str>, way_out: &str) -> State {
    match unreached {
        Unreached::Failure(CallFailure::Security(message)) => State::Refused {
            refusal: Refusal::Guarded,
            reason: match permission {
                Some(permission) => format!("calling it needs the permission {permission}: {message}"),
                None => message,
            },
            hint: Some(way_out.to_owned()),
        },
        Unreached::Failure(CallFailure::Unsupported(reason)) => {
            State::Refused { refusal: Refusal::NoWay, reason, hint: Some(way_out.to_owned()) }
        }
        Unreached::Failure(CallFailure::TooLarge(said)) => State::Unavailable {
            reason: format!("its list of tools is too large to be passed between apps: {said}"),
        },
        Unreached::Failure(CallFailure::Died(said)) => {
            State::Unavailable { reason: format!("it stopped when it was asked for its tools: {said}") }
        }
        Unreached::Missed(missed @ (Missed::Overdue | Missed::Hanging)) => {
            State::Unavailable { reason: format!("{missed}; it is left out until it does") }
        }
        other => State::Unavailable { reason: other.to_string() },
    }
}

/// What a failure to list means for the provider's row.
fn of_failure(failure: ProviderFailure) -> State {
    match failure {
        ProviderFailure::AuthorizationRequired(required) => State::AuthorizationRequired {
            message: required.message,
            hint: required.hint,
            intent: required.intent,
        },
        ProviderFailure::Denied(message) => State::Refused {
            refusal: Refusal::ByTheApp,
            reason: format!("the app refuses this caller: {message}"),
            hint: Some("look in the app's own settings whether access can be allowed".to_owned()),
        },
        other => State::Unavailable { reason: other.to_string() },
    }
}
