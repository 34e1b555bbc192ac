//! A cache of tool definitions and sets of them. Unchanged definitions stay the same objects, so that their
//! provider-specific forms, which are stored with them, are created only once.

use std::collections::{HashMap, VecDeque};
use std::sync::{Arc, Weak};

use parking_lot::Mutex;
use toolway_core::ToolSpec;
use toolway_models::{ToolDefinition, ToolSet};

/// Maximum number of cached definitions.
const MAX_DEFINITIONS: usize = 16_384;
/// Maximum number of cached sets.
const MAX_SETS: usize = 64;

/// Cached definitions and sets of all conversations.
#[derive(Debug, Default)]
pub(crate) struct DefinitionCache {
    definitions: Mutex<HashMap<String, Vec<CachedDefinition>>>,
    /// The most recently used first.
    sets: Mutex<VecDeque<Arc<ToolSet>>>,
}

/// A definition and its source.
#[derive(Debug)]
struct CachedDefinition {
    spec: Weak<ToolSpec>,
    definition: Arc<ToolDefinition>,
}

impl DefinitionCache {
    /// Returns the definition of a tool under a name.
    pub(super) fn definition(&self, name: &str, spec: &Arc<ToolSpec>) -> Arc<ToolDefinition> {
        let mut definitions = self.definitions.lock();
        let is_of = |made: &&CachedDefinition| std::ptr::eq(made.spec.as_ptr(), Arc::as_ptr(spec));
        if let Some(made) = definitions.get(name).and_then(|made| made.iter().find(is_of)) {
            return Arc::clone(&made.definition);
        }
        if definitions.len() >= MAX_DEFINITIONS {
            definitions.retain(|_, made| {
                made.retain(|made| made.spec.strong_count() > 0);
                !made.is_empty()
            });
            if definitions.len() >= MAX_DEFINITIONS {
                definitions.clear();
            }
        }
        let parameters = spec.parameters().raw().cloned();
        let definition = Arc::new(ToolDefinition::new(name, spec.description(), parameters));
        let made = definitions.entry(name.to_owned()).or_default();
        // A name usually has one spec, except while the spec changes or when two sources with the same name
        // follow each other.
        made.retain(|made| made.spec.strong_count() > 0);
        made.push(CachedDefinition { spec: Arc::downgrade(spec), definition: Arc::clone(&definition) });
        definition
    }

    /// Returns the set of these definitions.
    pub(super) fn set(&self, mut tools: Vec<Arc<ToolDefinition>>) -> Arc<ToolSet> {
        tools.sort_by(|a, b| a.name.cmp(&b.name));
        tools.dedup_by(|later, first| later.name == first.name);
        let mut sets = self.sets.lock();
        let known = sets.iter().position(|set| is_same(set.tools(), &tools));
        let set = match known.and_then(|at| sets.remove(at)) {
            Some(known) => known,
            None => Arc::new(ToolSet::new(tools)),
        };
        sets.push_front(Arc::clone(&set));
        sets.truncate(MAX_SETS);
        set
    }
}

fn is_same(one: &[Arc<ToolDefinition>], other: &[Arc<ToolDefinition>]) -> bool {
    one.len() == other.len() && one.iter().zip(other).all(|(a, b)| Arc::ptr_eq(a, b))
}
