//! The list of providers, and the tools that a device offers for them.

use std::collections::{BTreeMap, HashSet};
use std::sync::Arc;

use toolway_device::{AppProvider, Tool};
use toolway_types::{SpecDocument, ToolName};

use crate::bounds;
use crate::execution::ProviderToolExecutor;
use crate::naming::{MAX_REMEMBERED, NameClaim, ProviderNames};
use crate::provider::{ProviderState, ToolProvider};
use crate::report;
use crate::scan::KnownProviderInfo;

/// Providers with their tools as the device takes them. A provider that stays as it was keeps its tools, whose
/// schemas are not compiled again.
pub(super) struct ProviderList {
    other_tools: Vec<Tool>,
    names: ProviderNames,
    /// Why names that were to be given could not be kept, and so were not.
    save_error: Option<String>,
    /// The tools that the gateway did not take, with the reason.
    rejected: BTreeMap<String, String>,
    executor: ProviderToolExecutor,
    providers: Vec<ToolProvider>,
    /// Beside `providers`, place by place.
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

    /// Those that want to be allowed.
    pub(super) fn authorities_to_allow(&self) -> HashSet<String> {
        self.providers
            .iter()
            .filter(|provider| matches!(provider.state, ProviderState::AuthorizationRequired { .. }))
            .map(|provider| provider.authority.clone())
            .collect()
    }

    /// Gives names to those who have none, and has them kept. One that could not be kept is not given: after the next
    /// start it might be another's.
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

    /// What the gateway does not take, where it has said so. Whether that is news.
    pub(super) fn set_rejected(&mut self, rejected: Option<BTreeMap<String, String>>) -> bool {
        match rejected {
            Some(rejected) if rejected != self.rejected => {
                self.rejected = rejected;
                true
            }
            _ => false,
        }
    }

    /// What those who were asked before said of themselves.
    pub(super) fn known(&self) -> KnownProviderInfo {
        let ready = self.providers.iter().filter(|provider| provider.state == ProviderState::Ready);
        ready.map(|provider| (provider.owner(), provider.info.clone())).collect()
    }

    /// Drops the providers of packages that are gone.
    pub(super) fn retain(&mut self, stays: impl Fn(&str) -> bool) {
        let all = std::mem::take(&mut self.providers).into_iter().zip(std::mem::take(&mut self.tools));
        (self.providers, self.tools) = all.filter(|(provider, _)| stays(&provider.package)).unzip();
    }

    /// Puts what was found in the place of what there was of the same packages.
    pub(super) async fn replace_providers(&mut self, found: Vec<ToolProvider>) {
        let packages: HashSet<String> = found.iter().map(|provider| provider.package.clone()).collect();
        let all = std::mem::take(&mut self.providers).into_iter().zip(std::mem::take(&mut self.tools));
        let (old, mut all): (Vec<_>, Vec<_>) =
            all.partition(|(provider, _)| packages.contains(&provider.package));
        for provider in found {
            let provider = self.with_prefix(provider);
            let same = old.iter().find(|(before, _)| is_same_endpoint(before, &provider));
            let tools = match same {
                Some((_, tools)) => tools.clone(),
                None => {
                    // Compiling hundreds of schemas takes its time.
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

    /// A provider that calls can't reach any more.
    pub(super) fn mark_unreachable(&mut self, authority: &str, reason: String) {
        for (provider, tools) in self.providers.iter_mut().zip(&mut self.tools) {
            if provider.authority == authority && provider.state == ProviderState::Ready {
                drop_tools(provider, tools, &reason);
            }
        }
    }

    /// None of them can be reached.
    pub(super) fn mark_all_unavailable(&mut self, reason: &str) {
        for (provider, tools) in self.providers.iter_mut().zip(&mut self.tools) {
            if !matches!(provider.state, ProviderState::Refused { .. }) {
                drop_tools(provider, tools, reason);
            }
        }
    }

    /// What the device offers, and what is said of each provider. Where there are more tools than a gateway takes, each
    /// provider gives up those at the end of its list that are above an equal share.
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
                    Some(reason) => Some(format!("the gateway does not take it: {reason}")),
                    None if taken.contains(tool.name()) => {
                        Some("this device has a tool of that name already".to_owned())
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

    fn with_prefix(&self, mut provider: ToolProvider) -> ToolProvider {
        provider.prefix = self.names.get(&provider.owner()).map(str::to_owned);
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
            provider.notes.refuse(Some(tool), "its name is too long with the app's before it");
        }
        provider.tools.retain(|tool| !too_long.contains(&tool.name));
        provider
    }

    /// Why it has no name, and so no tools.
    fn state_without_name(&self, provider: &ToolProvider) -> ProviderState {
        if provider.certificate.is_none() {
            return ProviderState::refused(
                "it can't be told who signed it, and its name must not pass to anybody else",
                "sign it with APK Signature Scheme v2 or newer",
            );
        }
        match &self.save_error {
            Some(reason) => {
                ProviderState::Unavailable { reason: format!("its name could not be kept: {reason}") }
            }
            None => ProviderState::refused(
                format!("{MAX_REMEMBERED} names of apps are remembered, and no more"),
                "forget all of them where they are kept: apps are then named anew, and what was granted to their \
                 tools counts no more",
            ),
        }
    }
}

/// Its tools as the device's.
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

/// Whether calls of the one are calls of the other.
fn is_same_endpoint(a: &ToolProvider, b: &ToolProvider) -> bool {
    a.tools == b.tools
        && a.prefix == b.prefix
        && a.package == b.package
        && a.authority == b.authority
        && a.dialect == b.dialect
        && a.permission == b.permission
        && a.label == b.label
}

/// The largest number of tools a provider may have so that all together are not more than `most`.
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
