//! Tests of models, agents and conversations with a real gateway and a fake model provider.

use serde_json::{Value, json};
use toolway_fake_models::{ApiKind, FakeModels, KEY, RequestMatcher, ScriptedResponse};

use crate::support::{CliHarness, RunningProcess};

/// A fake model provider with its own runtime, because these tests are not async.
struct ModelHarness {
    runtime: tokio::runtime::Runtime,
    fakes: FakeModels,
}

impl ModelHarness {
    fn start() -> Self {
        let runtime =
            tokio::runtime::Builder::new_multi_thread().worker_threads(1).enable_all().build().unwrap();
        let fakes = runtime.block_on(FakeModels::start());
        Self { runtime, fakes }
    }

    /// Scripts an answer to a question about the time, with a tool call.
    fn script_time_call(&self) {
        self.fakes.whenever(
            RequestMatcher { user_has: Some("time".to_owned()), ..RequestMatcher::user() },
            ScriptedResponse::new()
                .text_deltas(["Let me ", "look."])
                .tool_call("get_current_time", json!({"timezone": "UTC"}))
                .usage(100, 10),
        );
        self.fakes.line(toolway_fake_models::ScriptLine {
            when: RequestMatcher::result_of("get_current_time"),
            times: 0,
            answer: ScriptedResponse::text("It is **noon**.").usage(150, 8),
        });
    }
}

/// Starts a gateway with one model provider and without generated titles.
fn gateway(model: &ModelHarness) -> (CliHarness, RunningProcess) {
    let folder = CliHarness::new();
    folder.write_settings("[chat]\ngenerate_titles = false\n");
    folder.add_models(&model.fakes.base_url(ApiKind::Openai));
    let gateway = folder.serve(&["--no-local-device"]);
    (folder, gateway)
}

#[test]
fn a_question_is_answered_with_a_tool_and_all_of_it_is_kept() {
    let model = ModelHarness::start();
    model.script_time_call();
    let (folder, _gateway) = gateway(&model);
    let ended = folder.run(["chat", "What time is it?"]).assert_success();
    assert_eq!(ended.stdout, "Let me look.\n\nIt is **noon**.\n");
    assert_eq!(ended.stderr, "");

    let listed = folder.json(&["sessions", "list"]);
    let id = listed["sessions"][0]["id"].as_str().unwrap().to_owned();
    assert_eq!(listed["sessions"].as_array().unwrap().len(), 1);
    let shown = folder.run(["sessions", "show", &id]).assert_success().stdout;
    for part in [
        "What time is it?",
        "→ get_current_time {\"timezone\":\"UTC\"}",
        "✓ get_current_time",
        "It is **noon**.",
    ] {
        assert!(shown.contains(part), "{part:?} is not in {shown}");
    }
    // The next message continues the session.
    let calls = folder.json(&["calls", "list", "--session", &id]);
    assert_eq!(calls["calls"][0]["tool_id"], "builtin/get_current_time");
    assert_eq!(calls["calls"][0]["agent"], "default");
    folder.run(["chat", "And what time is it now?", "--session", "last"]).assert_success();
    assert_eq!(folder.json(&["sessions"])["sessions"].as_array().unwrap().len(), 1);

    folder.run(["sessions", "rename", &id, "Of time"]).assert_success();
    assert_eq!(folder.json(&["sessions", "list", "--search", "of TIME"])["sessions"][0]["title"], "Of time");
    assert_eq!(folder.json(&["sessions", "list", "--search", "elephants"])["sessions"], json!([]));
    assert_eq!(folder.json(&["sessions", "show", "last"])["id"], id.as_str());
    let exported = folder.run(["sessions", "export", "last"]).assert_success().stdout;
    assert!(exported.contains("Of time") && exported.contains("What time is it?"), "{exported}");
    let file = folder.sibling_path("talk.json");
    folder
        .run(["sessions", "export", &id, "--format", "json", "--output", file.to_str().unwrap()])
        .assert_success();
    let exported: Value = serde_json::from_str(&std::fs::read_to_string(&file).unwrap()).unwrap();
    assert!(exported.to_string().contains("It is **noon**."), "{exported}");

    let used = folder.json(&["usage", "--by", "model"]);
    let row = &used["rows"][0];
    assert_eq!(
        (&row["key"], &row["input"], &row["output"]),
        (&json!("fake/fake-model"), &json!(500), &json!(36))
    );
    assert_eq!(row["cost"], Value::Null, "no price is known, so it is not said to cost nothing");
    let used = folder.json(&["usage", "--by", "tool"]);
    assert_eq!(used["rows"][0]["calls"], 2, "{used}");
    assert!(folder.run(["usage"]).assert_success().stdout.contains("500"));

    folder.run(["sessions", "remove", &id]).assert_success();
    assert_eq!(folder.json(&["sessions", "list"])["sessions"], json!([]));
    folder.run(["sessions", "show", &id]).assert_failure(1, "session");
}

