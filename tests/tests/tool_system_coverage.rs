//! Checks `docs/internals/tool-system-coverage.md`: no requirement is missing, and each row names existing
//! tests, or the part of the product that is responsible.

#![allow(clippy::unwrap_used, clippy::panic, reason = "helpers of tests fail by panicking")]

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

/// Number of requirements in each section of the document.
const DEMANDS: &[(&str, usize)] = &[
    ("Typical scenarios", 5),
    ("Tool definition format", 5),
    ("Tool selection in agent configuration", 5),
    ("Tool display in chat", 6),
    ("Acceptance criteria", 20),
    ("Functional tests", 15),
    ("Performance tests", 4),
    ("Security tests", 3),
    ("Edge cases", 9),
    ("Error scenarios", 7),
    ("Rules", 16),
];

fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).parent().unwrap().to_owned()
}

/// Returns the rows of each section's table: the requirement, and its tests.
fn rows() -> BTreeMap<String, Vec<(String, String)>> {
    let text = std::fs::read_to_string(root().join("docs/internals/tool-system-coverage.md")).unwrap();
    let mut sections = BTreeMap::<String, Vec<_>>::new();
    let mut section = String::new();
    for line in text.lines() {
        if let Some(title) = line.strip_prefix("## ") {
            title.clone_into(&mut section);
        }
        let cells: Vec<&str> = line.trim_matches('|').split(" | ").map(str::trim).collect();
        let is_row = line.starts_with('|') && !line.starts_with("|-") && !line.starts_with("| demand");
        if let ([demand, shown], true) = (cells.as_slice(), is_row) {
            sections.entry(section.clone()).or_default().push(((*demand).to_owned(), (*shown).to_owned()));
        }
    }
    sections
}

/// Returns the texts in backquotes.
fn quoted(text: &str) -> Vec<&str> {
    text.split('`').skip(1).step_by(2).collect()
}

#[test]
fn every_requirement_has_a_row() {
    let rows = rows();
    for (section, count) in DEMANDS {
        let found = rows.get(*section).map_or(0, Vec::len);
        assert_eq!(found, *count, "rows under {section:?}");
    }
    assert_eq!(rows.len(), DEMANDS.len(), "sections: {:?}", rows.keys());
}

#[test]
fn every_row_names_existing_tests_or_the_responsible_part() {
    for (demand, shown) in rows().into_values().flatten() {
        let tests: Vec<&str> = quoted(&shown).into_iter().filter(|it| it.contains("::")).collect();
        if tests.is_empty() {
            assert!(
                shown.starts_with("Belongs to ") || shown.starts_with("Measured: "),
                "{demand:?} is shown by nothing: {shown:?}"
            );
        }
        for test in tests {
            let (file, name) = test.rsplit_once("::").unwrap();
            let text = std::fs::read_to_string(root().join(file))
                .unwrap_or_else(|error| panic!("{demand:?} names {file}: {error}"));
            let is_there = ["fn ", "def "].iter().any(|word| text.contains(&format!("{word}{name}(")));
            assert!(is_there, "{demand:?} names {name}, which is not in {file}");
        }
    }
}
