//! Tests of the files of model providers and prices, without a gateway.

use serde_json::json;

use crate::support::{CliHarness, file_mode};

const KEY: &str = "sk-a-key-that-nobody-may-see";

fn file(folder: &CliHarness) -> String {
    std::fs::read_to_string(folder.file("models.toml")).unwrap()
}

#[test]
fn a_preset_is_added_by_its_name() {
    let folder = CliHarness::new();
    let ended = folder.run(["models", "add", "groq", "--model", "small"]).assert_success();
    assert!(ended.stdout.starts_with("added the model provider groq"), "{ended:?}");
    assert!(ended.stderr.contains("GROQ_API_KEY"), "{ended:?}");
    assert_eq!(file_mode(&folder.file("models.toml")), 0o600);
    assert!(
        file(&folder).contains("[[model]]\nname = \"groq\"\npreset = \"groq\"\nmodel = \"small\"\n"),
        "{}",
        file(&folder)
    );
    // With another name and another URL.
    folder
        .run(["models", "add", "home", "--preset", "ollama", "--base-url", "http://192.168.1.5:11434/v1"])
        .assert_success();
    let listed = folder.json(&["models", "list"]);
    let names: Vec<_> = listed["models"].as_array().unwrap().iter().map(|it| it["name"].clone()).collect();
    assert_eq!(names, ["groq", "home"]);
    assert_eq!(listed["models"][1]["base_url"], "http://192.168.1.5:11434/v1");
    assert_eq!(listed["models"][0]["key"]["present"], false);
}

#[test]
fn invalid_definitions_are_rejected_without_changes() {
    let folder = CliHarness::new();
    folder.run(["models", "add", "groq"]).assert_success();
    let before = file(&folder);
    folder.run(["models", "add", "groq"]).assert_failure(1, "the model provider groq already exists");
    folder.run(["models", "add", "mine"]).assert_failure(2, "\"mine\" is not a preset");
    folder.run(["models", "add", "mine", "--preset", "grok"]).assert_failure(2, "unknown preset \"grok\"");
    folder.run(["models", "add", "mine", "--kind", "other"]).assert_failure(2, "other");
    folder.run(["models", "add", "Mine!", "--preset", "groq"]).assert_failure(1, "models.toml:");
    folder.run(["models", "add", "mine", "--kind", "compatible"]).assert_failure(1, "models.toml:");
    let header = ["models", "add", "mine", "--preset", "groq", "--header", "Authorization=Bearer sk-1"];
    let refused = folder.run(header).assert_failure(2, "do not pass a key as an argument");
    assert!(!refused.stderr.contains("sk-1"), "{refused:?}");
    folder.run(["models", "remove", "mine"]).assert_failure(1, "unknown model provider \"mine\"");
    assert_eq!(file(&folder), before);
    // An invalid file stays unchanged.
    std::fs::write(folder.file("models.toml"), "[[model]\n").unwrap();
    folder.run(["models", "add", "mine", "--preset", "groq"]).assert_failure(1, "cannot change");
    folder.run(["models", "list"]).assert_failure(1, "models.toml:1");
    let found = folder.run(["doctor", "--json"]).json();
    let is_said = |it: &serde_json::Value| it["subject"] == "models" && it["status"] == "error";
    assert!(found["findings"].as_array().unwrap().iter().any(is_said), "{found}");
    assert_eq!(file(&folder), "[[model]\n");
}

#[test]
fn a_key_from_standard_input_is_stored_and_never_shown() {
    let folder = CliHarness::new();
    let add = ["models", "add", "work", "--kind", "anthropic", "--key-stdin"];
    let ended = folder.run_with_input(&add, &format!("{KEY}\n")).assert_success();
    let kept = folder.file("secrets/model-work");
    assert_eq!(std::fs::read_to_string(&kept).unwrap(), KEY);
    assert_eq!(file_mode(&kept), 0o600);
    let mut shown = format!("{ended:?}{}", file(&folder));
    assert!(file(&folder).contains("key = { secret = \"model-work\" }"), "{}", file(&folder));
    shown.push_str(&format!("{:?}", folder.run(["models", "list"])));
    shown.push_str(&format!("{:?}", folder.run(["models", "list", "--json"])));
    shown.push_str(&format!("{:?}", folder.run(["doctor"])));
    assert!(!shown.contains("sk-a-key"), "{shown}");
    assert_eq!(folder.json(&["models", "list"])["models"][0]["key"]["present"], true);

    let ended = folder.run(["models", "remove", "work"]).assert_success();
    assert!(ended.stderr.contains("removed its stored key"), "{ended:?}");
    assert!(!kept.exists());
    // A rejected command stores no key, and a missing key adds no provider.
    folder
        .run_with_input(&["models", "add", "Work", "--kind", "anthropic", "--key-stdin"], KEY)
        .assert_failure(1, "models.toml");
    assert!(!folder.file("secrets/model-Work").exists());
    folder.run_with_input(&add, "\n").assert_failure(1, "the secret is empty");
    assert!(!file(&folder).contains("work"), "{}", file(&folder));
}

