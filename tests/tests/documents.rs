//! Checks the documents: the code parses their examples, and their tables match the code.

#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::indexing_slicing,
    clippy::panic,
    reason = "helpers of tests fail by panicking"
)]

use std::collections::{BTreeMap, BTreeSet, HashMap};
use std::fs;
use std::path::{Path, PathBuf};

use toolway_gateway::settings::Settings;
use toolway_types::Code;
use toolway_wire::{ClientMessage, GatewayMessage, error_code};

fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).parent().unwrap().to_owned()
}

fn document(name: &str) -> String {
    fs::read_to_string(root().join("docs").join(name)).unwrap()
}

/// Returns the fenced examples of a document in this language.
fn examples(document: &str, language: &str) -> Vec<String> {
    let mut found = Vec::new();
    let mut current: Option<(bool, Vec<&str>)> = None;
    for line in document.lines() {
        match (&mut current, line.strip_prefix("```")) {
            (None, Some(named)) => current = Some((named.trim() == language, Vec::new())),
            (Some((wanted, lines)), Some(_)) => {
                found.extend(wanted.then(|| lines.join("\n")));
                current = None;
            }
            (Some((_, lines)), None) => lines.push(line),
            (None, None) => {}
        }
    }
    found
}

/// Returns the rows of the table whose head starts with this text.
fn table(document: &str, head: &str) -> Vec<Vec<String>> {
    let rows = document.lines().skip_while(|line| !line.starts_with(head)).skip(2);
    let rows = rows.take_while(|line| line.starts_with('|'));
    rows.map(|row| row.trim_matches('|').split('|').map(|cell| cell.trim().to_owned()).collect()).collect()
}

/// Returns the texts in backquotes of a cell.
fn quoted(cell: &str) -> Vec<String> {
    cell.split('`').skip(1).step_by(2).map(str::to_owned).collect()
}

#[track_caller]
fn assert_is_message(text: &str) {
    let text = text.replace("{…}", "{}").replace("[…]", "[]");
    let read = ClientMessage::decode(&text).map(|_| ()).or_else(|client| {
        GatewayMessage::decode(&text).map(|_| ()).map_err(|gateway| format!("{client}; {gateway}"))
    });
    assert!(read.is_ok(), "{text}: {read:?}");
}

