//! The list of providers, and the tools that a device offers for them.

use std::collections::{BTreeMap, HashSet};
use std::sync::Arc;

use toolway_device::{AppProvider, Tool};
use toolway_types::{SpecDocument, ToolName};

use crate::bounds;
use crate::execute::Executor;
use crate::naming::{Claim, Names, REMEMBERED};
use crate::provider::{Provider, State};
use crate::report;
use crate::scan::KnownInfo;

/// Providers with their tools as the device takes them. A provider that stays as it was keeps its tools, whose
/// schemas are not compiled again.
pub(super) struct List {
    others: Vec<Tool>,
    names: Names,
    /// Why names that were to be given could not be kept, and so were not.
    unkept: Option<String>,
    /// The tools that the gateway did not take, with the reason.
    rejected: BTreeMap<String, String>,
    executor: Executor,
    providers: Vec<Provider>,
    /// Beside `providers`, place by place.
    tools: Vec<Vec<Tool>>,
}

impl List {
    pub(super) fn new(others: Vec<Tool>, names: Names, executor: Executor) -> Self {
        Self {
            others,
            names,
            unkept: None,
            rejected: BTreeMap::new(),
            executor,
            providers: Vec::new(),
            tools: Vec::new(),
        }
    }

    pub(super) fn providers(&self) -> &[Provider] {
        &self.providers
    }

    /// Those that want to be allowed.
    pub(super) fn authorities_to_allow(&self) -> HashSet<String> {
        self.providers
            .iter()
            .filter(|provider| matches!(provider.state, State::AuthorizationRequired { .. }))
            .map(|provider| provider.authority.clone())
            .collect()
    }

    /// Gives names to those who have none, and has them kept. One that could not be kept is not given: after the next
    /// start it might be another's.
    pub(super) fn name(&mut self, claims: &[Claim], keep: impl FnOnce(&Names) -> Result<(), String>) {
        let mut names = self.names.clone();
        self.unkept = None;
        if names.assign(claims) {
            match keep(&names) {
                Ok(()) => self.names = names,
                Err(reason) => self.unkept = Some(reason),
            }
        }
    }

    /// What the gateway does not take, where it has said so. Whether that is news.
    pub(super) fn rejected(&mut self, rejected: Option<BTreeMap<String, String>>) -> bool {
        match rejected {
            Some(rejected) if rejected != self.rejected => {
                self.rejected = rejected;
                true
            }
            _ => false,
        }
    }

    /// What those who were asked before said of themselves.
    pub(super) fn known(&self) -> KnownInfo {
        let ready = self.providers.iter().filter(|provider| provider.state == State::Ready);
        ready.map(|provider| (provider.owner(), provider.info.clone())).collect()
    }

    /// Drops the providers of packages that are gone.
    pub(super) fn retain(&mut self, stays: impl Fn(&str) -> bool) {
        let all = std::mem::take(&mut self.providers).into_iter().zip(std::mem::take(&mut self.tools));
        (self.providers, self.tools) = all.filter(|(provider, _)| stays(&provider.package)).unzip();
    }

