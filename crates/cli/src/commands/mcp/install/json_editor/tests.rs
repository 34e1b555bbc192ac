use serde_json::json;

use super::*;

fn entry() -> Value {
    json!({"command": "/bin/toolway", "args": ["mcp"]})
}

fn set(text: &str) -> String {
    set_entry(text, "mcpServers", "toolway", &entry()).unwrap()
}

const ENTRY: &str = "\"toolway\": {\n      \"args\": [\n        \"mcp\"\n      ],\n      \"command\": \"/bin/toolway\"\n    }";

#[test]
fn a_file_with_nothing_in_it_gets_an_object() {
    let expected = format!("{{\n  \"mcpServers\": {{\n    {ENTRY}\n  }}\n}}\n");
    for text in ["", " \n", "{}\n"] {
        assert_eq!(set(text), expected, "{text:?}");
    }
    assert_eq!(set("{}"), expected.trim_end());
    assert_eq!(set("{\n}\n"), expected);
}

#[test]
fn what_else_there_is_stays_byte_for_byte() {
    let text = "{\n  \"a\" : 1.50,\n  \"mcpServers\": {\n    \"x\": { \"command\":\"y\" }\n  },\n  \"b\": [1,\n2]\n}";
    let expected = text.replace("\"y\" }\n", &format!("\"y\" }},\n    {ENTRY}\n"));
    assert_eq!(set(text), expected);
    let without_table = "{\n  \"a\" : 1.50\n}\n";
    assert_eq!(
        set(without_table),
        format!("{{\n  \"a\" : 1.50,\n  \"mcpServers\": {{\n    {ENTRY}\n  }}\n}}\n")
    );
    // Again, it is what it was.
    assert_eq!(set(&expected), expected);
    assert_eq!(remove_entry(&expected, "mcpServers", "toolway").unwrap().unwrap(), text);
    assert_eq!(remove_entry(text, "mcpServers", "toolway").unwrap(), None);
    assert_eq!(remove_entry("", "mcpServers", "toolway").unwrap(), None);
}

#[test]
fn indentation_and_line_ends_are_the_file_s_own() {
    let text = "{\r\n\t\"mcpServers\": {}\r\n}\r\n";
    let expected = format!("{{\n\t\"mcpServers\": {{\n\t\t{}\n\t}}\n}}\n", ENTRY.replace("  ", "\t"))
        .replace('\n', "\r\n");
    assert_eq!(set(text), expected);
    assert_eq!(remove_entry(&expected, "mcpServers", "toolway").unwrap().unwrap(), text);
    let in_line = r#"{"a":{},"mcpServers":{"x":{"command":"y"}}}"#;
    assert_eq!(
        set(in_line),
        r#"{"a":{},"mcpServers":{"x":{"command":"y"}, "toolway": {"args":["mcp"],"command":"/bin/toolway"}}}"#
    );
    let bom = "\u{feff}{\n  \"mcpServers\": {}\n}";
    assert!(set(bom).starts_with('\u{feff}'));
}

#[test]
fn comments_and_trailing_commas_stay() {
    let text = "// mine\n{\n  \"mcpServers\": { // those\n    \"x\": {\"command\": \"y\"}, // the \"first\", and\n    /* no more */\n  },\n}\n";
    let changed = set(text);
    let expected = text.replace("/* no more */\n", &format!("/* no more */\n    {ENTRY},\n"));
    assert_eq!(changed, expected);
    assert_eq!(remove_entry(&changed, "mcpServers", "toolway").unwrap().unwrap(), text);
    let last = "{\n  \"mcpServers\": {\n    \"x\": {\"command\": \"y\"} // the last\n  }\n}\n";
    let changed = set(last);
    assert_eq!(changed, last.replace("} // the last\n", &format!("}}, // the last\n    {ENTRY}\n")));
    assert_eq!(remove_entry(&changed, "mcpServers", "toolway").unwrap().unwrap(), last);
}

#[test]
fn an_entry_is_changed_where_it_stands() {
    let text =
        "{\n  \"mcpServers\": {\n    \"toolway\": {\"command\": \"old\"}, // ours\n    \"x\": {}\n  }\n}\n";
    let changed = set(text);
    assert_eq!(changed, text.replace("\"toolway\": {\"command\": \"old\"}", ENTRY));
    assert_eq!(get_entry(&changed, "mcpServers", "toolway"), Some(entry()));
    let removed = remove_entry(&changed, "mcpServers", "toolway").unwrap().unwrap();
    assert_eq!(removed, "{\n  \"mcpServers\": { // ours\n    \"x\": {}\n  }\n}\n");
}

#[test]
fn what_can_t_be_changed_safely_is_left_alone() {
    let refused = |text: &str| set_entry(text, "mcpServers", "toolway", &entry()).unwrap_err();
    assert!(matches!(refused("{"), JsonEditError::NotJson(_)));
    assert_eq!(refused("[]"), JsonEditError::NotAnObject);
    assert_eq!(refused(r#"{"mcpServers": []}"#), JsonEditError::MemberNotAnObject("mcpServers".to_owned()));
    assert_eq!(
        refused(r#"{"mcpServers": {}, "mcpServers": {}}"#),
        JsonEditError::DuplicateKey("mcpServers".to_owned())
    );
    assert_eq!(
        refused(r#"{"mcpServers": {"toolway": 1, "toolway": 2}}"#),
        JsonEditError::DuplicateKey("toolway".to_owned())
    );
    assert!(matches!(remove_entry("{", "mcpServers", "toolway"), Err(JsonEditError::NotJson(_))));
}

#[test]
fn awkward_texts_are_understood() {
    for text in [
        r#"{"a": "}{\",\\", "mcpServers": {}}"#,
        "{\"mcpServers\":{\"x\":[{},{\"y\":[]}]}}",
        "{\"\\u006dcpServers\": {}}",
        "{\"a\": null,\n\"b\": -1e5, \"mcpServers\" : {\n\n} }",
        "{ /* { */ \"mcpServers\": { // }\n } }",
    ] {
        let changed = set(text);
        assert_eq!(get_entry(&changed, "mcpServers", "toolway"), Some(entry()), "{changed}");
        let back = remove_entry(&changed, "mcpServers", "toolway").unwrap().unwrap();
        let meaning = |text: &str| jsonc::parse(text).unwrap();
        assert_eq!(meaning(&back), meaning(text));
    }
}
