//! Checks the code map in `ARCHITECTURE.md`: it has every package of the workspace with its folder, and no
//! package depends on another one that its row does not allow.

#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::indexing_slicing,
    clippy::panic,
    reason = "helpers of tests fail by panicking"
)]

use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};
use std::process::Command;

use serde_json::Value;

/// Forbidden direct dependencies of packages, with the reasons.
const BANNED: &[(&str, &[&str], &str)] = &[
    ("toolway-types", &["tokio", "axum", "hyper", "sqlx", "reqwest"], "it does no I/O"),
    ("toolway-wire", &["tokio", "axum", "hyper", "sqlx", "reqwest"], "it has no behaviour"),
    (
        "toolway-core",
        &["axum", "hyper", "http", "sqlx", "reqwest", "tokio-tungstenite", "clap"],
        "the engine knows no HTTP, SQL or WebSocket",
    ),
    ("toolway-device", &["axum", "sqlx", "reqwest", "clap", "sysinfo"], "it must fit on a phone"),
    ("toolway-store", &["axum", "hyper", "clap"], "it keeps things and serves nobody"),
];

fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).parent().unwrap().to_owned()
}

/// A package of the workspace: its folder, its direct dependencies, and those within the workspace.
#[derive(Debug)]
struct WorkspacePackage {
    folder: String,
    dependencies: BTreeSet<String>,
}

fn packages() -> BTreeMap<String, WorkspacePackage> {
    let output = Command::new(env!("CARGO"))
        .args(["metadata", "--no-deps", "--format-version", "1", "--offline"])
        .current_dir(root())
        .output()
        .unwrap();
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    let metadata: Value = serde_json::from_slice(&output.stdout).unwrap();
    let workspace = PathBuf::from(metadata["workspace_root"].as_str().unwrap());
    let package = |package: &Value| {
        let folder = Path::new(package["manifest_path"].as_str().unwrap()).parent().unwrap();
        let dependencies = package["dependencies"].as_array().unwrap().iter();
        WorkspacePackage {
            folder: folder.strip_prefix(&workspace).unwrap().to_string_lossy().replace('\\', "/"),
            // Tests may use more; the product may not.
            dependencies: dependencies
                .filter(|dependency| dependency["kind"] != "dev")
                .map(|dependency| dependency["name"].as_str().unwrap().to_owned())
                .collect(),
        }
    };
    let packages = metadata["packages"].as_array().unwrap().iter();
    packages.map(|it| (it["name"].as_str().unwrap().to_owned(), package(it))).collect()
}

/// A row of the code map: folder, package and allowed dependencies.
struct CodeMapRow {
    folder: String,
    package: String,
    allowed: BTreeSet<String>,
}

fn rows() -> Vec<CodeMapRow> {
    let document = std::fs::read_to_string(root().join("ARCHITECTURE.md")).unwrap();
    let table = document.split("\n## Code map\n").nth(1).expect("a section named Code map");
    let table = table.split("\n## ").next().unwrap();
    // Other tables of the section have other columns.
    let of_map = |line: &&str| line.starts_with("| `") && line.matches('|').count() == 5;
    let rows = table.lines().filter(of_map);
    let plain = |cell: &str| cell.trim().trim_matches('`').trim_end_matches('/').to_owned();
    let rows = rows.map(|line| {
        let cells: Vec<_> = line.trim_matches('|').split('|').collect();
        let [folder, package, _holds, allowed] = cells.as_slice() else { panic!("not four cells: {line}") };
        let allowed = allowed.split(',').map(plain).filter(|name| !name.is_empty() && name != "none");
        CodeMapRow { folder: plain(folder), package: plain(package), allowed: allowed.collect() }
    });
    rows.collect()
}

#[test]
fn the_code_map_names_every_package_in_its_folder() {
    let packages = packages();
    let listed: BTreeMap<_, _> = rows().into_iter().map(|row| (row.package, row.folder)).collect();
    for (name, package) in &packages {
        assert_eq!(listed.get(name), Some(&package.folder), "{name} in the code map of ARCHITECTURE.md");
    }
    for (name, folder) in listed {
        // The fuzz targets are outside of the workspace.
        let there = packages.contains_key(&name) || root().join(&folder).join("Cargo.toml").is_file();
        assert!(there, "the code map names {name} in {folder}, which is not there");
    }
}

#[test]
fn packages_depend_only_on_what_the_code_map_allows() {
    let packages = packages();
    for row in rows() {
        let Some(package) = packages.get(&row.package) else { continue };
        let ours: BTreeSet<_> =
            package.dependencies.iter().filter(|name| packages.contains_key(*name)).cloned().collect();
        let forbidden: Vec<_> = ours.difference(&row.allowed).collect();
        assert!(
            forbidden.is_empty(),
            "{} depends on {forbidden:?}, which its row does not allow",
            row.package
        );
        let unknown: Vec<_> = row.allowed.iter().filter(|name| !packages.contains_key(*name)).collect();
        assert!(unknown.is_empty(), "{}'s row allows {unknown:?}, which no package is called", row.package);
    }
}

#[test]
fn the_arrows_of_the_code_map_point_one_way() {
    let mut left = rows();
    let mut settled = BTreeSet::new();
    while !left.is_empty() {
        let (free, bound): (Vec<_>, Vec<_>) =
            left.into_iter().partition(|row| row.allowed.iter().all(|name| settled.contains(name)));
        let names: Vec<_> = bound.iter().map(|row| row.package.as_str()).collect();
        assert!(!free.is_empty(), "{names:?} allow each other in a circle");
        settled.extend(free.into_iter().map(|row| row.package));
        left = bound;
    }
}

#[test]
fn no_package_has_a_dependency_that_its_purpose_rules_out() {
    let packages = packages();
    for (name, banned, reason) in BANNED {
        let package = packages.get(*name).unwrap_or_else(|| panic!("there is no package {name}"));
        for dependency in *banned {
            assert!(
                !package.dependencies.contains(*dependency),
                "{name} depends on {dependency}, but {reason}"
            );
        }
    }
}
