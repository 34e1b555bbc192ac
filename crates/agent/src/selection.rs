//! Chooses the tools of a request: first those of the chat's own connection and those that the agent names,
//! then those that were used or found most recently, then the others, as many as the model accepts. The model
//! can find the rest with `find_tools`. The same tools give the same set, and the same bytes in the request.

mod definition_cache;
mod recent_tools;

use std::sync::{Arc, Weak};

use toolway_core::{Caller, CallerRegistration, Engine, Policy, RegistrySnapshot, ToolLookup, ToolSpec};
use toolway_models::{ModelProvider, ToolDefinition, ToolSet};
use toolway_types::{ExposedName, ToolId};

use crate::agents::{Agent, FIND_TOOLS};
use crate::models::ModelRef;
use recent_tools::RecentTools;

pub(crate) use definition_cache::DefinitionCache;

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
    last: Option<(SelectionKey, SelectedTools)>,
}

/// Everything that a selection depends on.
#[derive(Debug)]
struct SelectionKey {
    generation: u64,
    policy: Weak<Policy>,
    provider: Weak<dyn ModelProvider>,
    limit: usize,
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
}

/// Priority of a tool; smaller is higher.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
enum ToolRank {
    /// A tool of the chat's own connection.
    Own,
    /// A tool that the agent names, in its order.
    Named(usize),
    /// A tool that was used or found, the most recent first.
    Recent(usize),
    /// Any other tool.
    Other,
}

impl ToolSelector {
    pub(crate) fn new(shelf: Arc<DefinitionCache>) -> Self {
        Self { definition_cache: shelf, recent: RecentTools::default(), last: None }
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
        let limit = tool_limit(choice);
        if let Some((seen, selected)) = &self.last
            && seen.generation == generation
            && seen.limit == limit
            && seen.registration == choice.caller.registration
            && seen.recent == self.recent.version()
            && std::ptr::eq(seen.policy.as_ptr(), Arc::as_ptr(&policy))
            && std::ptr::addr_eq(seen.provider.as_ptr(), Arc::as_ptr(provider))
        {
            return selected.clone();
        }
        let selected = self.choose(choice, &policy, limit);
        let seen = SelectionKey {
            generation,
            policy: Arc::downgrade(&policy),
            provider: Arc::downgrade(provider),
            limit,
            registration: choice.caller.registration.clone(),
            recent: self.recent.version(),
        };
        self.last = Some((seen, selected.clone()));
        selected
    }

    fn choose(&self, choice: &SelectionInput<'_>, policy: &Policy, limit: usize) -> SelectedTools {
        let snapshot = choice.engine.registry().snapshot();
        let mut candidates = self.candidates(choice, policy, &snapshot);
        let is_find = |it: &ToolCandidate<'_>| it.rank != ToolRank::Own && is_find_tools(&it.id);
        let find = candidates.iter().position(is_find).map(|at| candidates.remove(at));
        // The agent's patterns may name it like any other tool; otherwise it is included only if tools are
        // omitted.
        let is_wanted = find.as_ref().is_some_and(|find| choice.agent.scope.includes(&find.id));
        candidates.sort_by(|a, b| a.rank.cmp(&b.rank).then_with(|| a.id.cmp(&b.id)));
        // All of the caller's own tools are included: the provider reports those that it can't accept.
        let mut chosen = choice.client_tools.to_vec();
        let room = limit.saturating_sub(chosen.len());
        let all_fit = candidates.len() + usize::from(is_wanted) <= room;
        let has_find = find.is_some() && (is_wanted || !all_fit) && room > 0;
        let mut left = room - usize::from(has_find);
        let (mut too_many, mut not_expressible) = (0, Vec::new());
        for candidate in &candidates {
            if left == 0 {
                too_many += 1;
                continue;
            }
            let definition = self.definition_cache.definition(&candidate.name, candidate.spec);
            match choice.model.provider.convert_tool(&definition) {
                Ok(_) => {
                    chosen.push(definition);
                    left -= 1;
                }
                Err(why) => not_expressible.push((candidate.name.clone(), why.to_string())),
            }
        }
        if let Some(find) = find.filter(|_| has_find) {
            chosen.push(self.definition_cache.definition(&find.name, find.spec));
        }
        SelectedTools {
            tools: self.definition_cache.set(chosen),
            omitted: too_many,
            can_find: has_find,
            not_expressible: not_expressible.into(),
        }
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
            let rank = self.rank(choice, &id, of_own.is_some(), &[&name, &full]);
            candidates.push(ToolCandidate { rank, id, name, spec });
        }
        candidates
    }

    fn rank(&self, choice: &SelectionInput<'_>, id: &ToolId, is_own: bool, names: &[&str]) -> ToolRank {
        if is_own {
            return ToolRank::Own;
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

/// Returns the maximum number of tools of a request: the minimum of agent (or setting), model and provider.
fn tool_limit(choice: &SelectionInput<'_>) -> usize {
    let agents = choice.agent.definition.max_tools.unwrap_or(choice.max_tools);
    let models = choice.model.facts.max_tools.unwrap_or(usize::MAX);
    agents.min(models).min(choice.model.provider.limits().max_tools)
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
