//! Chooses the tools of a request. Built-in tools and tools that the agent names are always included. The tools
//! that were used or found most recently follow, then the others: each source gets an equal share, and the tools
//! that fit the conversation come first. The model can find the rest with `find_tools`. The same tools give the
//! same set, and the same bytes in the request.

mod conversation_words;
mod definition_cache;
mod fair_share;
mod recent_tools;

use std::collections::HashMap;
use std::sync::{Arc, Weak};

use toolway_core::tool_search::{ToolSearchQuery, ToolSearchRank};
use toolway_core::{Caller, CallerRegistration, Engine, Policy, RegistrySnapshot, ToolLookup, ToolSpec};
use toolway_models::{ModelProvider, ToolDefinition, ToolSet};
use toolway_types::{ExposedName, Slug, ToolId};

use crate::agents::{Agent, FIND_TOOLS};
use crate::models::ModelRef;
use fair_share::FairShare;
use recent_tools::RecentTools;

pub(crate) use conversation_words::conversation_query;
pub(crate) use definition_cache::DefinitionCache;

/// Maximum length of names and descriptions that one selection compares with the conversation, in bytes: some
/// milliseconds. Tools beyond it count as not matching.
const MAX_COMPARED_BYTES: usize = 1 << 20;
/// Maximum length of a name and description that are compared, in bytes.
const MAX_COMPARED_TOOL_BYTES: usize = 16 << 10;

/// The tools of one request.
#[derive(Debug, Clone, Default)]
pub(crate) struct SelectedTools {
    /// The tools.
    pub(crate) tools: Arc<ToolSet>,
    /// Number of tools omitted because there are too many.
    pub(crate) omitted: usize,
    /// True if the model can find the omitted tools.
    pub(crate) can_find: bool,
    /// Tools that can't be expressed for this model, with the reasons.
    pub(crate) not_expressible: Arc<[(String, String)]>,
}

/// Input of a selection.
pub(crate) struct SelectionInput<'c> {
    pub(crate) engine: &'c Engine,
    pub(crate) caller: &'c Caller,
    pub(crate) agent: &'c Arc<Agent>,
    pub(crate) model: &'c ModelRef,
    /// Maximum number of tools if neither agent nor model has a limit.
    pub(crate) max_tools: usize,
    /// Tools that the caller runs itself. They come first and hide others with their names. Like agent and
    /// setting, they are the same for all selections of one selector.
    pub(crate) client_tools: &'c [Arc<ToolDefinition>],
}

/// Chooses the tools for the requests of a conversation.
#[derive(Debug)]
pub(crate) struct ToolSelector {
    definition_cache: Arc<DefinitionCache>,
    recent: RecentTools,
    /// Words of the conversation, with which tools are compared.
    query: Option<ToolSearchQuery>,
    last: Option<(SelectionKey, SelectedTools)>,
}

/// Everything that a selection depends on.
#[derive(Debug)]
struct SelectionKey {
    generation: u64,
    policy: Weak<Policy>,
    provider: Weak<dyn ModelProvider>,
    limits: ToolLimits,
    registration: Option<CallerRegistration>,
    recent: u64,
}

/// A tool that may be chosen.
struct ToolCandidate<'s> {
    rank: ToolRank,
    id: ToolId,
    /// Name for the model.
    name: String,
    spec: &'s Arc<ToolSpec>,
    /// True for a tool of the chat's own connection.
    is_own: bool,
}

/// Priority of a tool; smaller is higher.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
enum ToolRank {
    /// A built-in tool.
    BuiltIn,
    /// A tool that the agent names, in its order.
    Named(usize),
    /// A tool that was used or found, the most recent first.
    Recent(usize),
    /// Any other tool.
    Other,
}

impl ToolRank {
    /// True if the tool is included although the request has enough tools.
    fn is_always_included(self) -> bool {
        matches!(self, Self::BuiltIn | Self::Named(_))
    }
}

/// Maximum numbers of tools of a request.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct ToolLimits {
    /// Maximum of the model and its provider, for all tools.
    hard: usize,
    /// Maximum of agent or setting, and of `hard`. Built-in and named tools may exceed it.
    usual: usize,
}

impl ToolSelector {
    pub(crate) fn new(shelf: Arc<DefinitionCache>) -> Self {
        Self { definition_cache: shelf, recent: RecentTools::default(), query: None, last: None }
    }

    /// Sets the words of the conversation.
    pub(crate) fn set_query(&mut self, query: Option<ToolSearchQuery>) {
        self.query = query;
        self.last = None;
    }