#[test]
fn events_are_printed_as_lines() {
    let model = ModelHarness::start();
    model.script_time_call();
    let (folder, _gateway) = gateway(&model);
    let ended = folder.run(["--json", "chat", "What time is it?"]).assert_success();
    let lines: Vec<Value> = ended.stdout.lines().map(|line| serde_json::from_str(line).unwrap()).collect();
    let of = |kind: &str| lines.iter().filter(|line| line["event"] == kind).collect::<Vec<_>>();
    assert_eq!(lines[0]["event"], "session_start");
    let said: String = of("chunk").iter().map(|line| line["content"].as_str().unwrap()).collect();
    let done = lines.last().unwrap();
    assert_eq!(done["event"], "done");
    assert_eq!(done["full_response"], json!(said));
    assert_eq!(of("tool_call")[0]["args"], json!({"timezone": "UTC"}));
    assert_eq!(of("tool_result")[0]["status"], "success");
    assert_eq!((&done["usage"]["input"], &done["usage"]["output"]), (&json!(250), &json!(18)));
}

#[test]
fn an_agent_is_created_changed_and_removed() {
    let model = ModelHarness::start();
    let (folder, _gateway) = gateway(&model);
    let set = [
        "agents",
        "set",
        "cook",
        "--model",
        "fake/fake-model",
        "--tools",
        "builtin/get_*,!builtin/get_x",
        "--prompt",
    ];
    folder
        .run(set.iter().chain(&["You cook.", "--temperature", "0.5", "--max-rounds", "4"]))
        .assert_success();
    let cook = folder.json(&["agents", "show", "cook"]);
    assert_eq!(cook["tools"], json!(["builtin/get_*", "!builtin/get_x"]));
    assert_eq!((&cook["prompt"], &cook["limits"]["rounds"]), (&json!("You cook."), &json!(4)));
    let file = folder.sibling_path("prompt.md");
    std::fs::write(&file, "You cook\nwell.\n").unwrap();
    folder
        .run(["agents", "set", "cook", "--prompt-file", file.to_str().unwrap(), "--unset", "max-rounds"])
        .assert_success();
    let cook = folder.json(&["agents", "show", "cook"]);
    assert_eq!((&cook["prompt"], &cook["options"]["temperature"]), (&json!("You cook\nwell."), &json!(0.5)));
    let shown = folder.run(["agents", "show", "cook"]).assert_success().stdout;
    assert!(shown.contains("matching tools") && shown.contains("get_current_time"), "{shown}");
    assert!(folder.run(["agents", "list"]).assert_success().stdout.contains("cook"));

    model.fakes.when(
        RequestMatcher { system_has: Some("You cook".to_owned()), ..RequestMatcher::user() },
        ScriptedResponse::text("Soup."),
    );
    assert_eq!(folder.run(["chat", "What is there?", "--agent", "cook"]).assert_success().stdout, "Soup.\n");
    folder.run(["chat", "hi", "--agent", "cok"]).assert_failure(1, "cok");
    folder.run(["agents", "set", "cook", "--tools", "a/[z"]).assert_failure(1, "a/[z");
    folder.run(["agents", "remove", "cook"]).assert_success();
    folder.run(["agents", "show", "cook"]).assert_failure(1, "cook");
    folder.run(["agents", "remove", "default"]).assert_failure(1, "default");
}

