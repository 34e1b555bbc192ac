//! Rules and hooks: denied tools look as if they did not exist, and the owner's programs check every call.

use serde_json::{Value, json};
use toolway_tests::caller::ChatCaller;
use toolway_tests::device;
use toolway_tests::process::TestFolder;
use toolway_tests::rest;
use toolway_tests::runs::RunLog;

use crate::support::{
    call_as_owner, call_record, call_tool, create_client, listed_tools, path_text, toml_string,
    write_settings, write_sibling_file,
};

/// Returns the same outcome for another name, without fields of this call only.
fn normalize_outcome(outcome: &Value, name: &str) -> Value {
    let mut outcome = outcome.clone();
    let fields = outcome.as_object_mut().unwrap();
    fields.retain(|key, _| !["type", "id", "call_id", "duration_ms"].contains(&key.as_str()));
    serde_json::from_str(&outcome.to_string().replace(name, "NAME")).unwrap()
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_denied_tool_is_neither_listed_nor_callable() {
    let (folder, runs) = (TestFolder::new(), RunLog::default());
    write_settings(
        &folder,
        "# mine\n[[policy.rules]]\nname = \"hands off\"\neffect = \"deny\"\nwhen = { tools = [\"builtin/http_*\", \
         \"lamp/*\"], roles = [\"client\"] }\n",
    );
    let gateway = folder.serve(&[]).await;
    let builder = device::builder(&gateway.url(), &gateway.token, "lamp").tools([device::echo_tool(&runs)]);
    let _device = device::start(builder).await;
    let somebody = create_client(&gateway, "script").await;
    let chat = ChatCaller::connect(gateway.address(), &somebody.token).await;

    let seen = listed_tools(&gateway, &somebody.token).await;
    assert!(seen.contains(&"read_file".to_owned()), "{seen:?}");
    let all = listed_tools(&gateway, &gateway.token).await;
    for name in ["http_request", "lamp__echo"] {
        assert!(
            !seen.contains(&name.to_owned()) && all.contains(&name.to_owned()),
            "{name}: {seen:?}, {all:?}"
        );
    }
    let nothing = "no_such_tool";
    let (status, unknown) =
        rest::send_request(gateway.address(), &somebody.token, "GET", "/api/tools/no_such_tool", None).await;
    assert_eq!(status, 404);
    let unknown_over_rest = call_tool(&gateway, &somebody.token, nothing, json!({})).await;
    let unknown_in_chat = chat.call(nothing, json!({})).await;
    for name in
        ["http_request", "lamp__echo", "echo", "lamp/echo", "builtin/http_request", "builtin__http_request"]
    {
        let path = format!("/api/tools/{}", name.replace('/', "%2F"));
        let (status, shown) =
            rest::send_request(gateway.address(), &somebody.token, "GET", &path, None).await;
        assert_eq!((status, normalize_outcome(&shown, name)), (404, normalize_outcome(&unknown, nothing)));
        let args = json!({"n": 1, "url": gateway.url()});
        let over_rest = call_tool(&gateway, &somebody.token, name, args.clone()).await;
        assert_eq!(over_rest["message"], format!("Tool {name} is not available"));
        assert_eq!(over_rest["code"], "tool_not_available");
        assert_eq!(normalize_outcome(&over_rest, name), normalize_outcome(&unknown_over_rest, nothing));
        let in_chat = chat.call(name, args).await;
        assert_eq!(normalize_outcome(&in_chat, name), normalize_outcome(&unknown_in_chat, nothing));
    }
    for query in ["http request url", "echo number back lamp"] {
        let found = chat.call("find_tools", json!({"query": query, "limit": 50})).await;
        assert_eq!(found["status"], "success", "{found}");
        assert!(
            !found.to_string().contains("http_request") && !found.to_string().contains("lamp"),
            "{found}"
        );
    }
    assert_eq!(runs.recorded_runs().len(), 0);
    assert_eq!(
        call_as_owner(&gateway, "lamp__echo", json!({"n": 7})).await["result"]["n"],
        7,
        "for others it is there"
    );

    // The owner sees the reason.
    let why = folder.run_json(&["policy", "test", "--principal", "script", "http_request"]).await;
    assert_eq!((&why["decision"]["effect"], &why["decision"]["rule"]), (&json!("deny"), &json!("hands off")));
    let shown =
        folder.run(["policy", "test", "--principal", "script", "http_request"]).await.expect_success().stdout;
    assert!(shown.contains("hands off") && shown.contains("toolway.toml, line 2"), "{shown}");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn rules_from_the_command_line_apply_to_the_next_call() {
    let folder = TestFolder::new();
    let gateway = folder.serve(&[]).await;
    let somebody = create_client(&gateway, "script").await;
    let other = create_client(&gateway, "other").await;
    let chat = ChatCaller::connect(gateway.address(), &somebody.token).await;
    let time = async || chat.call("get_current_time", json!({})).await;
    assert_eq!(time().await["status"], "success");
    let deny = [
        "policy",
        "add",
        "no-clock",
        "--effect",
        "deny",
        "--tool",
        "builtin/*time*",
        "--principal",
        "script",
    ];
    folder.run(deny).await.expect_success();
    assert_eq!(time().await["code"], "tool_not_available");
    assert_eq!(call_tool(&gateway, &other.token, "get_current_time", json!({})).await["status"], "success");
    folder.run(["policy", "remove", "no-clock"]).await.expect_success();
    assert_eq!(time().await["status"], "success");
    // An exceeded limit is reported as such, and belongs to the principal, across connections.
    let limit =
        ["policy", "add", "slow", "--effect", "allow", "--tool", "builtin/*", "--calls-per-minute", "3"];
    folder.run(limit).await.expect_success();
    for _ in 0..3 {
        assert_eq!(time().await["status"], "success");
    }
    let again = ChatCaller::connect(gateway.address(), &somebody.token).await;
    let refused = again.call("get_current_time", json!({})).await;
    assert_eq!((&refused["code"], &refused["dispatched"]), (&json!("rate_limited"), &json!(false)));
    assert!(refused["hint"].as_str().is_some(), "{refused}");
    assert_eq!(call_record(&gateway, &gateway.token, &refused).await["rule"], "slow");
    assert_eq!(
        call_record(&gateway, &somebody.token, &refused).await.get("rule"),
        None,
        "that is its owner's to know"
    );
    assert_eq!(call_tool(&gateway, &other.token, "get_current_time", json!({})).await["status"], "success");
}

/// A shell hook that stops, changes and replaces.
const HOOK_SCRIPT: &str = r#"#!/bin/sh
read -r question
case "$question" in
  *'"stage":"after"'*'"tool_id":"builtin/get_current_time"'* | *'"tool_id":"builtin/get_current_time"'*'"stage":"after"'*)
    echo '{"decision":"replace","result":"tea time"}' ;;
  *'"stage":"before"'*forbidden*)
    echo '{"decision":"cancel","reason":"that word is forbidden"}' ;;
  *'"stage":"before"'*shouted*)
    echo '{"decision":"modify","arguments":{"path":"quiet.txt","content":"whispered"}}' ;;
  *'"stage":"before"'*broken*)
    echo 'this hook fails' >&2
    exit 3 ;;