    /// Returns the tools that the conversation has used or found.
    pub(crate) fn recent(&mut self) -> &mut RecentTools {
        &mut self.recent
    }

    /// Chooses the tools for the next request.
    pub(crate) fn select(&mut self, choice: &SelectionInput<'_>) -> SelectedTools {
        let generation = *choice.engine.registry().changes().borrow();
        let policy = choice.engine.policy();
        let provider = &choice.model.provider;
        let limits = tool_limits(choice);
        if let Some((seen, selected)) = &self.last
            && seen.generation == generation
            && seen.limits == limits
            && seen.registration == choice.caller.registration
            && seen.recent == self.recent.version()
            && std::ptr::eq(seen.policy.as_ptr(), Arc::as_ptr(&policy))
            && std::ptr::addr_eq(seen.provider.as_ptr(), Arc::as_ptr(provider))
        {
            return selected.clone();
        }
        let selected = self.choose(choice, &policy, limits);
        let seen = SelectionKey {
            generation,
            policy: Arc::downgrade(&policy),
            provider: Arc::downgrade(provider),
            limits,
            registration: choice.caller.registration.clone(),
            recent: self.recent.version(),
        };
        self.last = Some((seen, selected.clone()));
        selected
    }

    fn choose(&self, choice: &SelectionInput<'_>, policy: &Policy, limits: ToolLimits) -> SelectedTools {
        let snapshot = choice.engine.registry().snapshot();
        let mut candidates = self.candidates(choice, policy, &snapshot);
        let find = candidates.iter().position(|it| is_find_tools(&it.id)).map(|at| candidates.remove(at));
        // The agent's patterns may name it like any other tool; otherwise it is included only if tools are
        // omitted.
        let is_wanted = find.as_ref().is_some_and(|find| choice.agent.scope.includes(&find.id));
        candidates.sort_by(|a, b| a.rank.cmp(&b.rank).then_with(|| a.id.cmp(&b.id)));
        // All of the caller's own tools are included: the provider reports those that it can't accept.
        let chosen = choice.client_tools.to_vec();
        let hard = limits.hard.saturating_sub(chosen.len());
        let usual = limits.usual.saturating_sub(chosen.len());
        let all = candidates.len() + usize::from(is_wanted);
        let all_fit = match candidates.iter().all(|it| it.rank.is_always_included()) {
            true => all <= hard,
            false => all <= usual,
        };
        let has_find = find.is_some() && (is_wanted || !all_fit) && hard > 0;
        let mut list = ToolListBuilder {
            cache: &self.definition_cache,
            model: choice.model,
            chosen,
            hard_room: hard - usize::from(has_find),
            usual_room: usual.saturating_sub(usize::from(has_find)),
            per_source: HashMap::new(),
            considered: 0,
            not_expressible: Vec::new(),
        };
        let mut others = Vec::new();
        for candidate in &candidates {
            match candidate.rank {
                ToolRank::Other => others.push(candidate),
                rank => _ = list.include(candidate, rank.is_always_included()),
            }
        }
        let room = list.usual_room.min(list.hard_room);
        if others.len() <= room {
            for candidate in others {
                list.include(candidate, false);
            }
        } else if room > 0 {
            let ranks = self.compare(&others);
            let mut share = FairShare::new(others.into_iter().zip(ranks), &list.per_source);
            share.fill(room, |candidate| list.include(candidate, false));
        }
        let omitted = candidates.len() - list.considered;
        let ToolListBuilder { mut chosen, not_expressible, .. } = list;
        if let Some(find) = find.filter(|_| has_find) {
            chosen.push(self.definition_cache.definition(&find.name, find.spec));
        }
        SelectedTools {
            tools: self.definition_cache.set(chosen),
            omitted,
            can_find: has_find,
            not_expressible: not_expressible.into(),
        }
    }

    /// Compares tools with the conversation.
    fn compare(&self, candidates: &[&ToolCandidate<'_>]) -> Vec<Option<ToolSearchRank>> {
        let Some(query) = &self.query else { return vec![None; candidates.len()] };
        let mut left = MAX_COMPARED_BYTES;
        let compare = |candidate: &&ToolCandidate<'_>| {
            let bytes = candidate.id.tool.as_str().len() + candidate.spec.description().len();
            if bytes > MAX_COMPARED_TOOL_BYTES {
                return None;
            }
            left = left.checked_sub(bytes)?;
            query.rank(&candidate.id, candidate.spec)
        };
        candidates.iter().map(compare).collect()
    }

