//! Finds providers and asks each for its tools: all at the same time, each under its own deadline, so that one that
//! hangs keeps nobody waiting but for its own row. While a scan goes on, packages can be asked anew; what was on its
//! way from them then counts no more.

use std::collections::{BTreeMap, BTreeSet, HashMap};
use std::time::Duration;

use tokio::task::{Id, JoinSet};
use tokio::time::Instant;

use crate::bundle::Bundle;
use crate::cetp;
use crate::dialect::ProviderDialect;
use crate::discovery::declared_providers;
use crate::failure::ProviderFailure;
use crate::host::{CallFailure, HostError};
use crate::mcp;
use crate::naming::{NameClaim, NameOwner};
use crate::provider::{ProviderState, RefusalReason, ToolProvider};
use crate::provider_client::{ProviderCallError, ProviderCallOptions, ProviderClient};
use crate::provider_tool_list::ProviderToolList;
use crate::worker_pool::JobError;

/// How long the system may take to say what is installed.
const DISCOVERY_TIMEOUT: Duration = Duration::from_secs(20);

/// How long a provider is waited for to say who it is, once its tools are there.
const INFO_TIMEOUT: Duration = Duration::from_secs(1);

/// Why nothing could be scanned.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum ScanError {
    /// The system, or the way to it.
    #[error(transparent)]
    Host(#[from] HostError),
    /// The system did not answer.
    #[error("the phone did not say which apps it has: {}", describe_job_error(*.0))]
    Job(JobError),
}

fn describe_job_error(missed: JobError) -> &'static str {
    match missed {
        JobError::TimedOut | JobError::NotStarted => "it took too long",
        JobError::Hanging | JobError::QueueFull => "earlier questions are still unanswered",
        JobError::Exhausted => "too many apps hang",
        JobError::Panicked => "asking it failed inside Toolway",
    }
}

/// What providers said of themselves when they were last asked; nothing where they had nothing to say.
pub type KnownProviderInfo = HashMap<NameOwner, Option<cetp::ProviderInfo>>;

/// Whom to ask, and how.
#[derive(Debug, Clone, Default)]
pub struct ScanRequest {
    /// The packages; all of them where none are named.
    pub packages: Option<BTreeSet<String>>,
    /// Who need not be asked again who they are.
    pub known: KnownProviderInfo,
    /// How long each may take to tell its tools.
    pub timeout: Duration,
}

/// All providers, or those of some packages, with their tools, sorted by authority. They have no names yet. Takes as
/// long as the slowest of them, and little longer than `timeout` after the system has said what is installed.
///
/// # Errors
/// [`ScanError`].
pub async fn scan(
    reach: &ProviderClient,
    packages: Option<Vec<String>>,
    timeout: Duration,
) -> Result<Vec<ToolProvider>, ScanError> {
    let packages = packages.map(|packages| packages.into_iter().collect());
    let mut scan = ProviderScan::default();
    scan.ask_for_tools(reach, ScanRequest { packages, timeout, ..ScanRequest::default() }).await?;
    let mut providers = Vec::new();
    while let Some(batch) = scan.batch(timeout).await {
        providers.extend(batch);
    }
    providers.sort_by(|a, b| (&a.authority, &a.package).cmp(&(&b.authority, &b.package)));
    Ok(providers)
}

/// What the system says is installed.
#[derive(Debug, Clone, Default)]
pub struct InstalledProviders {
    /// Who may have a name: those that were not refused for what they declare. Known before any of them has answered, so
    /// that names do not depend on who is quick.
    pub claims: Vec<NameClaim>,
    /// The packages of which providers were found.
    pub packages: BTreeSet<String>,
}

/// A scan that goes on: what is installed is known, and each provider is being asked.
#[derive(Debug, Default)]
pub struct ProviderScan {
    tasks: JoinSet<ToolProvider>,
    /// Who is being asked, for the case that asking fails.
    pending: HashMap<Id, (ScanGeneration, ToolProvider)>,
    /// By package.
    pending_packages: BTreeMap<String, PendingPackage>,
    generation: ScanGeneration,
}

/// Which question to a package it is; one that was asked later counts.
type ScanGeneration = u64;

