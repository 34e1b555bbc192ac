//! Finds the cycles among sibling modules.

use std::collections::{BTreeMap, BTreeSet};

use crate::tree::{ModulePath, ModuleTree, Place};

/// Sibling modules that need each other, directly or through others.
#[derive(Debug)]
pub(crate) struct Cycle {
    pub(crate) parent: ModulePath,
    pub(crate) members: BTreeSet<String>,
    /// The places where one member names another.
    pub(crate) edges: BTreeMap<(String, String), Vec<Place>>,
}

type Edges = BTreeMap<(String, String), Vec<Place>>;

/// Every cycle of a crate. `allowed` says which edge of which parent does not count.
pub(crate) fn cycles(tree: &ModuleTree, allowed: impl Fn(&[String], &str, &str) -> bool) -> Vec<Cycle> {
    let mut levels: BTreeMap<ModulePath, Edges> = BTreeMap::new();
    for (from, to, place) in tree.mentions() {
        let common = from.iter().zip(&to).take_while(|(one, other)| one == other).count();
        // Otherwise one contains the other.
        if let (Some(one), Some(other)) = (from.get(common), to.get(common))
            && !allowed(&from[..common], one, other)
        {
            let edges = levels.entry(from[..common].to_vec()).or_default();
            edges.entry((one.clone(), other.clone())).or_default().push(place.clone());
        }
    }
    levels.values_mut().flat_map(|edges| edges.values_mut()).for_each(|places| places.dedup());
    levels.into_iter().flat_map(|(parent, edges)| cycles_of_level(&parent, &edges)).collect()
}

fn cycles_of_level(parent: &ModulePath, edges: &Edges) -> Vec<Cycle> {
    let names: BTreeSet<_> = edges.keys().map(|(from, _)| from.clone()).collect();
    let reach: BTreeMap<_, _> = names.iter().map(|name| (name.clone(), reachable(name, edges))).collect();
    let mut left = names.clone();
    let mut found = Vec::new();
    while let Some(name) = left.pop_first() {
        let together = |other: &String| reach[&name].contains(other) && reach[other].contains(&name);
        let mut members: BTreeSet<_> = names.iter().filter(|other| together(other)).cloned().collect();
        if members.is_empty() {
            continue;
        }
        members.insert(name);
        left.retain(|other| !members.contains(other));
        let within = edges.iter().filter(|((from, to), _)| members.contains(from) && members.contains(to));
        let within = within.map(|(edge, places)| (edge.clone(), places.clone())).collect();
        found.push(Cycle { parent: parent.clone(), members, edges: within });
    }
    found
}

/// The modules that a module needs, directly or through others.
fn reachable(name: &str, edges: &Edges) -> BTreeSet<String> {
    let mut reached = BTreeSet::new();
    let mut pending = vec![name.to_owned()];
    while let Some(next) = pending.pop() {
        for (from, to) in edges.keys() {
            if *from == next && reached.insert(to.clone()) {
                pending.push(to.clone());
            }
        }
    }
    reached
}