#[test]
fn a_model_provider_is_tested() {
    let model = ModelHarness::start();
    let folder = CliHarness::new();
    folder.add_models(&model.fakes.base_url(ApiKind::Openai));
    // The model test asks for a call of this tool with this argument.
    model.fakes.whenever(
        RequestMatcher { offers: Some("ping".to_owned()), ..RequestMatcher::user() },
        ScriptedResponse::new().tool_call("ping", json!({"word": "toolway"})).usage(20, 5),
    );
    // Without a gateway, the test runs from here.
    let ended = folder.run(["models", "test", "fake"]);
    assert!(ended.stderr.contains("no gateway is running"), "{ended:?}");
    for check in ["connection", "key", "model", "streaming", "tool call", "usage"] {
        assert!(ended.stdout.contains(check), "{check:?} is not in {ended:?}");
    }
    let _gateway = folder.serve_without_event(&[]);
    let tests = folder.run(["models", "test", "--json"]).json();
    assert_eq!(tests["tests"][0]["name"], "fake");
    let listed = folder.json(&["models", "list"]);
    assert_eq!(listed["models"][0]["key"]["present"], true);

    // The error of a wrong key names the key's location.
    folder.run_with_input(&["secrets", "set", "model-fake"], "wrong").assert_success();
    let failed = folder.run(["models", "test", "fake"]).assert_failure(1, "fake failed the test");
    assert!(failed.stdout.contains("✗"), "{failed:?}");
    assert!(!failed.stdout.contains("wrong\n") && !failed.stderr.contains("fake-key"), "{failed:?}");
    folder.run(["models", "test", "gone"]).assert_failure(1, "gone");
}

#[test]
fn a_tool_is_shown_as_models_get_it() {
    let folder = CliHarness::new();
    let _gateway = folder.serve(&["--no-local-device"]);
    let gemini = folder.json(&["tools", "show", "get_current_time", "--for", "gemini"]);
    assert_eq!(
        (&gemini["for"], &gemini["definition"]["name"]),
        (&json!("gemini"), &json!("get_current_time"))
    );
    let shown =
        folder.run(["tools", "show", "get_current_time", "--for", "anthropic"]).assert_success().stdout;
    assert!(shown.contains("input_schema") && shown.contains("not supported"), "{shown}");
    folder.run(["tools", "show", "get_current_time", "--for", "nobody"]).assert_failure(1, "nobody");
}

#[test]
fn without_a_model_the_hint_shows_how_to_add_one() {
    let folder = CliHarness::new();
    let _gateway = folder.serve_without_event(&[]);
    folder.run(["chat", "hi"]).assert_failure(1, "toolway models add");
    assert_eq!(folder.json(&["sessions", "list"])["sessions"], serde_json::json!([]), "nothing was said");
    let agents = folder.run(["agents", "list"]).assert_success().stdout;
    assert!(agents.contains("(none)"), "{agents}");
    let ended = folder.run(["models", "list"]).assert_success();
    assert!(ended.stderr.contains("toolway models add"), "{ended:?}");
}

#[test]
fn a_model_added_to_a_running_gateway_works() {
    let model = ModelHarness::start();
    model.fakes.answer(ScriptedResponse::text("Hello."));
    let folder = CliHarness::new();
    folder.write_settings("[chat]\ngenerate_titles = false\n");
    let _gateway = folder.serve_without_event(&[]);
    let url = model.fakes.base_url(ApiKind::Compatible);
    let added =
        ["models", "add", "local", "--kind", "compatible", "--base-url", &url, "--model", "fake-model"];
    folder.run(added).assert_success();
    assert_eq!(folder.run(["chat", "hi"]).assert_success().stdout, "Hello.\n");
    for agents in [&["agents", "list"][..], &["agents", "show", "default"]] {
        let shown = folder.run(agents).assert_success().stdout;
        assert!(shown.contains("local/fake-model (the first)"), "{shown}");
    }
    folder.run(["models", "remove", "local"]).assert_success();
    folder.run(["chat", "hi"]).assert_failure(1, "toolway models add");
    drop(model.runtime);
}

#[test]
fn a_backup_contains_models_agents_and_sessions() {
    let (folder, other) = (CliHarness::new(), CliHarness::new());
    folder.run_with_input(&["models", "add", "groq", "--key-stdin"], KEY).assert_success();
    std::fs::create_dir_all(folder.file("agents")).unwrap();
    std::fs::write(folder.file("agents/cook.toml"), "prompt = \"You cook.\"\n").unwrap();
    std::fs::write(folder.file("prices.toml"), "currency = \"USD\"\n").unwrap();
    let gateway = folder.serve_without_event(&[]);
    let backup = folder.sibling_path("backup.tar");
    folder.run(["backup", backup.to_str().unwrap()]).assert_success();
    drop(gateway);
    other.run(["restore", backup.to_str().unwrap(), "--yes"]).assert_success();
    for name in ["models.toml", "prices.toml", "agents/cook.toml", "secrets/model-groq"] {
        let read = |folder: &CliHarness| std::fs::read(folder.file(name)).unwrap();
        assert_eq!(read(&folder), read(&other), "{name}");
    }
}
