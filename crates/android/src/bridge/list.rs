//! The providers, and the tools that a device offers for them.

use std::collections::{BTreeMap, HashSet};
use std::sync::Arc;

use toolway_device::{AppProvider, Tool};
use toolway_types::{SpecDocument, ToolName};

use crate::bounds;
use crate::execution::ProviderToolExecutor;
use crate::naming::{MAX_REMEMBERED, NameClaim, ProviderNames};
use crate::prefixes::set_prefixes;
use crate::provider::{ProviderState, ToolProvider};
use crate::report;
use crate::scan::KnownProviderInfo;

/// Providers with their tools in the device's form. An unchanged provider keeps its tools, so their schemas
/// are not compiled again.
pub(super) struct ProviderList {
    other_tools: Vec<Tool>,
    names: ProviderNames,
    /// Reason why new names could not be stored and were not given.
    save_error: Option<String>,
    /// Tools that the gateway rejected, with the reasons.
    rejected: BTreeMap<String, String>,
    executor: ProviderToolExecutor,
    providers: Vec<ToolProvider>,
    /// Parallel to `providers`.
    tools: Vec<Vec<Tool>>,
}

impl ProviderList {
    pub(super) fn new(others: Vec<Tool>, names: ProviderNames, executor: ProviderToolExecutor) -> Self {
        Self {
            other_tools: others,
            names,
            save_error: None,
            rejected: BTreeMap::new(),
            executor,
            providers: Vec::new(),
            tools: Vec::new(),
        }
    }

    pub(super) fn providers(&self) -> &[ToolProvider] {
        &self.providers
    }

    /// Returns the authorities that require authorization.
    pub(super) fn authorities_to_allow(&self) -> HashSet<String> {
        self.providers
            .iter()
            .filter(|provider| matches!(provider.state, ProviderState::AuthorizationRequired { .. }))
            .map(|provider| provider.authority.clone())
            .collect()
    }

    /// Gives names to providers without one and stores them. A name that can't be stored is not given,
    /// because it could belong to another provider after the next start.
    pub(super) fn assign_names(
        &mut self,
        claims: &[NameClaim],
        keep: impl FnOnce(&ProviderNames) -> Result<(), String>,
    ) {
        let mut names = self.names.clone();
        self.save_error = None;
        if names.assign(claims) {
            match keep(&names) {
                Ok(()) => self.names = names,
                Err(reason) => self.save_error = Some(reason),
            }
        }
    }

    /// Stores the tools that the gateway rejected, if it has answered. Returns true if they have changed.
    pub(super) fn set_rejected(&mut self, rejected: Option<BTreeMap<String, String>>) -> bool {
        match rejected {
            Some(rejected) if rejected != self.rejected => {
                self.rejected = rejected;
                true
            }
            _ => false,
        }
    }

    /// Returns the self-descriptions of the known providers.
    pub(super) fn known(&self) -> KnownProviderInfo {
        let ready = self.providers.iter().filter(|provider| provider.state == ProviderState::Ready);
        ready.map(|provider| (provider.owner(), provider.info.clone())).collect()
    }

    /// Removes the providers of uninstalled packages.
    pub(super) fn retain(&mut self, stays: impl Fn(&str) -> bool) {
        let all = std::mem::take(&mut self.providers).into_iter().zip(std::mem::take(&mut self.tools));
        (self.providers, self.tools) = all.filter(|(provider, _)| stays(&provider.package)).unzip();
    }

    /// Replaces the providers of the packages in `found`.
    pub(super) async fn replace_providers(&mut self, mut found: Vec<ToolProvider>) {
        set_prefixes(&self.names, &mut found);
        let packages: HashSet<String> = found.iter().map(|provider| provider.package.clone()).collect();
        let all = std::mem::take(&mut self.providers).into_iter().zip(std::mem::take(&mut self.tools));
        let (old, mut all): (Vec<_>, Vec<_>) =
            all.partition(|(provider, _)| packages.contains(&provider.package));
        for provider in found {
            let provider = self.without_unnamed_tools(provider);
            let same = old.iter().find(|(before, _)| is_same_endpoint(before, &provider));
            let tools = match same {
                Some((_, tools)) => tools.clone(),
                None => {
                    // Compiling hundreds of schemas takes time, so it runs on a blocking thread.
                    let (executor, of) = (self.executor.clone(), provider.clone());
                    let made = tokio::task::spawn_blocking(move || tools_of(&executor, of));
                    made.await.unwrap_or_default()
                }
            };
            all.push((provider, tools));
        }
        all.sort_by(|(a, _), (b, _)| (&a.authority, &a.package).cmp(&(&b.authority, &b.package)));
        (self.providers, self.tools) = all.into_iter().unzip();
    }

    /// Marks a provider as unreachable.
    pub(super) fn mark_unreachable(&mut self, authority: &str, reason: String) {
        for (provider, tools) in self.providers.iter_mut().zip(&mut self.tools) {
            if provider.authority == authority && provider.state == ProviderState::Ready {
                drop_tools(provider, tools, &reason);
            }
        }
    }

    /// Marks all providers as unavailable.
    pub(super) fn mark_all_unavailable(&mut self, reason: &str) {
        for (provider, tools) in self.providers.iter_mut().zip(&mut self.tools) {
            if !matches!(provider.state, ProviderState::Refused { .. }) {
                drop_tools(provider, tools, reason);
            }
        }
    }

