//! Tools that the owner defines in files.

use std::path::Path;

use serde_json::{Value, json};

use crate::support::GatewayHarness;
use crate::websocket::WebSocketClient;

const ECHO: &str = r#"
[[tool]]
name = "say"
description = "Says something"
program = "/bin/echo"
args = ["{word}"]
read_only = true

[tool.parameters]
type = "object"
required = ["word"]
properties.word = { type = "string" }
"#;

fn define(dir: &Path, file: &str, text: &str) {
    std::fs::create_dir_all(dir.join("tools")).unwrap();
    std::fs::write(dir.join("tools").join(file), text).unwrap();
}

async fn own(bench: &GatewayHarness) -> Vec<Value> {
    let listed = bench.send_as_owner("GET", "/api/tools", None).await.json();
    let listed = listed["tools"].as_array().unwrap();
    listed.iter().filter(|tool| tool["source"] == "own").cloned().collect()
}

async fn warnings(bench: &GatewayHarness) -> Vec<String> {
    let status = bench.send_as_owner("GET", "/api/status", None).await.json();
    let all = status["warnings"].as_array().unwrap();
    let of_tools = all.iter().filter(|warning| warning["subject"] == "tools");
    of_tools.map(|warning| warning["message"].as_str().unwrap().to_owned()).collect()
}

#[tokio::test]
async fn a_definition_becomes_a_tool_with_its_location() {
    let dir = tempfile::tempdir().unwrap();
    define(dir.path(), "say.toml", ECHO);
    let place = format!("{}, line 2", dir.path().join("tools/say.toml").display());
    let bench = GatewayHarness::in_folder(dir, json!({})).await;
    let tools = own(&bench).await;
    assert_eq!(tools.len(), 1);
    assert_eq!((&tools[0]["id"], &tools[0]["name"]), (&json!("own/say"), &json!("own__say")));
    assert_eq!(tools[0]["defined_in"], place);
    let client = bench.create_token("client").await.token;
    let shown = bench.send("GET", "/api/tools/say", Some(&client), None).await.json();
    assert_eq!(
        (&shown["id"], shown.get("defined_in")),
        (&json!("own/say"), None),
        "the owner's files are the owner's"
    );
    for name in ["own__say", "say"] {
        let said = bench.call(&client, name, json!({"word": "; echo $HOME"})).await;
        assert_eq!(said["result"]["stdout"], "; echo $HOME\n", "{said}");
    }
    let refused = bench.call(&client, "say", json!({})).await;
    assert_eq!(refused["code"], "invalid_arguments");
    assert_eq!(warnings(&bench).await, [""; 0]);
}

#[tokio::test]
async fn invalid_definitions_cause_warnings_and_the_others_are_used() {
    let dir = tempfile::tempdir().unwrap();
    define(dir.path(), "say.toml", ECHO);
    define(
        dir.path(),
        "bad.toml",
        "[[tool]]\nname = \"read_file\"\ndescription = \"x\"\nprogram = \"/bin/echo\"\n\n\
         [[tool]]\nname = \"gone\"\ndescription = \"x\"\nprogram = \"/nowhere/at/all\"\n\n\
         [[tool]]\nname = \"good\"\ndescription = \"x\"\nprogram = \"/bin/echo\"\n",
    );
    define(dir.path(), "broken.toml", "[[tool]\n");
    let elsewhere = tempfile::tempdir().unwrap();
    let listed = elsewhere.path().join("more.toml");
    std::fs::write(&listed, ECHO.replace("\"say\"", "\"more\"")).unwrap();
    let missing = elsewhere.path().join("missing.toml");
    let bench = GatewayHarness::in_folder(dir, json!({"tools": {"own": [listed, missing]}})).await;

    let names: Vec<_> = own(&bench).await.iter().map(|tool| tool["id"].clone()).collect();
    assert_eq!(names, ["own/good", "own/more", "own/say"]);
    let warned = warnings(&bench).await;
    assert_eq!(warned.len(), 4, "{warned:#?}");
    for (words, file, line) in [
        ("\"read_file\"", "bad.toml", 1),
        ("\"gone\"", "bad.toml", 6),
        ("", "broken.toml", 1),
        ("can't be read", "missing.toml", 1),
    ] {
        let place = format!("{file}:{line}: ");
        assert!(warned.iter().any(|it| it.contains(&place) && it.contains(words)), "{place}: {warned:#?}");
    }
    // The built-in tool is unchanged.
    let missing = bench.call(&bench.owner, "read_file", json!({"path": "none"})).await;
    assert_eq!(missing["code"], "file_not_found");
}