#[test]
fn messages_in_the_protocol_document_are_messages() {
    let document = document("protocol.md");
    let messages: Vec<_> =
        examples(&document, "json").into_iter().filter(|text| text.contains(r#""type":"#)).collect();
    assert!(messages.len() >= 12, "{}", messages.len());
    messages.iter().for_each(|text| assert_is_message(text));
    let sessions = examples(&document, "text").join("\n");
    let sent: Vec<_> = sessions.lines().filter_map(|line| line.strip_prefix("> ")).collect();
    let received: Vec<_> = sessions.lines().filter_map(|line| line.strip_prefix("< ")).collect();
    assert!(sent.len() >= 5 && received.len() >= 6);
    for text in sent {
        assert!(ClientMessage::decode(text).is_ok(), "{text}");
    }
    for text in received {
        assert!(GatewayMessage::decode(&text.replace("{…}", "{}")).is_ok(), "{text}");
    }
}

#[test]
fn the_protocol_document_lists_every_message() {
    let document = document("protocol.md");
    for (head, types) in [
        ("| `type` | since | fields | answered by |", ClientMessage::TYPES),
        ("| `type` | since | fields |\n", GatewayMessage::TYPES),
    ] {
        let start = document.find(head).unwrap_or_else(|| panic!("no table {head:?}"));
        let rows = table(&document[start..], head.trim_end());
        let listed: BTreeSet<_> = rows.iter().flat_map(|row| quoted(&row[0])).collect();
        assert_eq!(listed, types.iter().map(|it| (*it).to_owned()).collect(), "{head}");
    }
}

#[test]
fn the_protocol_document_lists_every_code() {
    let document = document("protocol.md");
    let listed: BTreeMap<_, _> = table(&document, "| `code` | `error_type` |")
        .iter()
        .map(|row| (quoted(&row[0]).remove(0), quoted(&row[1]).remove(0)))
        .collect();
    let known = Code::ALL.iter().map(|code| (code.as_str().to_owned(), code.kind().as_str().to_owned()));
    assert_eq!(listed, known.collect());

    let listed: BTreeSet<_> =
        table(&document, "| `code` | since | when |").iter().flat_map(|row| quoted(&row[0])).collect();
    assert_eq!(listed, error_code::ALL.iter().map(|it| (*it).to_owned()).collect());
}

#[test]
fn settings_in_the_documents_are_settings() {
    let mut seen = 0;
    for name in ["settings.md", "running-off-loopback.md", "policy.md", "tools.md", "hooks.md"] {
        for text in examples(&document(name), "toml") {
            let settings: Settings =
                toml::from_str(&text).unwrap_or_else(|error| panic!("{name}: {text}: {error}"));
            settings.validate().unwrap_or_else(|errors| panic!("{name}: {text}: {errors:?}"));
            seen += 1;
        }
    }
    assert!(seen >= 13, "{seen}");
}

/// Checks that the commands in the documents exist and have these flags.
#[test]
fn commands_in_the_documents_are_commands() {
    let help = fs::read_to_string(root().join("crates/cli/src/cli/snapshots/toolway__cli__tests__help.snap"));
    let help = help.unwrap();
    let section = |words: &[&str]| {
        let head = format!("\n## {}\n", words.join(" "));
        let rest = help.split_once(&head).map(|(_, rest)| rest)?;
        Some(rest.split_once("\n## ").map_or(rest, |(section, _)| section).to_owned())
    };
    let mut seen = 0;
    for name in ["policy.md", "tools.md"] {
        for text in examples(&document(name), "sh") {
            for line in text.lines().filter(|line| line.starts_with("toolway ")) {
                let line = line.split(" #").next().unwrap_or_default();
                let words: Vec<_> = line.split_whitespace().collect();
                let section =
                    section(&words[..3]).unwrap_or_else(|| panic!("{name}: {line}: no such command"));
                for flag in words.iter().filter(|word| word.starts_with("--")) {
                    assert!(
                        section.contains(&format!("{flag} ")) || section.contains(&format!("{flag}\n")),
                        "{name}: {line}: {flag}"
                    );
                }
                seen += 1;
            }
        }
    }
    assert!(seen >= 20, "{seen}");
}

#[test]
fn the_device_program_in_the_document_is_the_example() {
    let program = fs::read_to_string(root().join("crates/device/examples/add_numbers.rs")).unwrap();
    // The rules for this repository's code are not part of the document.
    let program: Vec<_> = program.split("\n\n").filter(|part| !part.starts_with("#![allow")).collect();
    assert_eq!(examples(&document("devices.md"), "rust"), [program.join("\n\n").trim_end()]);
}

#[test]
fn the_dependencies_in_the_document_are_those_of_the_example() {
    let manifest = examples(&document("devices.md"), "toml title=\"Cargo.toml\"").remove(0);
    let manifest: toml::Table = toml::from_str(&manifest).unwrap();
    let dependencies: Vec<_> = manifest["dependencies"].as_table().unwrap().keys().cloned().collect();
    assert_eq!(dependencies, ["schemars", "serde", "serde_json", "tokio", "toolway-device"]);
    let workspace: toml::Table =
        toml::from_str(&fs::read_to_string(root().join("Cargo.toml")).unwrap()).unwrap();
    let repository = &workspace["workspace"]["package"]["repository"];
    assert_eq!(&manifest["dependencies"]["toolway-device"]["git"], repository);
}

#[cfg(unix)]
#[test]
fn command_tools_in_the_documents_can_be_loaded() {
    use std::os::unix::fs::PermissionsExt;

    // A folder with the programs of the examples.
    let folder = tempfile::tempdir().unwrap();
    let examples = examples(&document("devices.md"), "toml");
    for text in &examples {
        for program in text.lines().filter_map(|line| line.strip_prefix("program = ")) {
            let path = folder.path().join(program.trim_matches('"'));
            fs::write(&path, "").unwrap();
            fs::set_permissions(&path, fs::Permissions::from_mode(0o700)).unwrap();
        }
    }
    let env = toolway_host::commands::CommandEnv {
        environment: HashMap::from([("PATH".into(), folder.path().into())]),
        base_dir: folder.path().to_owned(),
    };
    assert!(!examples.is_empty());
    for text in examples {
        let tools = toolway_host::commands::load(&text, &env);
        assert!(tools.as_ref().is_ok_and(|tools| !tools.is_empty()), "{text}: {:?}", tools.err());
    }
}
