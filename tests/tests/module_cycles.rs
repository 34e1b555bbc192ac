//! The modules of every crate form no cycle: sibling modules never need each other in both directions, neither
//! directly nor through others.
//!
//! A module needs another one if code of its subtree names something of the other's subtree. Tests don't count, and
//! neither does the relation of a module and its own children.

#![allow(clippy::unwrap_used, clippy::indexing_slicing, reason = "helpers of tests fail by panicking")]

use std::fmt::Write as _;
use std::fs;
use std::path::{Path, PathBuf};

use graph::{Cycle, cycles};
use tree::{ModuleTree, Sources};

#[path = "module_cycles/graph.rs"]
mod graph;
#[path = "module_cycles/lexer.rs"]
mod lexer;
#[path = "module_cycles/made_up_crates.rs"]
mod made_up_crates;
#[path = "module_cycles/syntax.rs"]
mod syntax;
#[path = "module_cycles/tree.rs"]
mod tree;

fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).parent().unwrap().to_owned()
}

/// The folders of all packages, from the repository's root.
fn packages() -> Vec<String> {
    fn walk(folder: &Path, found: &mut Vec<PathBuf>) {
        if folder.join("Cargo.toml").is_file() && folder.join("src").is_dir() {
            found.push(folder.to_owned());
        }
        for entry in fs::read_dir(folder).unwrap() {
            let path = entry.unwrap().path();
            let name = path.file_name().unwrap().to_string_lossy().into_owned();
            if path.is_dir() && !matches!(name.as_str(), "src" | "node_modules" | "target") {
                walk(&path, found);
            }
        }
    }
    let mut found = Vec::new();
    for folder in ["crates", "bench", "tests", "fuzz"] {
        walk(&root().join(folder), &mut found);
    }
    let names =
        found.iter().map(|path| path.strip_prefix(root()).unwrap().to_string_lossy().replace('\\', "/"));
    names.collect()
}

fn sources(folder: &Path) -> Sources {
    fn walk(top: &Path, folder: &Path, found: &mut Sources) {
        for entry in fs::read_dir(folder).unwrap() {
            let path = entry.unwrap().path();
            if path.is_dir() {
                walk(top, &path, found);
            } else if path.extension().is_some_and(|end| end == "rs") {
                let name = path.strip_prefix(top).unwrap().to_string_lossy().replace('\\', "/");
                found.insert(name, fs::read_to_string(&path).unwrap());
            }
        }
    }
    let mut found = Sources::new();
    walk(folder, folder, &mut found);
    found
}

/// The root files of a package's crates: the library and the programs.
fn crate_roots(sources: &Sources) -> Vec<&str> {
    let is_root = |file: &str| match file.strip_prefix("bin/") {
        None => matches!(file, "lib.rs" | "main.rs"),
        Some(program) => {
            !program.contains('/') || program.ends_with("/main.rs") && program.matches('/').count() == 1
        }
    };
    sources.keys().map(String::as_str).filter(|file| is_root(file)).collect()
}

fn describe(package: &str, cycle: &Cycle) -> String {
    let parent =
        ["crate"].into_iter().chain(cycle.parent.iter().map(String::as_str)).collect::<Vec<_>>().join("::");
    let members = cycle.members.iter().map(String::as_str).collect::<Vec<_>>().join(", ");
    let mut text = format!("{package}: the modules {members} of {parent} form a cycle:\n");
    for ((from, to), places) in &cycle.edges {
        let shown = places.iter().take(4).map(|place| format!("src/{}:{}", place.file, place.line));
        let more =
            places.len().checked_sub(5).map_or(String::new(), |more| format!(" and {} more", more + 1));
        writeln!(text, "    {from} -> {to} at {}{more}", shown.collect::<Vec<_>>().join(", ")).unwrap();
    }
    text
}

#[test]
fn sibling_modules_form_no_cycle() {
    let packages = packages();
    assert!(packages.len() > 15, "{packages:?}");
    let mut found = String::new();
    for package in packages {
        let sources = sources(&root().join(&package).join("src"));
        for file in crate_roots(&sources) {
            let tree = ModuleTree::read(&sources, file);
            for cycle in cycles(&tree, |_, _, _| false) {
                found.push_str(&describe(&package, &cycle));
            }
        }
    }
    assert!(found.is_empty(), "\n{found}");
}