    /// Returns the tools of the device and the report on each provider. If there are more tools than the
    /// gateway accepts, each provider is limited to an equal share; the tools at the end of its list are
    /// omitted.
    pub(super) fn offered_tools(&self) -> (Vec<Tool>, Vec<AppProvider>) {
        let mut tools = self.other_tools.clone();
        let taken: HashSet<&str> = self.other_tools.iter().map(Tool::name).collect();
        let share = tools_per_provider(
            self.tools.iter().map(Vec::len),
            bounds::ALL_TOOLS.saturating_sub(self.other_tools.len()),
        );
        let mut rows = Vec::new();
        for (provider, own) in self.providers.iter().zip(&self.tools) {
            let mut row = provider.clone();
            if own.len() > share {
                let reason = format!("{} tools are left out: the phone offers too many", own.len() - share);
                row.notes.refuse(None, reason);
            }
            row.tools.truncate(share);
            for tool in own.iter().take(share) {
                let refused = match self.rejected.get(tool.name()) {
                    Some(reason) => Some(format!("rejected by the gateway: {reason}")),
                    None if taken.contains(tool.name()) => {
                        Some("this device already has a tool of this name".to_owned())
                    }
                    None => None,
                };
                if let Some(reason) = refused {
                    let is_it = |spec: &SpecDocument| {
                        provider.exposed_name(&spec.name).as_deref() == Some(tool.name())
                    };
                    let own_name =
                        provider.tools.iter().find(|spec| is_it(spec)).map(|spec| spec.name.as_str());
                    row.notes.refuse(own_name, reason);
                    row.tools.retain(|spec| !is_it(spec));
                }
                if !taken.contains(tool.name()) {
                    tools.push(tool.clone());
                }
            }
            rows.push(report::app_provider(&row));
        }
        (tools, rows)
    }

    /// Removes the tools that have no valid name on this phone.
    fn without_unnamed_tools(&self, mut provider: ToolProvider) -> ToolProvider {
        if matches!(provider.state, ProviderState::Refused { .. }) {
            return provider;
        }
        if provider.prefix.is_none() {
            provider.state = self.state_without_name(&provider);
            provider.tools.clear();
            return provider;
        }
        let too_long: Vec<String> = provider
            .tools
            .iter()
            .filter(|tool| {
                provider.exposed_name(&tool.name).is_none_or(|name| name.parse::<ToolName>().is_err())
            })
            .map(|tool| tool.name.clone())
            .collect();
        for tool in &too_long {
            provider.notes.refuse(Some(tool), "its name is too long after the prefix of the app");
        }
        provider.tools.retain(|tool| !too_long.contains(&tool.name));
        provider
    }

    /// Returns the state of a provider without a name, which has no tools.
    fn state_without_name(&self, provider: &ToolProvider) -> ProviderState {
        if provider.certificate.is_none() {
            return ProviderState::refused(
                "its signer is unknown, so its name could pass to another app",
                "sign it with APK Signature Scheme v2 or newer",
            );
        }
        match &self.save_error {
            Some(reason) => {
                ProviderState::Unavailable { reason: format!("its name can't be stored: {reason}") }
            }
            None => ProviderState::refused(
                format!("the maximum number of stored app names ({MAX_REMEMBERED}) is reached"),
                "delete the stored names: apps then get new names, and permissions for their tools are lost",
            ),
        }
    }
}

/// Converts a provider's tools to tools of the device.
fn tools_of(executor: &ProviderToolExecutor, provider: ToolProvider) -> Vec<Tool> {
    let shared = Arc::new(provider);
    shared
        .tools
        .iter()
        .filter_map(|spec| {
            let own_name = spec.name.clone();
            let spec = SpecDocument { name: shared.exposed_name(&own_name)?, ..spec.clone() };
            let (executor, provider) = (executor.clone(), Arc::clone(&shared));
            let tool = Tool::new(spec, move |args, cx| {
                let (executor, provider, own_name) =
                    (executor.clone(), Arc::clone(&provider), own_name.clone());
                async move { executor.run(&provider, &own_name, &args, &cx).await }
            });
            Some(if shared.dialect.is_read_only() { tool.read_only() } else { tool })
        })
        .collect()
}

fn drop_tools(provider: &mut ToolProvider, tools: &mut Vec<Tool>, reason: &str) {
    provider.state = ProviderState::Unavailable { reason: reason.to_owned() };
    provider.tools.clear();
    tools.clear();
}

/// Returns true if calls to `a` reach `b`.
fn is_same_endpoint(a: &ToolProvider, b: &ToolProvider) -> bool {
    a.tools == b.tools
        && a.prefix == b.prefix
        && a.tool_prefixes == b.tool_prefixes
        && a.package == b.package
        && a.authority == b.authority
        && a.dialect == b.dialect
        && a.permission == b.permission
        && a.label == b.label
}

/// Returns the largest number of tools per provider with a total of at most `most`.
fn tools_per_provider(counts: impl Iterator<Item = usize>, most: usize) -> usize {
    let mut counts: Vec<usize> = counts.collect();
    counts.sort_unstable();
    let mut left = most;
    let number = counts.len();
    for (at, count) in counts.into_iter().enumerate() {
        let each = left / (number - at);
        if count > each {
            return each;
        }
        left -= count;
    }
    usize::MAX
}
