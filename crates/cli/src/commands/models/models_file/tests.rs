use super::*;

const TWO: &str = r#"# My models.
# Keys are in the environment.

# The good one.
[[model]]
name    = "openai"   # at work
preset = "openai"
[model.models."gpt-5"]
max_tools = 20

[[model]]
name = "local"
kind = "compatible"
base_url = "http://127.0.0.1:8080/v1"
# the end
"#;

fn entry(name: &str) -> NewModelEntry<'_> {
    NewModelEntry { name, preset: Some("groq"), ..NewModelEntry::default() }
}

fn first(name: &str) -> NewModelEntry<'_> {
    NewModelEntry { is_first: true, ..entry(name) }
}

#[test]
fn a_new_file_has_a_header() {
    let all = NewModelEntry {
        name: "work",
        kind: Some("compatible"),
        preset: None,
        base_url: Some("https://models.example/v1"),
        key: Some(("env", "WORK_KEY")),
        model: Some("big \"one\""),
        headers: &[("X-Title".to_owned(), "toolway".to_owned())],
        is_first: false,
    };
    let text = add_entry("", &all).unwrap();
    assert_eq!(
        text,
        "# Model providers. Agents without a model use the first one.\n\n[[model]]\nname = \"work\"\nkind = \
         \"compatible\"\nbase_url = \"https://models.example/v1\"\nkey = { env = \"WORK_KEY\" }\nmodel = 'big \
         \"one\"'\nheaders = { X-Title = \"toolway\" }\n"
    );
    assert_eq!(entry_names(&text).unwrap(), ["work"]);
}

#[test]
fn adding_an_entry_changes_nothing_else() {
    let text = add_entry(TWO, &entry("groq")).unwrap();
    assert_eq!(
        text,
        TWO.replace("# the end\n", "") + "\n[[model]]\nname = \"groq\"\npreset = \"groq\"\n# the end\n"
    );
    assert_eq!(entry_names(&text).unwrap(), ["openai", "local", "groq"]);
}

#[test]
fn an_entry_can_be_inserted_first() {
    let text = add_entry(TWO, &first("groq")).unwrap();
    assert!(
        text.starts_with(
            "# My models.\n# Keys are in the environment.\n\n[[model]]\nname = \"groq\"\npreset = \"groq\"\n\n# The good \
             one.\n[[model]]\nname    = \"openai\"   # at work\n"
        ),
        "{text}"
    );
    assert_eq!(entry_names(&text).unwrap(), ["groq", "openai", "local"]);
    let text = add_entry(TWO, &first("local")).unwrap();
    assert_eq!(entry_names(&text).unwrap(), ["local", "openai"]);
    assert!(!text.contains("127.0.0.1"));
}

#[test]
fn an_entry_replaces_another_with_its_name() {
    let text = add_entry(TWO, &entry("openai")).unwrap();
    assert!(
        text.starts_with(
            "# My models.\n# Keys are in the environment.\n\n# The good one.\n[[model]]\nname = \"openai\"\npreset = \
             \"groq\"\n\n[[model]]\nname = \"local\"\n"
        ),
        "{text}"
    );
}

#[test]
fn removing_an_entry_removes_its_comment() {
    let text = remove_entry(TWO, "openai").unwrap().unwrap();
    assert_eq!(
        text,
        "# My models.\n# Keys are in the environment.\n\n[[model]]\nname = \"local\"\nkind = \"compatible\"\nbase_url = \
         \"http://127.0.0.1:8080/v1\"\n# the end\n"
    );
    let text = remove_entry(TWO, "local").unwrap().unwrap();
    assert!(text.contains("at work") && text.contains("max_tools") && !text.contains("8080"), "{text}");
    assert_eq!(remove_entry(TWO, "nothing").unwrap(), None);
    assert_eq!(
        entry_names(&remove_entry(&add_entry("", &entry("a")).unwrap(), "a").unwrap().unwrap()).unwrap(),
        [""; 0]
    );
}

#[test]
fn a_file_with_another_structure_is_not_changed() {
    assert!(matches!(
        add_entry("model = [{name = \"a\"}]\n", &entry("b")),
        Err(ModelsFileEditError::NotTables)
    ));
    assert!(matches!(add_entry("model = \n", &entry("b")), Err(ModelsFileEditError::NotToml(_))));
}