/// A package of which not everything has been given.
#[derive(Debug, Default)]
struct PendingPackage {
    generation: ScanGeneration,
    /// How many of its providers have not answered.
    unanswered: usize,
    answered: Vec<ToolProvider>,
}

impl ProviderScan {
    /// Asks these packages, anew where they are being asked already.
    ///
    /// # Errors
    /// [`ScanError`]; then nobody is asked who was not before.
    pub async fn ask_for_tools(
        &mut self,
        reach: &ProviderClient,
        wanted: ScanRequest,
    ) -> Result<InstalledProviders, ScanError> {
        let ScanRequest { packages, mut known, timeout } = wanted;
        let asked = packages.clone();
        let found = reach
            .ask_system(DISCOVERY_TIMEOUT, move |host| {
                let named = asked.as_ref().map(|packages| packages.iter().cloned().collect::<Vec<_>>());
                let mut declarations = host.discover(named.as_deref())?;
                if let Some(packages) = &asked {
                    declarations.retain(|declaration| packages.contains(&declaration.package));
                }
                declared_providers(declarations, |authority| host.resolve(authority))
            })
            .await
            .map_err(ScanError::Job)??;
        self.generation += 1;
        match packages {
            None => self.pending_packages.clear(),
            Some(packages) => self.pending_packages.retain(|package, _| !packages.contains(package)),
        }
        let mut said = InstalledProviders::default();
        for provider in found {
            let open = self.pending_packages.entry(provider.package.clone()).or_default();
            open.generation = self.generation;
            open.unanswered += 1;
            let info = known.remove(&provider.owner());
            if !provider.has_invalid_declaration() {
                said.claims.push(provider.claim());
            }
            said.packages.insert(provider.package.clone());
            let (reach, asked) = (reach.clone(), provider.clone());
            let task = self.tasks.spawn(async move { list_tools(&reach, asked, info, timeout).await });
            self.pending.insert(task.id(), (self.generation, provider));
        }
        Ok(said)
    }

    /// Whether nothing is on its way any more.
    #[must_use]
    pub fn is_finished(&self) -> bool {
        self.pending_packages.is_empty()
    }

    /// The providers of the packages that are through: of all of them where they are within `settle`, else of those
    /// that are, or of the next one. Nothing once all were given. Nothing is lost where it is not waited for.
    pub async fn batch(&mut self, settle: Duration) -> Option<Vec<ToolProvider>> {
        let until = Instant::now() + settle;
        while !self.pending_packages.is_empty() {
            let next = if self.pending_packages.values().any(|open| open.unanswered == 0) {
                match tokio::time::timeout_at(until, self.tasks.join_next_with_id()).await {
                    Ok(next) => next,
                    Err(_) => break,
                }
            } else {
                self.tasks.join_next_with_id().await
            };
            match next {
                Some(Ok((id, provider))) => self.record_answer(id, Some(provider)),
                Some(Err(failed)) => self.record_answer(failed.id(), None),
                None => break,
            }
        }
        let through: Vec<String> = self
            .pending_packages
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
                .filter_map(|package| self.pending_packages.remove(package))
                .flat_map(|open| open.answered)
                .collect(),
        )
    }

    fn record_answer(&mut self, id: Id, provider: Option<ToolProvider>) {
        let Some((asking, asked)) = self.pending.remove(&id) else { return };
        // Whoever was asked again since answers once more.
        let Some(open) =
            self.pending_packages.get_mut(&asked.package).filter(|open| open.generation == asking)
        else {
            return;
        };
        open.unanswered = open.unanswered.saturating_sub(1);
        open.answered.push(provider.unwrap_or_else(|| {
            let reason = "asking it failed inside Toolway".to_owned();
            ToolProvider { state: ProviderState::Unavailable { reason }, ..asked }
        }));
    }
}

