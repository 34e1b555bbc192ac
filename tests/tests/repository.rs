//! What must hold for the repository's documents and files.

#![allow(clippy::unwrap_used, clippy::indexing_slicing, reason = "helpers of tests fail by panicking")]

use std::fs;
use std::path::{Path, PathBuf};

/// Folders that are built or fetched, not written.
const EXCLUDED_FOLDERS: &[&str] =
    &[".git", "target", "node_modules", "__pycache__", ".venv", ".pytest_cache", "artifacts"];

fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).parent().unwrap().to_owned()
}

/// Every file of the repository, with its path from the root.
fn files() -> Vec<(String, PathBuf)> {
    fn walk(folder: &Path, found: &mut Vec<PathBuf>) {
        for entry in fs::read_dir(folder).unwrap() {
            let entry = entry.unwrap();
            let kind = entry.file_type().unwrap();
            if kind.is_dir() && !EXCLUDED_FOLDERS.contains(&entry.file_name().to_string_lossy().as_ref()) {
                walk(&entry.path(), found);
            } else if kind.is_file() {
                found.push(entry.path());
            }
        }
    }
    let mut found = Vec::new();
    walk(&root(), &mut found);
    found.sort();
    let named = |path: PathBuf| {
        let name = path.strip_prefix(root()).unwrap().to_string_lossy().replace('\\', "/");
        (name, path)
    };
    found.into_iter().map(named).collect()
}

fn documents() -> Vec<(String, PathBuf, String)> {
    let documents = files().into_iter().filter(|(name, _)| name.ends_with(".md"));
    documents.map(|(name, path)| (name, path.clone(), fs::read_to_string(&path).unwrap())).collect()
}

/// The targets of a document's links: `[text](target)`, outside code.
fn links(document: &str) -> Vec<String> {
    let mut found = Vec::new();
    for line in prose(document) {
        let mut rest = line.as_str();
        while let Some(start) = rest.find("](") {
            rest = &rest[start + 2..];
            if let Some(end) = rest.find(')') {
                found.push(rest[..end].to_owned());
            }
        }
    }
    found
}

/// The lines outside fenced code, without what stands between backquotes.
fn prose(document: &str) -> Vec<String> {
    let mut fenced = false;
    let mut lines = Vec::new();
    for line in document.lines() {
        if line.trim_start().starts_with("```") {
            fenced = !fenced;
        } else if !fenced {
            lines.push(line.split('`').step_by(2).collect::<Vec<_>>().join("`"));
        }
    }
    lines
}

/// The anchors of a document's headings, as code hosts make them.
fn anchors(document: &str) -> Vec<String> {
    let mut fenced = false;
    let mut found = Vec::new();
    for line in document.lines() {
        if line.trim_start().starts_with("```") {
            fenced = !fenced;
        }
        let Some(heading) = line.strip_prefix('#').filter(|_| !fenced) else { continue };
        let heading = heading.trim_start_matches('#').trim().to_lowercase();
        let kept = heading.chars().filter(|c| c.is_alphanumeric() || matches!(c, ' ' | '-' | '_'));
        found.push(kept.map(|c| if c == ' ' { '-' } else { c }).collect());
    }
    found
}

#[test]
fn no_link_within_the_repository_is_dead() {
    for (name, path, text) in documents() {
        for link in links(&text) {
            if link.contains("://") || link.starts_with("mailto:") {
                continue;
            }
            let (file, anchor) = link.split_once('#').unwrap_or((&link, ""));
            let target = if file.is_empty() { path.clone() } else { path.parent().unwrap().join(file) };
            assert!(target.exists(), "{name} links to {link}, which is not there");
            if !anchor.is_empty() {
                let there = anchors(&fs::read_to_string(&target).unwrap());
                assert!(there.iter().any(|it| it == anchor), "{name} links to {link}; there are {there:?}");
            }
        }
    }
}

/// Rust's documentation names documents too.
#[test]
fn documents_that_the_code_names_are_there() {
    for (name, path) in files().into_iter().filter(|(name, _)| name.ends_with(".rs")) {
        let text = fs::read_to_string(path).unwrap();
        for (start, _) in text.match_indices("docs/") {
            let named: String = text[start..]
                .chars()
                .take_while(|c| c.is_ascii_alphanumeric() || matches!(c, '/' | '.' | '-' | '_'))
                .collect();
            if named.ends_with(".md") {
                assert!(root().join(&named).is_file(), "{name} names {named}, which is not there");
            }
        }
    }
}

#[test]
fn the_changelog_has_a_place_for_what_is_not_released() {
    let text = fs::read_to_string(root().join("CHANGELOG.md")).unwrap();
    let sections: Vec<_> = text.lines().filter(|line| line.starts_with("## ")).collect();
    assert_eq!(sections.first(), Some(&"## [Unreleased]"));
}

#[test]
fn what_a_repository_should_have_is_there() {
    for name in [
        "README.md",
        "ARCHITECTURE.md",
        "CONTRIBUTING.md",
        "SECURITY.md",
        "CHANGELOG.md",
        "LICENSE-APACHE",
        "LICENSE-MIT",
        "Makefile",
        ".ci/run",
        "docs/protocol.md",
    ] {
        assert!(root().join(name).is_file(), "{name} is missing");
    }
}

/// No file tells on whose computer, or in which folder, it was made.
#[test]
fn no_file_holds_a_path_of_this_computer() {
    let home = std::env::var("HOME").unwrap_or_default();
    // One that is so short that it may mean anything (`/`, `/src`) can't be looked for.
    let telling = |folder: &str| !folder.is_empty() && Path::new(folder).components().count() > 2;
    let checkout = root().to_string_lossy().into_owned();
    let mut folders: Vec<_> = [home.clone(), checkout].into_iter().filter(|it| telling(it)).collect();
    // The home folder of whoever builds in a container.
    folders.extend((home == ["/ro", "ot"].concat()).then_some(home));
    for (name, path) in files() {
        let Ok(text) = fs::read_to_string(path) else { continue };
        for folder in &folders {
            assert!(!text.contains(&format!("{folder}/")), "{name} holds {folder}/");
        }
    }
}

/// Unfinished work is not left behind.
#[test]
fn nothing_is_marked_as_unfinished() {
    let words = [["TO", "DO"], ["FIX", "ME"], ["XX", "X"]].map(|parts| parts.concat());
    let code = |name: &str| [".rs", ".py", ".sh", ".toml", ".md"].iter().any(|end| name.ends_with(end));
    for (name, path) in files().into_iter().filter(|(name, _)| code(name)) {
        let Ok(text) = fs::read_to_string(path) else { continue };
        for word in text.split(|c: char| !c.is_ascii_alphanumeric()) {
            assert!(!words.iter().any(|it| it == word), "{name} says {word}");
        }
    }
}

/// Packages contain the profile `dist`. Cargo ignores its `strip` for a package with settings of its own, so the
/// program's package must have none.
#[test]
fn the_packaged_program_is_stripped() {
    let manifest: toml::Table = fs::read_to_string(root().join("Cargo.toml")).unwrap().parse().unwrap();
    let dist = &manifest["profile"]["dist"];
    assert_eq!(dist["strip"].as_str(), Some("symbols"));
    assert!(dist["package"].get("toolway").is_none(), "settings of its own for `toolway` would drop `strip`");
}
