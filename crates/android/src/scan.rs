//! Finds providers and asks each for its tools: all at the same time, each under its own deadline, so that one that
//! hangs keeps nobody waiting but for its own row.

use std::collections::BTreeMap;
use std::time::Duration;

use tokio::task::JoinSet;
use tokio::time::Instant;

use crate::bundle::Bundle;
use crate::cetp;
use crate::dialect::Dialect;
use crate::discovery::declared;
use crate::failure::ProviderFailure;
use crate::host::{CallFailure, HostError};
use crate::listed::Listed;
use crate::mcp;
use crate::naming::Owner;
use crate::provider::{Provider, State};
use crate::reach::{Effort, Reach, Unreached};
use crate::workers::Missed;

/// How long the system may take to say what is installed.
const DISCOVERY: Duration = Duration::from_secs(20);

/// Why nothing could be scanned.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum ScanError {
    /// The system, or the way to it.
    #[error(transparent)]
    Host(#[from] HostError),
    /// The system did not answer.
    #[error("the phone did not say in time which apps it has")]
    Overdue,
}

/// All providers, or those of some packages, with their tools, sorted by authority. They have no names yet. Takes as
/// long as the slowest of them, and no longer than `patience` after the system has said what is installed.
///
/// # Errors
/// [`ScanError`].
pub async fn scan(
    reach: &Reach,
    packages: Option<Vec<String>>,
    patience: Duration,
) -> Result<Vec<Provider>, ScanError> {
    let mut scan = Scan::start(reach, packages, patience).await?;
    let mut providers = Vec::new();
    while let Some(batch) = scan.batch(patience).await {
        providers.extend(batch);
    }
    providers.sort_by(|a, b| (&a.authority, &a.package).cmp(&(&b.authority, &b.package)));
    Ok(providers)
}

/// A scan that goes on: what is installed is known, and each provider is being asked.
#[derive(Debug)]
pub struct Scan {
    declared: Vec<(Owner, Option<String>)>,
    asked: JoinSet<Provider>,
    /// By package: how many of its providers have not answered.
    open: BTreeMap<String, usize>,
    answered: BTreeMap<String, Vec<Provider>>,
}

impl Scan {
    /// Begins one.
    ///
    /// # Errors
    /// [`ScanError`].
    pub async fn start(
        reach: &Reach,
        packages: Option<Vec<String>>,
        patience: Duration,
    ) -> Result<Self, ScanError> {
        let found = reach
            .ask(DISCOVERY, move |host| {
                let mut declarations = host.discover(packages.as_deref())?;
                if let Some(packages) = &packages {
                    declarations.retain(|declaration| packages.contains(&declaration.package));
                }
                declared(declarations, |authority| host.resolve(authority))
            })
            .await
            .map_err(|_| ScanError::Overdue)??;
        let mut scan = Self {
            declared: Vec::new(),
            asked: JoinSet::new(),
            open: BTreeMap::new(),
            answered: BTreeMap::new(),
        };
        for provider in found {
            *scan.open.entry(provider.package.clone()).or_default() += 1;
            if !provider.is_refused() {
                scan.declared.push((provider.owner(), provider.label.clone()));
            }
            let reach = reach.clone();
            scan.asked.spawn(async move { list(&reach, provider, patience).await });
        }
        Ok(scan)
    }

    /// Whose providers are asked, with their labels: those that were not refused for what they declare. Known before
    /// any of them has answered, so that names do not depend on who is quick.
    #[must_use]
    pub fn declared(&self) -> &[(Owner, Option<String>)] {
        &self.declared
    }

    /// The packages of which providers were found.
    pub fn packages(&self) -> impl Iterator<Item = &str> {
        self.open.keys().map(String::as_str)
    }

    /// The providers of the packages that are through: of all of them where they are within `settle`, else of those
    /// that are, or of the next one. Nothing once all were given.
    pub async fn batch(&mut self, settle: Duration) -> Option<Vec<Provider>> {
        let until = Instant::now() + settle;
        loop {
            let through =
                self.open.iter().any(|(package, open)| *open == 0 && self.answered.contains_key(package));
            let next = if through {
                match tokio::time::timeout_at(until, self.asked.join_next()).await {
                    Ok(next) => next,
                    Err(_) => return Some(self.take_through()),
                }
            } else {
                self.asked.join_next().await
            };
            match next {
                Some(Ok(provider)) => {
                    if let Some(open) = self.open.get_mut(&provider.package) {
                        *open = open.saturating_sub(1);
                    }
                    self.answered.entry(provider.package.clone()).or_default().push(provider);
                }
                // One that panicked says so in the log; its package is given at the end, without it.
                Some(Err(_)) => {}
                None if self.answered.is_empty() => return None,
                None => return Some(std::mem::take(&mut self.answered).into_values().flatten().collect()),
            }
        }
    }

    fn take_through(&mut self) -> Vec<Provider> {
        let all = std::mem::take(&mut self.answered);
        let (through, waiting) = all.into_iter().partition(|(package, _)| self.open.get(package) == Some(&0));
        self.answered = waiting;
        let through: BTreeMap<String, Vec<Provider>> = through;
        through.into_values().flatten().collect()
    }
}

/// Asks one provider for its tools, and for what it says of itself.
async fn list(reach: &Reach, mut provider: Provider, patience: Duration) -> Provider {
    if provider.is_refused() {
        return provider;
    }
    let method = match provider.dialect {
        Dialect::Cetp => cetp::LIST_TOOLS,
        Dialect::McpA | Dialect::McpB | Dialect::McpC => mcp::GET_TOOL_INFO,
    };
    let answer = match ask(reach, &provider, method, patience).await {
        Ok(answer) => answer,
        Err(unreached) => {
            provider.state = of_unreached(&unreached, provider.permission.as_deref(), reach.way_out());
            return provider;
        }
    };
    let read = match provider.dialect {
        Dialect::Cetp => cetp::read_list(answer.as_ref()).map(|listed| (Dialect::Cetp, listed)),
        found_as => mcp::read_info(answer.as_ref(), found_as),
    };
    match read {
        Ok((dialect, Listed { tools, notes })) => {
            if dialect == Dialect::Cetp {
                provider.info = info(reach, &provider, patience).await;
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
) -> Result<Option<Bundle>, Unreached> {
    let effort = Effort { repeatable: true, launch: false };
    reach.call(&provider.package, &provider.authority, method, None, patience, effort).await
}

async fn info(reach: &Reach, provider: &Provider, patience: Duration) -> Option<cetp::ProviderInfo> {
    let answer = ask(reach, provider, cetp::GET_PROVIDER_INFO, patience).await.ok()?;
    cetp::read_info(answer.as_ref())
}

/// What it means for the provider's row that no answer came.
fn of_unreached(unreached: &Unreached, permission: Option<&str>, way_out: &str) -> State {
    match unreached {
        Unreached::Failure(CallFailure::Security(message)) => State::Refused {
            reason: match permission {
                Some(permission) => format!("calling it needs the permission {permission}: {message}"),
                None => message.clone(),
            },
            hint: Some(way_out.to_owned()),
        },
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
            reason: format!("the app refuses this caller: {message}"),
            hint: Some("look in the app's own settings whether access can be allowed".to_owned()),
        },
        other => State::Unavailable { reason: other.to_string() },
    }
}
