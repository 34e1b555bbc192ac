//! Tests of adding and removing definitions.

use std::fs;

use super::names;
use crate::own::testing::{OwnToolHarness, command};
use crate::own::{RemoveDefinitionError, WriteDefinitionError, remove, write_definition};

#[test]
fn an_added_definition_keeps_its_text() {
    let place = OwnToolHarness::new();
    let text = format!("# mine\n{}", command("hello", "program = 'echo'\nargs = ['hello']"));
    let added = write_definition(&text, &place.sources, &place.kit).unwrap();
    assert_eq!(added.file, place.sources.folder.join("hello.toml"));
    assert_eq!((added.name(), added.line), ("hello", 2));
    assert_eq!(fs::read_to_string(&added.file).unwrap(), text);
    assert_eq!(names(&place.load()), ["hello"]);
    let files: Vec<_> = fs::read_dir(&place.sources.folder).unwrap().collect();
    assert_eq!(files.len(), 1, "nothing is left beside it: {files:?}");
}

#[cfg(unix)]
#[test]
fn only_the_owner_can_read_definitions() {
    use std::os::unix::fs::PermissionsExt;

    let place = OwnToolHarness::new();
    let added = write_definition(&command("a", "program = 'true'"), &place.sources, &place.kit).unwrap();
    let mode = |path: &std::path::Path| fs::metadata(path).unwrap().permissions().mode() & 0o777;
    assert_eq!((mode(&added.file), mode(&place.sources.folder)), (0o600, 0o700));
}

#[test]
fn an_invalid_definition_is_not_added() {
    let mut place = OwnToolHarness::new();
    place.define("old.toml", &command("old", "program = 'true'"));
    let listed = place.list("mine.toml", &command("mine", "program = 'true'"));
    // Invalid definitions elsewhere do not matter.
    place.define("broken.toml", "[[tool]]\n");
    let add = |text: &str| write_definition(text, &place.sources, &place.kit).unwrap_err();
    let two = [command("a", "program = 'true'"), command("b", "program = 'true'")].concat();
    assert!(matches!(add(&two), WriteDefinitionError::NotSingleTool(2)));
    assert!(matches!(add(""), WriteDefinitionError::NotSingleTool(0)));
    for (text, shown) in [
        ("# x\n[[tool]\n".to_owned(), "line 2: ".to_owned()),
        (command("A", "program = 'true'"), "line 1: \"A\" is not in snake_case".to_owned()),
        (
            command("a", "program = 'no_such_program'"),
            "line 1: program no_such_program is not on PATH".to_owned(),
        ),
        (format!("[x]\n{}", command("a", "program = 'true'")), "line 1: unknown field `x`".to_owned()),
        (command("read_file", "program = 'true'"), "line 1: builtin/read_file".to_owned()),
        (
            command("mine", "program = 'true'"),
            format!("line 1: this name is already used in {} line 1", listed.display()),
        ),
    ] {
        let error = add(&text).to_string();
        assert!(error.starts_with(&shown), "{error}");
    }
    assert_eq!(fs::read_dir(&place.sources.folder).unwrap().count(), 2);
}

/// Also if the existing definition is invalid, because the file may be the owner's work.
#[test]
fn an_existing_file_is_not_overwritten() {
    let place = OwnToolHarness::new();
    let path = place.define("a.toml", "[[tool]]\nname = 'a'\n");
    let error = write_definition(&command("a", "program = 'true'"), &place.sources, &place.kit).unwrap_err();
    assert!(matches!(&error, WriteDefinitionError::Exists(there) if *there == path), "{error}");
    assert_eq!(fs::read_to_string(path).unwrap(), "[[tool]]\nname = 'a'\n");
}

#[test]
fn only_a_definition_in_its_own_file_is_removed() {
    let mut place = OwnToolHarness::new();
    let alone = place.define("alone.toml", &command("alone", "program = 'true'"));
    let renamed = place.define("other_name.toml", &command("renamed", "program = 'true'"));
    let broken = place.define("broken.toml", &command("broken", "program = 'no_such_program'"));
    let both = place.define(
        "both.toml",
        &[command("one", "program = 'true'"), command("two", "program = 'true'")].concat(),
    );
    let listed = place.list("mine.toml", &command("mine", "program = 'true'"));
    for (name, path) in [("alone", alone), ("renamed", renamed), ("broken", broken)] {
        assert_eq!(remove(name, &place.sources).unwrap(), path);
        assert!(!path.exists());
        assert!(matches!(remove(name, &place.sources), Err(RemoveDefinitionError::Unknown(_))));
    }
    for (name, path, line) in [("one", &both, 1), ("two", &both, 5), ("mine", &listed, 1)] {
        let error = remove(name, &place.sources).unwrap_err();
        let shown = format!("own/{name} is defined in {} line {line}, ", path.display());
        assert!(error.to_string().starts_with(&shown), "{error}");
        assert!(path.exists());
    }
}