/// Asks one provider for its tools, and for what it says of itself where that is not known.
async fn list_tools(
    reach: &ProviderClient,
    mut provider: ToolProvider,
    info: Option<Option<cetp::ProviderInfo>>,
    timeout: Duration,
) -> ToolProvider {
    if provider.has_invalid_declaration() {
        return provider;
    }
    let found_as = provider.dialect;
    let method = match found_as {
        ProviderDialect::Cetp => cetp::LIST_TOOLS,
        ProviderDialect::McpA | ProviderDialect::McpB | ProviderDialect::McpC => mcp::GET_TOOL_INFO,
    };
    let answer = match ask(reach, &provider, method, timeout, false).await {
        Ok(answer) => answer,
        Err(unreached) => {
            provider.state =
                state_for_call_error(unreached, provider.permission.as_deref(), reach.permission_hint());
            return provider;
        }
    };
    // Compiling hundreds of schemas takes its time.
    let read = tokio::task::spawn_blocking(move || match found_as {
        ProviderDialect::Cetp => {
            cetp::read_list(answer.as_ref()).map(|listed| (ProviderDialect::Cetp, listed))
        }
        found_as => mcp::read_info(answer.as_ref(), found_as),
    });
    let failed = |_| Err(ProviderFailure::Failed("reading its list failed inside Toolway".to_owned()));
    match read.await.unwrap_or_else(failed) {
        Ok((dialect, ProviderToolList { tools, notes })) => {
            if dialect == ProviderDialect::Cetp {
                provider.info = match info {
                    Some(known) => known,
                    None => fetch_provider_info(reach, &provider, timeout.min(INFO_TIMEOUT)).await,
                };
            }
            provider.state = ProviderState::Ready;
            provider.dialect = dialect;
            provider.tools = tools;
            provider.notes.extend(notes);
            if provider.tools.is_empty() {
                provider.notes.flag(None, "it offers no usable tool");
            }
        }
        Err(failure) => provider.state = state_for_failure(failure),
    }
    provider
}

/// It only reads, whichever dialect: nobody's tool runs.
async fn ask(
    reach: &ProviderClient,
    provider: &ToolProvider,
    method: &str,
    timeout: Duration,
    optional: bool,
) -> Result<Option<Bundle>, ProviderCallError> {
    let effort = ProviderCallOptions { repeatable: true, launch: false, optional };
    reach.call(provider, method, None, timeout, effort).await
}

async fn fetch_provider_info(
    reach: &ProviderClient,
    provider: &ToolProvider,
    timeout: Duration,
) -> Option<cetp::ProviderInfo> {
    let answer = ask(reach, provider, cetp::GET_PROVIDER_INFO, timeout, true).await.ok()?;
    cetp::read_info(answer.as_ref())
}

/// What it means for the provider's row that no answer came.
fn state_for_call_error(
    unreached: ProviderCallError,
    permission: Option<&str>,
    way_out: &str,
) -> ProviderState {
    match unreached {
        ProviderCallError::Call(CallFailure::Security(message)) => ProviderState::Refused {
            refusal: RefusalReason::MissingPermission,
            reason: match permission {
                Some(permission) => format!("calling it needs the permission {permission}: {message}"),
                None => message,
            },
            hint: Some(way_out.to_owned()),
        },
        ProviderCallError::Call(CallFailure::Unsupported(reason)) => ProviderState::Refused {
            refusal: RefusalReason::Unsupported,
            reason,
            hint: Some(way_out.to_owned()),
        },
        ProviderCallError::Call(CallFailure::TooLarge(said)) => ProviderState::Unavailable {
            reason: format!("its list of tools is too large to be passed between apps: {said}"),
        },
        ProviderCallError::Call(CallFailure::Died(said)) => ProviderState::Unavailable {
            reason: format!("it stopped when it was asked for its tools: {said}"),
        },
        ProviderCallError::Job(missed @ (JobError::TimedOut | JobError::Hanging)) => {
            ProviderState::Unavailable { reason: format!("{missed}; it is left out until it does") }
        }
        other => ProviderState::Unavailable { reason: other.to_string() },
    }
}

/// What a failure to list means for the provider's row.
fn state_for_failure(failure: ProviderFailure) -> ProviderState {
    match failure {
        ProviderFailure::AuthorizationRequired(required) => ProviderState::AuthorizationRequired {
            message: required.message,
            hint: required.hint,
            intent: required.intent,
        },
        ProviderFailure::Denied(message) => ProviderState::Refused {
            refusal: RefusalReason::RefusedByApp,
            reason: format!("the app refuses this caller: {message}"),
            hint: Some("look in the app's own settings whether access can be allowed".to_owned()),
        },
        other => ProviderState::Unavailable { reason: other.to_string() },
    }
}
