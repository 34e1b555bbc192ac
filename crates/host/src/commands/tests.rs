use std::collections::HashMap;

use serde_json::json;

use super::*;

const SH: &str = r#"name = "a"
description = "b"
program = "/bin/sh""#;

fn env() -> CommandEnv {
    CommandEnv { environment: [("PATH".into(), "/usr/bin:/bin".into())].into(), base_dir: "/".into() }
}

fn read(text: &str) -> Result<Vec<Tool>, CommandFileError> {
    load(text, &env())
}

#[track_caller]
fn refused(text: &str, line: usize, part: &str) {
    let error = read(text).unwrap_err();
    assert!(error.message.contains(part), "{error}");
    assert_eq!(error.line, line, "{error}");
}

#[test]
fn a_file_becomes_tools() {
    let tools = read(
        r#"
        [[tool]]
        name = "echo"
        title = "Echo"
        description = "Says it again"
        program = "echo"
        args = ["--", "{text}"]
        timeout_s = 2.5
        sequential = true
        read_only = true
        [tool.parameters]
        required = ["text"]
        properties.text = { type = "string" }

        [[tool]]
        name = "cat"
        description = "Gives it back"
        program = "/bin/cat"
        input = "stdin-json"
        output = "json"
        parameters = '{"type":"object","additionalProperties":true}'
        "#,
    )
    .unwrap();
    let specs: Vec<_> = tools.iter().map(|tool| serde_json::to_value(tool.spec()).unwrap()).collect();
    assert_eq!(
        specs[0],
        json!({
            "name": "echo", "title": "Echo", "description": "Says it again", "timeout_ms": 2500,
            "sequential": true, "annotations": { "readOnlyHint": true },
            "parameters": {
                "type": "object", "required": ["text"], "properties": { "text": { "type": "string" } },
                "additionalProperties": false,
            },
        })
    );
    assert_eq!(specs[1]["parameters"], json!({ "type": "object", "additionalProperties": true }));
    assert_eq!(specs[1]["timeout_ms"], 30_000);
    assert!(read("").unwrap().is_empty());
}

#[test]
fn errors_have_a_position() {
    refused("[[tool]]\nname = \"a\"\n", 1, "missing field");
    refused("[[tool]]\nname = \"a\"\nnonsense = 1\n", 3, "unknown field `nonsense`");
    refused("x = = 1", 1, "");
    refused("[other]\n", 1, "unknown field `other`");
    refused(&format!("\n[[tool]]\n{SH}\ninput = \"shell\"\n"), 6, "unknown variant `shell`");
    refused(&format!("[[tool]]\n{SH}\nargs = [1]\n"), 5, "an element of args must be a string");
    let error = read("[[tool]]\nname = 5\n").unwrap_err();
    assert_eq!((error.line, error.column), (2, 8));
}

#[test]
fn an_inconsistent_definition_is_an_error() {
    let with = |more: &str| format!("\n\n[[tool]]\n{SH}\n{more}\n");
    refused(&with("args = [\"{x}\"]"), 3, "parameters has no property x");
    refused(&with("parameters = { properties = { x = {} } }"), 3, "args does not use the parameter x");
    refused(&with("input = \"stdin-json\"\nargs = [\"{x}\"]"), 3, "standard input");
    refused(&with("args = [\"{x\"]"), 3, "unclosed brace");
    refused(&with("parameters = '{'"), 3, "parameters must be JSON");
    refused(&with("parameters = '[]'"), 3, "of an object");
    refused(
        &with("parameters = { properties = { x = { type = 'y' } } }\nargs = ['{x}']"),
        3,
        "has an invalid parameter schema",
    );
    refused(&with("cwd = \"/nowhere/at/all\""), 3, "is not a folder");
    refused(&with("timeout_s = 0"), 3, "timeout_s");
    refused(&with("timeout_s = -1.5"), 3, "timeout_s");
    refused(&format!("[[tool]]\n{SH}\n[[tool]]\n{SH}\n"), 5, "already used");
    refused("[[tool]]\nname = \"\"\ndescription = \"\"\nprogram = \"/bin/sh\"\n", 1, "the name is empty");
}

#[test]
fn a_program_that_is_not_found_is_an_error() {
    let with =
        |program: &str| format!("[[tool]]\nname = \"a\"\ndescription = \"\"\nprogram = \"{program}\"\n");
    assert!(read(&with("sh")).is_ok());
    refused(&with("no-such-program"), 1, "is not on PATH");
    refused(&with("/bin/no-such-program"), 1, "does not exist or is not executable");
    refused(&with("/etc/passwd"), 1, "does not exist or is not executable");
    refused(&with("./sh"), 1, "absolute path");
    refused(&with("bin/sh"), 1, "absolute path");
    let nowhere = CommandEnv { environment: HashMap::new(), base_dir: "/".into() };
    assert!(load(&with("sh"), &nowhere).is_err());
}