esac
"#;

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_shell_hook_stops_changes_and_replaces() {
    let (folder, runs) = (TestFolder::new(), RunLog::default());
    let script = write_sibling_file(&folder, "hook.sh", HOOK_SCRIPT);
    let hook = |name: &str, args: &str, rest: &str| {
        format!(
            "[[hooks]]\nname = {}\nkind = \"command\"\nprogram = \"/bin/sh\"\nargs = [{args}]\ntimeout_ms = 30000\n{rest}\n",
            toml_string(name)
        )
    };
    let fails = "\"-c\", \"exit 1\"";
    write_settings(
        &folder,
        &[
            hook("careless", fails, "on_failure = \"open\""),
            hook("minder", &toml_string(path_text(&script)), "on_failure = \"closed\""),
            hook("never", fails, "on_failure = \"closed\"\ntools = [\"builtin/list_files\"]"),
        ]
        .concat(),
    );
    let gateway = folder.serve(&[]).await;
    let builder = device::builder(&gateway.url(), &gateway.token, "box").tools([device::echo_tool(&runs)]);
    let _device = device::start(builder).await;
    let somebody = create_client(&gateway, "assistant").await;
    let write = async |content: &str| {
        call_tool(&gateway, &somebody.token, "write_file", json!({"path": "loud.txt", "content": content}))
            .await
    };
    let files = folder.data_path().join("files/shared");

    assert_eq!(write("fine").await["result"], json!({"path": "loud.txt", "bytes_written": 4}));
    let stopped = write("forbidden").await;
    assert_eq!(
        (&stopped["error_type"], &stopped["code"]),
        (&json!("execution_error"), &json!("hook_cancelled"))
    );
    let said = stopped["message"].as_str().unwrap();
    assert!(said.contains("minder") && said.contains("that word is forbidden"), "{stopped}");
    assert_eq!(stopped["dispatched"], false);
    assert_eq!(std::fs::read_to_string(files.join("loud.txt")).unwrap(), "fine");

    let changed = write("shouted").await;
    assert_eq!(changed["result"], json!({"path": "quiet.txt", "bytes_written": 9}));
    assert_eq!(std::fs::read_to_string(files.join("quiet.txt")).unwrap(), "whispered");
    let kept = call_record(&gateway, &gateway.token, &changed).await;
    assert_eq!(kept["arguments"], json!({"path": "loud.txt", "content": "shouted"}));
    assert_eq!(kept["effective_arguments"], json!({"path": "quiet.txt", "content": "whispered"}));
    assert_eq!(kept["hooks"], json!(["minder"]));
    let as_seen = call_record(&gateway, &somebody.token, &changed).await;
    assert!(as_seen.get("effective_arguments").is_none() && as_seen.get("hooks").is_none(), "{as_seen}");

    let replaced = call_tool(&gateway, &somebody.token, "get_current_time", json!({})).await;
    assert_eq!((&replaced["status"], &replaced["result"]), (&json!("success"), &json!("tea time")));
    // A failing hook stops calls, if configured.
    assert_eq!(write("broken").await["code"], "hook_cancelled");
    assert_eq!(call_tool(&gateway, &somebody.token, "list_files", json!({})).await["code"], "hook_cancelled");
    // Calls of device tools pass the hooks like all others.
    assert_eq!(call_tool(&gateway, &somebody.token, "box__echo", json!({"n": 1})).await["status"], "success");
    let stopped = call_tool(&gateway, &somebody.token, "box__echo", json!({"n": 2, "forbidden": true})).await;
    assert_eq!(stopped["code"], "hook_cancelled", "{stopped}");
    assert_eq!(runs.arguments(), [1]);
}