#[cfg(target_os = "linux")]
#[test]
fn without_a_keyring_a_private_file_is_used() {
    let folder = CliHarness::new();
    let ended = folder.run_with_input(&["models", "add", "anthropic", "--key-keyring"], KEY).assert_success();
    assert!(ended.stderr.contains("no supported keyring"), "{ended:?}");
    assert_eq!(std::fs::read_to_string(folder.file("secrets/model-anthropic")).unwrap(), KEY);
}

#[test]
fn the_owners_comments_and_format_stay() {
    let folder = CliHarness::new();
    folder.run(["models", "add", "groq"]).assert_success();
    let own = "# mine\n[[model]]\nname = 'a'  # first\npreset = \"ollama\"\n\n[model.models.\"x\"]\nmax_tools = 5\n";
    std::fs::write(folder.file("models.toml"), own).unwrap();
    let headers = ["--header", "X-Title=toolway", "--header", "X-Two=2"];
    let add = [
        "models",
        "add",
        "b",
        "--kind",
        "compatible",
        "--base-url",
        "https://b.example/v1",
        "--key-env",
        "B_KEY",
    ];
    folder.run(add.iter().chain(&headers)).assert_success();
    assert_eq!(
        file(&folder),
        format!(
            "{own}\n[[model]]\nname = \"b\"\nkind = \"compatible\"\nbase_url = \"https://b.example/v1\"\nkey = {{ env = \
             \"B_KEY\" }}\nheaders = {{ X-Title = \"toolway\", X-Two = \"2\" }}\n"
        )
    );
    folder.run(["models", "add", "b", "--preset", "groq", "--replace", "--default"]).assert_success();
    assert!(
        file(&folder).starts_with("[[model]]\nname = \"b\"\npreset = \"groq\"\n\n# mine\n[[model]]\n"),
        "{}",
        file(&folder)
    );
    folder.run(["models", "remove", "b"]).assert_success();
    assert!(file(&folder).contains("# mine\n[[model]]\nname = 'a'  # first\n"), "{}", file(&folder));
    assert!(file(&folder).contains("max_tools = 5\n"));
}

#[test]
fn presets_show_their_source() {
    let folder = CliHarness::new();
    let presets = folder.json(&["models", "presets"]);
    let names: Vec<_> =
        presets["presets"].as_array().unwrap().iter().map(|it| it["name"].as_str().unwrap()).collect();
    for name in ["openai", "anthropic", "gemini", "ollama", "openrouter", "groq", "mistral", "deepseek"] {
        assert!(names.contains(&name), "{names:?}");
    }
    assert!(presets["presets"][0]["checked_on"].as_str().unwrap().starts_with("20"));
    let shown = folder.run(["models", "presets"]).assert_success();
    assert!(shown.stdout.contains("OPENAI_API_KEY") && shown.stderr.contains("as of"), "{shown:?}");
}

#[test]
fn prices_are_imported_with_their_source() {
    let folder = CliHarness::new();
    let ended = folder.run(["prices", "list"]).assert_success();
    assert!(ended.stderr.contains("no matching prices"), "none is invented: {ended:?}");
    // LiteLLM's file format.
    let theirs = folder.sibling_path("prices.json");
    std::fs::write(
        &theirs,
        json!({"gpt-x": {
            "litellm_provider": "openai", "mode": "chat", "input_cost_per_token": 1.25e-6, "output_cost_per_token": 1e-5,
            "cache_read_input_token_cost": 1.25e-7, "max_input_tokens": 400_000,
        }})
        .to_string(),
    )
    .unwrap();
    let path = theirs.to_str().unwrap();
    let done = folder.json(&[
        "prices",
        "import",
        path,
        "--source",
        "https://prices.example",
        "--date",
        "2026-11-01",
    ]);
    assert_eq!((&done["prices"], &done["gateway"]), (&json!(1), &json!("not_running")));
    let listed = folder.json(&["prices", "list"]);
    assert_eq!(listed["currency"], "USD");
    let price = &listed["prices"][0];
    assert_eq!(price["model"], "openai/gpt-x");
    assert_eq!((price["input"].as_f64(), price["output"].as_f64()), (Some(1.25), Some(10.0)));
    assert_eq!((&price["source"], &price["date"]), (&json!("https://prices.example"), &json!("2026-11-01")));
    assert_eq!(file_mode(&folder.file("prices.toml")), 0o600);
    let found = folder.run(["doctor", "--json"]).json();
    assert!(found["findings"].as_array().unwrap().iter().any(|it| it["subject"] == "prices"), "{found}");
    let shown = folder.run(["prices", "list", "--search", "GPT"]).assert_success();
    assert!(shown.stdout.contains("openai/gpt-x") && shown.stdout.contains("10.00"), "{shown:?}");
    // An invalid file changes nothing.
    std::fs::write(&theirs, "{}").unwrap();
    folder.run(["prices", "import", path]).assert_failure(1, "prices");
    assert_eq!(folder.json(&["prices", "list"])["prices"].as_array().unwrap().len(), 1);
}
