use serde::Deserialize;

use super::*;

#[derive(Debug, Deserialize, PartialEq)]
#[serde(deny_unknown_fields)]
struct TestEntryConfig {
    what: String,
}

#[track_caller]
fn entry(text: &str) -> DefinitionEntry<'_> {
    DefinitionFile::parse(text).unwrap().entries.remove(0)
}

#[track_caller]
fn assert_refused(text: &str, place: (usize, usize), part: &str) {
    let error = entry(text).read::<TestEntryConfig>().unwrap_err();
    assert!(error.message.contains(part), "{error}");
    assert_eq!((error.line, error.column), place, "{error}");
}

#[test]
fn each_entry_is_parsed_on_its_own() {
    let text = "\n[[tool]]\nname = 'a'\ndescription = 'A'\nwhat = 'x'\n\n  [[tool]]\nname = 5\n\n[[tool]]\n";
    let file = DefinitionFile::parse(text).unwrap();
    let places: Vec<_> =
        file.entries.iter().map(|entry| (entry.position().line, entry.position().column)).collect();
    assert_eq!(places, [(2, 1), (7, 3), (10, 1)]);
    let names: Vec<_> = file.entries.iter().map(|entry| entry.name().map(str::to_owned)).collect();
    assert_eq!(names, [Some("a".to_owned()), None, None]);
    assert!(file.unknown.is_empty());
    let read: Vec<_> = file.entries.into_iter().map(DefinitionEntry::read::<TestEntryConfig>).collect();
    let (described, runs) = read[0].as_ref().unwrap();
    assert_eq!((described.name.as_str(), &*described.description), ("a", "A"));
    assert_eq!(runs, &TestEntryConfig { what: "x".to_owned() });
    assert_eq!(read[1].as_ref().unwrap_err().line, 8);
    assert_eq!(read[2].as_ref().unwrap_err().line, 10);
}

#[test]
fn invalid_keys_are_reported_before_missing_ones() {
    assert_refused("[[tool]]\nname = 5\n", (2, 8), "expected a string");
    assert_refused("[[tool]]\nname = 'a'\nnonsense = 1\n", (3, 1), "unknown field `nonsense`");
    assert_refused("[[tool]]\ndescription = 'a'\nwhat = [\n  1]\n", (3, 8), "expected a string");
    assert_refused("[[tool]]\nname = 'a'\nwhat = 'x'\n", (1, 1), "missing field `description`");
    assert_refused("[[tool]]\nname = 'a'\ndescription = 'x'\n", (1, 1), "missing field `what`");
    assert_refused("tool = [1]", (1, 9), "a tool must be a table");
}

#[test]
fn the_error_of_a_wrong_key_lists_all_keys_and_the_most_similar_one() {
    let all = "expected one of `what`, `name`, `title`, `description`, `parameters`, `sequential`, `read_only`, \
               `destructive`, `open_world`, `permissions`, `kind`";
    for (key, suggestion) in [
        ("descripton", "; did you mean `description`?"),
        ("read-only", "; did you mean `read_only`?"),
        ("Name", "; did you mean `name`?"),
        ("xyz", ""),
    ] {
        let text = format!("[[tool]]\nname = 'a'\n{key} = 'x'\nwhat = 'x'");
        let error = entry(&text).read::<TestEntryConfig>().unwrap_err();
        assert_eq!(error.message, format!("unknown field `{key}`, {all}{suggestion}"));
        assert_eq!((error.line, error.column), (3, 1));
    }
}

#[test]
fn the_error_of_a_wrong_key_in_an_inner_table_lists_the_keys_of_that_table() {
    #[derive(Debug, Deserialize)]
    #[serde(deny_unknown_fields)]
    struct Outer {
        #[serde(rename = "inner")]
        _inner: TestEntryConfig,
    }
    let text = "[[tool]]\nname = 'a'\ninner = { wat = 'x' }";
    let error = entry(text).read::<Outer>().unwrap_err();
    assert_eq!(error.message, "unknown field `wat`, expected `what`");
}

#[test]
fn an_unknown_kind_is_an_error() {
    assert_eq!(entry("[[tool]]\n").kind(&["command"]), Ok("command"));
    assert_eq!(entry("[[tool]]\nkind = 'http'\n").kind(&["command", "http"]), Ok("http"));
    for bad in ["'http'", "5", "''"] {
        let text = format!("[[tool]]\nname = 'a'\nkind = {bad}\n");
        let error = entry(&text).kind(&["command", "other"]).unwrap_err();
        assert_eq!((error.line, error.column), (3, 8));
        assert_eq!(error.message, "kind must be one of command, other");
    }
}

#[test]
fn an_invalid_file_of_definitions_is_an_error() {
    for (text, line) in [("a = 1\nx = = 1", 2), ("\n[tool]\nname = 'a'", 2), ("tool = 'a'", 1)] {
        assert_eq!(DefinitionFile::parse(text).unwrap_err().line, line, "{text}");
    }
    let file = DefinitionFile::parse("[[tool]]\nname = 'a'\n[other]\n").unwrap();
    assert_eq!((file.entries.len(), file.unknown.len()), (1, 1));
    assert_eq!(file.unknown[0].to_string(), "line 3, column 2: unknown field `other`, expected `tool`");
    assert!(DefinitionFile::parse("").unwrap().entries.is_empty());
}

#[test]
fn columns_count_characters() {
    let error = DefinitionFile::parse("# ü\nä = = 1").unwrap_err();
    assert_eq!(error.line, 2);
    assert_eq!(entry("[[tool]]\nname='ü' #\nkind = 1").kind(&["x"]).unwrap_err().column, 8);
}