    fn candidates<'s>(
        &self,
        choice: &SelectionInput<'_>,
        policy: &Policy,
        snapshot: &'s RegistrySnapshot,
    ) -> Vec<ToolCandidate<'s>> {
        let caller = choice.caller;
        let own = caller.registration.as_ref().and_then(|own| Some((own, snapshot.source(&own.source)?)));
        let own_tools = own.map_or(&[][..], |(own, source)| source.tools_of(own.lease));
        let mut candidates = Vec::new();
        for (id, tool) in snapshot.tools() {
            let of_own = own.filter(|(own, _)| own.source == id.source).and_then(|_| {
                let name = |tool: &Arc<dyn toolway_core::Tool>| tool.spec().name().clone();
                let at = own_tools.binary_search_by_key(&id.tool, name).ok()?;
                own_tools.get(at)
            });
            let spec = of_own.unwrap_or(tool).spec();
            if !policy.may_use(caller, &id, Some(spec)) {
                continue;
            }
            let full = id.full_name().to_string();
            let name = match of_own {
                Some(_) if resolves_by_bare_name(snapshot, caller, &id) => id.tool.to_string(),
                _ => full.clone(),
            };
            if choice.client_tools.iter().any(|tool| tool.name == name) {
                continue;
            }
            let rank = self.rank(choice, &id, &[&name, &full]);
            candidates.push(ToolCandidate { rank, id, name, spec, is_own: of_own.is_some() });
        }
        candidates
    }

    fn rank(&self, choice: &SelectionInput<'_>, id: &ToolId, names: &[&str]) -> ToolRank {
        if id.source.is_builtin() {
            return ToolRank::BuiltIn;
        }
        if !choice.agent.named_tools.is_empty() {
            let text = id.to_string();
            if let Some(at) = choice.agent.named_tools.iter().position(|named| *named == text) {
                return ToolRank::Named(at);
            }
        }
        match names.iter().filter_map(|name| self.recent.recency(name)).min() {
            Some(place) => ToolRank::Recent(place),
            None => ToolRank::Other,
        }
    }
}

/// A list of tools that is being built.
struct ToolListBuilder<'b> {
    cache: &'b DefinitionCache,
    model: &'b ModelRef,
    chosen: Vec<Arc<ToolDefinition>>,
    hard_room: usize,
    usual_room: usize,
    /// Number of included tools by source.
    per_source: HashMap<Slug, usize>,
    /// Number of tools that are included or can't be expressed.
    considered: usize,
    not_expressible: Vec<(String, String)>,
}

impl ToolListBuilder<'_> {
    /// Includes a tool if there is room and the model accepts it. Returns true if it did.
    fn include(&mut self, candidate: &ToolCandidate<'_>, is_always_included: bool) -> bool {
        if self.hard_room == 0 || (self.usual_room == 0 && !is_always_included) {
            return false;
        }
        self.considered += 1;
        let definition = self.cache.definition(&candidate.name, candidate.spec);
        if let Err(why) = self.model.provider.convert_tool(&definition) {
            self.not_expressible.push((candidate.name.clone(), why.to_string()));
            return false;
        }
        self.chosen.push(definition);
        self.hard_room -= 1;
        self.usual_room = self.usual_room.saturating_sub(1);
        *self.per_source.entry(candidate.id.source.clone()).or_default() += 1;
        true
    }
}

/// Returns the maximum numbers of tools of a request.
fn tool_limits(choice: &SelectionInput<'_>) -> ToolLimits {
    let models = choice.model.facts.max_tools.unwrap_or(usize::MAX);
    let hard = models.min(choice.model.provider.limits().max_tools);
    let usual = choice.agent.definition.max_tools.unwrap_or(choice.max_tools).min(hard);
    ToolLimits { hard, usual }
}

/// Returns true if the bare name of a tool of the caller's own connection resolves to it: no built-in or own
/// tool has this name, it is not the full name of another tool, and it is valid for models.
fn resolves_by_bare_name(snapshot: &RegistrySnapshot, caller: &Caller, id: &ToolId) -> bool {
    id.tool.as_str().parse::<ExposedName>().is_ok()
        && matches!(
            snapshot.lookup(id.tool.as_str(), caller, |_, _| true),
            ToolLookup::Found(found, ..) if found == *id
        )
}

fn is_find_tools(id: &ToolId) -> bool {
    id.source.is_builtin() && FIND_TOOLS.strip_prefix("builtin/") == Some(id.tool.as_str())
}

#[cfg(test)]
mod tests;