    /// Puts what was found in the place of what there was of the same packages.
    pub(super) async fn swap(&mut self, found: Vec<Provider>) {
        let packages: HashSet<String> = found.iter().map(|provider| provider.package.clone()).collect();
        let all = std::mem::take(&mut self.providers).into_iter().zip(std::mem::take(&mut self.tools));
        let (old, mut all): (Vec<_>, Vec<_>) =
            all.partition(|(provider, _)| packages.contains(&provider.package));
        for provider in found {
            let provider = self.named(provider);
            let same = old.iter().find(|(before, _)| is_called_alike(before, &provider));
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
    pub(super) fn unreachable(&mut self, authority: &str, reason: String) {
        for (provider, tools) in self.providers.iter_mut().zip(&mut self.tools) {
            if provider.authority == authority && provider.state == State::Ready {
                take_away(provider, tools, &reason);
            }
        }
    }

    /// None of them can be reached.
    pub(super) fn all_unavailable(&mut self, reason: &str) {
        for (provider, tools) in self.providers.iter_mut().zip(&mut self.tools) {
            if !matches!(provider.state, State::Refused { .. }) {
                take_away(provider, tools, reason);
            }
        }
    }

    /// What the device offers, and what is said of each provider. Where there are more tools than a gateway takes, each
    /// provider gives up those at the end of its list that are above an equal share.
    pub(super) fn offer(&self) -> (Vec<Tool>, Vec<AppProvider>) {
        let mut tools = self.others.clone();
        let taken: HashSet<&str> = self.others.iter().map(Tool::name).collect();
        let share =
            share(self.tools.iter().map(Vec::len), bounds::ALL_TOOLS.saturating_sub(self.others.len()));
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
                    let is_it =
                        |spec: &SpecDocument| provider.exposed(&spec.name).as_deref() == Some(tool.name());
                    let own_name =
                        provider.tools.iter().find(|spec| is_it(spec)).map(|spec| spec.name.as_str());
                    row.notes.refuse(own_name, reason);
                    row.tools.retain(|spec| !is_it(spec));
                }
                if !taken.contains(tool.name()) {
                    tools.push(tool.clone());
                }
            }
            rows.push(report::row(&row));
        }
        (tools, rows)
    }

    fn named(&self, mut provider: Provider) -> Provider {
        provider.prefix = self.names.of(&provider.owner()).map(str::to_owned);
        if matches!(provider.state, State::Refused { .. }) {
            return provider;
        }
        if provider.prefix.is_none() {
            provider.state = self.nameless(&provider);
            provider.tools.clear();
            return provider;
        }
        let too_long: Vec<String> = provider
            .tools
            .iter()
            .filter(|tool| provider.exposed(&tool.name).is_none_or(|name| name.parse::<ToolName>().is_err()))
            .map(|tool| tool.name.clone())
            .collect();
        for tool in &too_long {
            provider.notes.refuse(Some(tool), "its name is too long with the app's before it");
        }
        provider.tools.retain(|tool| !too_long.contains(&tool.name));
        provider
    }

    /// Why it has no name, and so no tools.
    fn nameless(&self, provider: &Provider) -> State {
        if provider.certificate.is_none() {
            return State::refused(
                "it can't be told who signed it, and its name must not pass to anybody else",
                "sign it with APK Signature Scheme v2 or newer",
            );
        }
        match &self.unkept {
            Some(reason) => State::Unavailable { reason: format!("its name could not be kept: {reason}") },
            None => State::refused(
                format!("{REMEMBERED} names of apps are remembered, and no more"),
                "forget all of them where they are kept: apps are then named anew, and what was granted to their \
                 tools counts no more",
            ),
        }
    }
}

/// Its tools as the device's.
fn tools_of(executor: &Executor, provider: Provider) -> Vec<Tool> {
    let shared = Arc::new(provider);
    shared
        .tools
        .iter()
        .filter_map(|spec| {
            let own_name = spec.name.clone();
            let spec = SpecDocument { name: shared.exposed(&own_name)?, ..spec.clone() };
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

fn take_away(provider: &mut Provider, tools: &mut Vec<Tool>, reason: &str) {
    provider.state = State::Unavailable { reason: reason.to_owned() };
    provider.tools.clear();
    tools.clear();
}

/// Whether calls of the one are calls of the other.
fn is_called_alike(a: &Provider, b: &Provider) -> bool {
    a.tools == b.tools
        && a.prefix == b.prefix
        && a.package == b.package
        && a.authority == b.authority
        && a.dialect == b.dialect
        && a.permission == b.permission
        && a.label == b.label
}

/// The largest number of tools a provider may have so that all together are not more than `most`.
fn share(counts: impl Iterator<Item = usize>, most: usize) -> usize {
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
