//! Checks that the table in `docs/settings.md` is the generated one. `UPDATE_SETTINGS=1 cargo test -p
//! toolway-tests --test settings_document` writes it again.

#![allow(clippy::unwrap_used, clippy::expect_used, reason = "helpers of tests fail by panicking")]

use std::fmt::Write as _;
use std::fs;
use std::path::{Path, PathBuf};

use serde_json::Value;
use toolway_gateway::settings::describe;

const TABLE_START: &str = "<!-- table -->\n";
const TABLE_END: &str = "<!-- end of table -->\n";

fn document() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../docs/settings.md")
}

fn table() -> String {
    let mut settings = describe();
    settings.sort_by(|a, b| (a.key.contains('.'), &a.key).cmp(&(b.key.contains('.'), &b.key)));
    let mut table = String::from("| setting | default | what it is |\n|---|---|---|\n");
    for setting in settings {
        let default = match &setting.default {
            Value::Null => "not set".to_owned(),
            Value::Object(map) if map.is_empty() => "none".to_owned(),
            Value::Array(list) if list.is_empty() => "none".to_owned(),
            other => format!("`{other}`"),
        };
        let words = setting.description.replace('|', "\\|");
        assert!(!words.is_empty(), "{} has no words", setting.key);
        writeln!(table, "| `{}` | {default} | {words} |", setting.key).unwrap();
    }
    table
}

#[test]
fn the_table_of_settings_is_current() {
    let text = fs::read_to_string(document()).unwrap();
    let (before, rest) = text.split_once(TABLE_START).expect("the start of the table");
    let (_, after) = rest.split_once(TABLE_END).expect("the end of the table");
    let current = format!("{before}{TABLE_START}{}{TABLE_END}{after}", table());
    if std::env::var_os("UPDATE_SETTINGS").is_some() {
        fs::write(document(), current).unwrap();
        return;
    }
    let missing: Vec<_> = current.lines().filter(|line| !text.lines().any(|it| it == *line)).collect();
    let outdated: Vec<_> = text.lines().filter(|line| !current.lines().any(|it| it == *line)).collect();
    assert!(
        text == current,
        "docs/settings.md is out of date; it lacks {missing:#?} and should not have {outdated:#?}. \
         Write its table anew with: UPDATE_SETTINGS=1 cargo test -p toolway-tests --test settings_document"
    );
}
