//! Compares the registry with a simple model under random changes.

use std::collections::{BTreeMap, BTreeSet};

use proptest::prelude::*;
use toolway_types::{ExposedName, Role};

use super::*;
use crate::testkit::caller;

const SOURCES: [&str; 4] = ["phone", "pc", "own", "builtin"];
const NAMES: [&str; 7] = ["a", "b", "phone__a", "odd name", "pc__odd", "c", "pc/a"];

#[derive(Debug, Clone)]
enum RegistryChange {
    Lease(usize, bool),
    Replace(usize, Vec<usize>),
    Add(usize, Vec<usize>),
    Remove(usize, Vec<usize>),
    Drop(usize),
    Declare(usize, Vec<usize>),
    Forget(usize),
}

fn change() -> impl Strategy<Value = RegistryChange> {
    let names = || prop::collection::vec(0..NAMES.len(), 0..5);
    prop_oneof![
        3 => (0..SOURCES.len(), any::<bool>()).prop_map(|(source, keep)| RegistryChange::Lease(source, keep)),
        4 => (0..8usize, names()).prop_map(|(lease, names)| RegistryChange::Replace(lease, names)),
        2 => (0..8usize, names()).prop_map(|(lease, names)| RegistryChange::Add(lease, names)),
        2 => (0..8usize, names()).prop_map(|(lease, names)| RegistryChange::Remove(lease, names)),
        2 => (0..8usize).prop_map(RegistryChange::Drop),
        1 => (0..SOURCES.len(), names()).prop_map(|(source, names)| RegistryChange::Declare(source, names)),
        1 => (0..SOURCES.len()).prop_map(RegistryChange::Forget),
    ]
}

type ToolsByName = BTreeMap<String, Arc<dyn Tool>>;

/// A source of the model: its leases in the order of their last registration, and its known names.
#[derive(Default)]
struct ModelSource {
    leases: Vec<(LeaseId, ToolsByName)>,
    known: BTreeSet<String>,
}

impl ModelSource {
    fn live(&self) -> ToolsByName {
        self.leases.iter().flat_map(|(_, held)| held.clone()).collect()
    }
}

