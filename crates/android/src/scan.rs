//! Finds providers and lists their tools: all at the same time, each with its own timeout, so that a hanging
//! provider delays only its own entry. During a scan, packages can be scanned again; earlier requests to them
//! are then ignored.

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

/// Timeout for the list of installed providers.
const DISCOVERY_TIMEOUT: Duration = Duration::from_secs(20);

/// Timeout for a provider's description of itself, once its tools are known.
const INFO_TIMEOUT: Duration = Duration::from_secs(1);

/// Reason why a scan failed.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum ScanError {
    /// The system or the connection failed.
    #[error(transparent)]
    Host(#[from] HostError),
    /// The system did not answer.
    #[error("the phone did not list its apps: {}", describe_job_error(*.0))]
    Job(JobError),
}

fn describe_job_error(missed: JobError) -> &'static str {
    match missed {
        JobError::TimedOut | JobError::NotStarted => "it took too long",
        JobError::Hanging | JobError::QueueFull => "earlier requests are still unanswered",
        JobError::Exhausted => "too many apps hang",
        JobError::Panicked => "the scan failed inside Toolway",
    }
}

/// Descriptions that providers gave of themselves at the last scan; `None` for those without one.
pub type KnownProviderInfo = HashMap<NameOwner, Option<cetp::ProviderInfo>>;

/// Request for a scan.
#[derive(Debug, Clone, Default)]
pub struct ScanRequest {
    /// Packages to scan; `None` for all.
    pub packages: Option<BTreeSet<String>>,
    /// Known descriptions, which are not requested again.
    pub known: KnownProviderInfo,
    /// Timeout of each provider for listing its tools.
    pub timeout: Duration,
}

/// Lists all providers, or those of some packages, with their tools, sorted by authority. They have no names
/// yet. Takes as long as the slowest provider, at most slightly longer than `timeout` after the list of
/// installed providers.
///
/// # Errors
/// [`ScanError`] if the system can't be queried.
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

/// The installed providers.
#[derive(Debug, Clone, Default)]
pub struct InstalledProviders {
    /// Claims to names of all providers with a valid declaration. They are known before any provider has
    /// answered, so that names do not depend on response times.
    pub claims: Vec<NameClaim>,
    /// Packages with providers.
    pub packages: BTreeSet<String>,
}

/// A running scan: the installed providers are known, and each is being asked.
#[derive(Debug, Default)]
pub struct ProviderScan {
    tasks: JoinSet<ToolProvider>,
    /// The providers that are being asked, for the case that a task fails.
    pending: HashMap<Id, (ScanGeneration, ToolProvider)>,
    /// By package.
    pending_packages: BTreeMap<String, PendingPackage>,
    generation: ScanGeneration,
}

/// Number of a request to a package; only answers to the latest count.
type ScanGeneration = u64;

/// A package with unfinished results.
#[derive(Debug, Default)]
struct PendingPackage {
    generation: ScanGeneration,
    /// Number of its providers that have not answered.
    unanswered: usize,
    answered: Vec<ToolProvider>,
}

impl ProviderScan {
    /// Lists the tools of these packages, again if they are being listed already.
    ///
    /// # Errors
    /// [`ScanError`] if the system can't be queried; then no new request has started.
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

    /// Returns true if no request is in flight.
    #[must_use]
    pub fn is_finished(&self) -> bool {
        self.pending_packages.is_empty()
    }

    /// Returns the providers of finished packages: of all packages if they finish within `settle`, otherwise
    /// of those that have finished, or of the next one. `None` once all have been returned. Cancel safe:
    /// dropping the future loses nothing.
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
        // Providers that were asked again answer once more.
        let Some(open) =
            self.pending_packages.get_mut(&asked.package).filter(|open| open.generation == asking)
        else {
            return;
        };
        open.unanswered = open.unanswered.saturating_sub(1);
        open.answered.push(provider.unwrap_or_else(|| {
            let reason = "the scan failed inside Toolway".to_owned();
            ToolProvider { state: ProviderState::Unavailable { reason }, ..asked }
        }));
    }
}

/// Lists a provider's tools, and requests its description if it is not known.
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
    // Compiling hundreds of schemas takes time, so it runs on a blocking thread.
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

/// Calls a method that only reads in every dialect. Runs no tool.
async fn ask(
    reach: &ProviderClient,
    provider: &ToolProvider,
    method: &str,
    timeout: Duration,
    optional: bool,
) -> Result<Option<Bundle>, ProviderCallError> {
    let effort = ProviderCallOptions { repeatable: true, launch_until: None, optional };
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

/// Returns the state of a provider that gave no answer.
fn state_for_call_error(
    unreached: ProviderCallError,
    permission: Option<&str>,
    way_out: &str,
) -> ProviderState {
    match unreached {
        ProviderCallError::Call(CallFailure::Security(message)) => ProviderState::Refused {
            refusal: RefusalReason::MissingPermission,
            reason: match permission {
                Some(permission) => format!("calls require the permission {permission}: {message}"),
                None => message,
            },
            hint: Some(way_out.to_owned()),
        },
        // The reason says what this host can't do; a permission does not help.
        ProviderCallError::Call(CallFailure::Unsupported(reason)) => {
            ProviderState::Refused { refusal: RefusalReason::Unsupported, reason, hint: None }
        }
        ProviderCallError::Call(CallFailure::TooLarge(said)) => ProviderState::Unavailable {
            reason: format!("its list of tools is too large for Android: {said}"),
        },
        ProviderCallError::Call(CallFailure::Died(said)) => {
            ProviderState::Unavailable { reason: format!("it crashed while listing its tools: {said}") }
        }
        ProviderCallError::Job(missed @ (JobError::TimedOut | JobError::Hanging)) => {
            ProviderState::Unavailable { reason: format!("{missed}; its tools return when it answers") }
        }
        other => ProviderState::Unavailable { reason: other.to_string() },
    }
}

/// Returns the state of a provider that failed to list its tools.
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
            hint: Some("allow access in the settings of the app, if it supports that".to_owned()),
        },
        other => ProviderState::Unavailable { reason: other.to_string() },
    }
}