#[tokio::test]
async fn a_reload_adds_new_tools_and_removes_missing_ones() {
    let bench = GatewayHarness::new().await;
    assert_eq!(own(&bench).await, [Value::Null; 0]);
    define(bench.dir.path(), "say.toml", ECHO);
    define(bench.dir.path(), "bad.toml", "[[tool]]\nname = \"Bad Name\"\n");
    let reload = async || assert_eq!(bench.send_as_owner("POST", "/api/reload", None).await.status, 204);
    reload().await;
    assert_eq!(own(&bench).await.len(), 1);
    assert_eq!(warnings(&bench).await.len(), 1);
    define(bench.dir.path(), "say.toml", &ECHO.replace("Says something", "Says it again"));
    std::fs::remove_file(bench.dir.path().join("tools/bad.toml")).unwrap();
    reload().await;
    assert_eq!(own(&bench).await[0]["description"], "Says it again");
    assert_eq!(warnings(&bench).await, [""; 0]);
    std::fs::remove_file(bench.dir.path().join("tools/say.toml")).unwrap();
    reload().await;
    assert_eq!(own(&bench).await, [Value::Null; 0]);
    assert_eq!(bench.call(&bench.owner, "say", json!({})).await["code"], "tool_not_available");
}

#[tokio::test]
async fn an_own_tool_can_be_called_by_its_id_over_rest_and_websocket() {
    let dir = tempfile::tempdir().unwrap();
    define(dir.path(), "say.toml", ECHO);
    let bench = GatewayHarness::in_folder(dir, json!({})).await;
    let said = bench.call(&bench.owner, "own%2Fsay", json!({"word": "hello"})).await;
    assert_eq!(said["result"]["stdout"], "hello\n", "{said}");
    let shown = bench.send_as_owner("GET", "/api/tools/own%2Fsay", None).await;
    assert_eq!((shown.status, &shown.json()["name"]), (200, &json!("own__say")));
    let mut chat = WebSocketClient::chat(&bench, &bench.create_token("companion").await.token).await;
    assert_eq!(chat.call("own/say", json!({"word": "hello"})).await["result"]["stdout"], "hello\n");

    let wrong = bench.call(&bench.owner, "own__sy", json!({})).await;
    assert_eq!(
        (&wrong["code"], &wrong["hint"]),
        (&json!("tool_not_available"), &Value::Null),
        "too different"
    );
    let wrong = bench.call(&bench.owner, "phone__say", json!({})).await;
    assert_eq!(wrong["hint"], "Did you mean own__say?");
    let unknown = bench.call(&bench.owner, "own__say", json!({"word": "x", "sides": 6})).await;
    assert_eq!(unknown["message"], "Invalid arguments: unknown argument `sides`; it takes `word`");
}

#[tokio::test]
async fn permissions_of_own_tools_are_checked_regardless_of_names() {
    let dir = tempfile::tempdir().unwrap();
    define(dir.path(), "say.toml", &ECHO.replace("read_only = true", "permissions = [\"SPEAK\"]"));
    let settings = json!({"permissions": {"rules": [{"permission": "SPEAK", "state": "denied"}]}});
    let bench = GatewayHarness::in_folder(dir, settings).await;
    let refused = bench.call(&bench.owner, "say", json!({"word": "x"})).await;
    assert_eq!(refused["message"], "Permission SPEAK was denied by the user");
}

/// The owner's definition has precedence over a tool that a connection registers under the same name.
#[tokio::test]
async fn a_connections_own_tool_cannot_take_the_name_of_an_owner_tool_r5() {
    let dir = tempfile::tempdir().unwrap();
    define(dir.path(), "say.toml", ECHO);
    let bench = GatewayHarness::in_folder(dir, json!({})).await;
    let companion = bench.create_token("companion").await.token;
    let mut chat = WebSocketClient::chat_at(&bench, &companion, "/ws/chat?name=pixel").await;
    chat.register(json!([{"name": "say", "description": "x"}])).await;
    let said = chat.call("own__say", json!({"word": "mine"})).await;
    assert_eq!(said["result"]["stdout"], "mine\n");
    // Two tools have the bare name now, so it resolves to neither.
    let unclear = chat.call("say", json!({"word": "mine"})).await;
    assert_eq!(unclear["code"], "tool_not_available");
    let hint = unclear["hint"].as_str().unwrap();
    assert!(hint.contains("own__say") && hint.contains("pixel__say"), "{unclear}");
}