#[derive(Default)]
struct RegistryModel(BTreeMap<&'static str, ModelSource>);

impl RegistryModel {
    fn register(&mut self, source: &str, lease: LeaseId, edit: impl FnOnce(&mut ToolsByName)) {
        let Some(source) = self.0.get_mut(source) else { return };
        let Some(at) = source.leases.iter().position(|(id, _)| *id == lease) else { return };
        let (id, mut held) = source.leases.remove(at);
        edit(&mut held);
        source.leases.push((id, held));
        source.known = source.live().into_keys().collect();
    }

    fn drop(&mut self, name: &str, lease: LeaseId, keep: SourceRetention) {
        let Some(source) = self.0.get_mut(name) else { return };
        let had = source.leases.len();
        source.leases.retain(|(id, _)| *id != lease);
        if had == 1 && source.leases.is_empty() && keep == SourceRetention::Nothing {
            self.0.remove(name);
        } else if !source.live().is_empty() {
            source.known = source.live().into_keys().collect();
        }
    }

    /// Result of looking up a name without a connection, in short, and the tool if there is one.
    fn lookup(&self, text: &str) -> (String, Option<Arc<dyn Tool>>) {
        let all = || {
            self.0
                .iter()
                .flat_map(|(source, it)| it.known.iter().map(move |name| (*source, name.as_str(), it)))
        };
        let one = |(source, name, it): (&str, &str, &ModelSource)| match it.live().get(name) {
            Some(tool) => (format!("{source}/{name}"), Some(tool.clone())),
            None => (format!("away {source}/{name}"), None),
        };
        // Built-in tools are never offline; their full name is their bare name.
        let full = |(source, name, it): &(&str, &str, &ModelSource)| {
            let is_it = ExposedName::of(&slug(source), name).as_str() == text;
            is_it && (*source != "builtin" || it.live().contains_key(*name))
        };
        let id = |(source, name, it): &(&str, &str, &ModelSource)| {
            format!("{source}/{name}") == text && (*source != "builtin" || it.live().contains_key(*name))
        };
        if let Some(exact) = all().find(full).or_else(|| all().find(id)) {
            return one(exact);
        }
        let bare: Vec<_> = all().filter(|(_, name, _)| *name == text).collect();
        match bare.as_slice() {
            [] => ("unknown".to_owned(), None),
            _ if text.contains("__") || text.contains('/') => ("unknown".to_owned(), None),
            [only] => one(*only),
            several => {
                let ids = several.iter().map(|(source, name, _)| format!(" {source}/{name}"));
                (format!("which{}", ids.collect::<String>()), None)
            }
        }
    }
}

fn make_tools(names: &[usize]) -> Vec<Arc<dyn Tool>> {
    names.iter().map(|at| answering_tool(NAMES[*at], "x")).collect()
}

fn by_name(tools: &[Arc<dyn Tool>]) -> ToolsByName {
    tools.iter().map(|tool| (tool.spec().name().to_string(), tool.clone())).collect()
}

/// The registry and the model.
#[derive(Default)]
struct RegistryModelPair {
    registry: Arc<Registry>,
    leases: Vec<(&'static str, SourceRetention, Lease)>,
    model: RegistryModel,
}

impl RegistryModelPair {
    fn apply(&mut self, change: &RegistryChange) {
        match change {
            RegistryChange::Lease(source, keep) => {
                let source = SOURCES[*source];
                let keep = if *keep { SourceRetention::Names } else { SourceRetention::Nothing };
                let lease = self.registry.lease(slug(source), keep);
                self.model.0.entry(source).or_default().leases.push((lease.id(), ToolsByName::new()));
                self.leases.push((source, keep, lease));
            }
            RegistryChange::Declare(source, names) => {
                let source = SOURCES[*source];
                let names: Vec<_> = names.iter().map(|at| NAMES[*at]).collect();
                self.registry.declare(&slug(source), names.iter().map(|it| name(it)).collect());
                let source = self.model.0.entry(source).or_default();
                if source.leases.is_empty() {
                    source.known = names.into_iter().map(str::to_owned).collect();
                }
            }
            RegistryChange::Forget(source) => {
                self.registry.forget(&slug(SOURCES[*source]));
                self.model.0.remove(SOURCES[*source]);
            }
            RegistryChange::Drop(at) if !self.leases.is_empty() => {
                let (source, keep, lease) = self.leases.remove(at % self.leases.len());
                self.model.drop(source, lease.id(), keep);
                drop(lease);
            }
            RegistryChange::Replace(at, names) if !self.leases.is_empty() => {
                let (source, _, lease) = &self.leases[at % self.leases.len()];
                let tools = make_tools(names);
                lease.replace(tools.clone());
                self.model.register(source, lease.id(), |held| *held = by_name(&tools));
            }
            RegistryChange::Add(at, names) if !self.leases.is_empty() => {
                let (source, _, lease) = &self.leases[at % self.leases.len()];
                let tools = make_tools(names);
                lease.add(tools.clone());
                self.model.register(source, lease.id(), |held| held.extend(by_name(&tools)));
            }
            RegistryChange::Remove(at, names) if !self.leases.is_empty() => {
                let (source, _, lease) = &self.leases[at % self.leases.len()];
                let names: Vec<_> = names.iter().map(|at| NAMES[*at].to_owned()).collect();
                lease.remove(&names);
                self.model.register(source, lease.id(), |held| held.retain(|name, _| !names.contains(name)));
            }
            _ => {}
        }
    }

    fn compare(&self) -> Result<(), TestCaseError> {
        let snapshot = self.registry.snapshot();
        let sources: Vec<_> = snapshot.sources().map(|(slug, _)| slug.as_str()).collect();
        prop_assert_eq!(sources, self.model.0.keys().copied().collect::<Vec<_>>());
        for (source, expected) in &self.model.0 {
            let seen = snapshot.source(&slug(source)).unwrap();
            prop_assert_eq!(seen.is_online(), !expected.leases.is_empty());
            let known: Vec<_> = seen.known_names().iter().map(ToolName::as_str).collect();
            prop_assert_eq!(known, expected.known.iter().collect::<Vec<_>>());
            let live: Vec<_> = expected.live().into_values().collect();
            prop_assert_eq!(seen.tools().len(), live.len());
            prop_assert!(seen.tools().iter().zip(&live).all(|(seen, live)| Arc::ptr_eq(seen, live)));
        }
        let exposed = SOURCES
            .iter()
            .flat_map(|source| NAMES.iter().map(|name| ExposedName::of(&slug(source), name).to_string()));
        let ids = SOURCES.iter().flat_map(|source| NAMES.iter().map(move |name| format!("{source}/{name}")));
        let bare = NAMES.iter().map(|name| (*name).to_owned());
        for text in exposed.chain(ids).chain(bare) {
            let (expected, expected_tool) = self.model.lookup(&text);
            let found = snapshot.lookup(&text, &caller("x", Role::Client), |_, _| true);
            prop_assert_eq!(lookup::describe_lookup(&found), expected, "{}", text);
            match (found, expected_tool) {
                (ToolLookup::Found(_, tool, _), Some(expected)) => {
                    prop_assert!(Arc::ptr_eq(&tool, &expected))
                }
                (_, expected) => prop_assert!(expected.is_none()),
            }
        }
        // The index of bare names contains no unknown name.
        let known: BTreeSet<_> = self.model.0.values().flat_map(|source| source.known.clone()).collect();
        prop_assert_eq!(snapshot.by_bare_name.len(), known.len());
        Ok(())
    }
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 200, ..ProptestConfig::default() })]

    #[test]
    fn the_registry_matches_the_model(changes in prop::collection::vec(change(), 1..40)) {
        let mut pair = RegistryModelPair { registry: Registry::new(), ..RegistryModelPair::default() };
        for change in &changes {
            pair.apply(change);
            pair.compare()?;
        }
        pair.leases.clear();
        for source in SOURCES {
            pair.registry.forget(&slug(source));
        }
        let last = pair.registry.snapshot();
        prop_assert_eq!((last.sources().count(), last.by_bare_name.len()), (0, 0));
    }
}
