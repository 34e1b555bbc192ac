use super::*;

fn one(line: usize, reason: OwnToolError) -> RefusedDefinition {
    RefusedDefinition { file: "/t/a.toml".into(), line, name: Some("a".to_owned()), reason }
}

#[test]
fn tool_names_work_with_and_without_their_source() {
    for name in ["own/hello", "own__hello", "hello"] {
        assert_eq!(strip_source(name), "hello");
    }
}

#[test]
fn every_invalid_definition_is_reported_with_its_line() {
    let said = invalid_definitions_error(&[
        one(3, "x is wrong".into()),
        one(9, OwnToolError::UnknownSecret { header: "A".to_owned(), secret: "key".to_owned() }),
    ]);
    assert_eq!(
        said.render_text(false),
        "error: 2 definitions are invalid\n  - /t/a.toml:3: tool \"a\": x is wrong\n  - /t/a.toml:9: tool \"a\": \
         headers: A: there is no secret named \"key\"\n    hint: store it with `toolway secrets set key`, or set \
         its location in [secrets] of the settings\nhint: see docs/own-tools.md for the format\n"
    );
}

#[test]
fn tools_in_other_files_are_reported_with_their_location() {
    let failure = remove_error(RemoveDefinitionError::InOtherFile {
        name: "a".to_owned(),
        file: "/t/mine.toml".into(),
        line: 7,
        why: "a file listed in the settings; edit the file to remove it",
    });
    assert_eq!(failure.code(), "tool_in_file");
    assert!(failure.message().contains("/t/mine.toml line 7"), "{}", failure.message());
}
