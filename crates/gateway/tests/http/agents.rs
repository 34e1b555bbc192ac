//! Agents over REST and in files.

use std::time::Duration;

use serde_json::json;

use crate::chat_harness::ChatHarness;
use crate::support::GatewayHarness;

#[tokio::test]
async fn the_default_agent_can_be_changed_but_not_removed() {
    let bench = GatewayHarness::new().await;
    let agents = bench.send_as_owner("GET", "/api/agents", None).await.json();
    let default = &agents["agents"][0];
    assert_eq!((&default["name"], &default["tools"]), (&json!("default"), &json!(["*/*"])));
    assert_eq!(default["origin"], json!({"kind": "built_in"}));
    let changed =
        bench.send_as_owner("PUT", "/api/agents/default", Some(json!({"prompt": "Be brief."}))).await;
    assert_eq!((changed.status, &changed.json()["prompt"]), (200, &json!("Be brief.")));
    assert_eq!(
        bench.send_as_owner("GET", "/api/agents/default", None).await.json()["origin"]["kind"],
        "database"
    );
    let refused = bench.send_as_owner("DELETE", "/api/agents/default", None).await;
    assert_eq!((refused.status, refused.code().as_str()), (409, "agent_not_removable"));
}

#[tokio::test]
async fn an_agent_is_created_changed_and_removed() {
    let bench = GatewayHarness::new().await;
    let definition = json!({"description": "Keeps the house.", "prompt": "You keep the house.", "tools": ["desk/*", "!desk/safe"],
                            "options": {"temperature": 0.5}, "approval": "writes", "limits": {"rounds": 5}, "max_tools": 10});
    let made = bench.send_as_owner("PUT", "/api/agents/home", Some(definition.clone())).await;
    assert_eq!(made.status, 201, "{made:?}");
    let shown = bench.send_as_owner("GET", "/api/agents/home", None).await.json();
    for (field, value) in definition.as_object().unwrap() {
        assert_eq!(&shown[field], value, "{field}");
    }
    assert_eq!(
        bench.send_as_owner("PUT", "/api/agents/home", Some(json!({"name": "home"}))).await.status,
        200
    );
    assert!(
        bench.send_as_owner("GET", "/api/agents/home", None).await.json().get("max_tools").is_none(),
        "what is left out is as at first"
    );
    assert_eq!(bench.send_as_owner("DELETE", "/api/agents/home", None).await.status, 204);
    let gone = bench.send_as_owner("GET", "/api/agents/home", None).await;
    assert_eq!((gone.status, gone.code().as_str()), (404, "agent_not_found"));
}

#[tokio::test]
async fn an_invalid_agent_is_refused_with_every_reason() {
    let bench = GatewayHarness::new().await;
    for (name, body, word) in [
        ("Home", json!({}), "name"),
        ("home", json!({"name": "work"}), "path"),
        ("home", json!({"tool": []}), "unknown field `tool`"),
        ("home", json!({"tools": ["["]}), "tools[0]"),
        ("home", json!({"limits": {"rounds": 0}}), "limits.rounds"),
    ] {
        let refused = bench.send_as_owner("PUT", &format!("/api/agents/{name}"), Some(body)).await;
        assert_eq!((refused.status, refused.code().as_str()), (400, "malformed_request"));
        assert!(refused.body.contains(word), "{refused:?}");
    }
}

#[tokio::test]
async fn other_principals_see_only_the_agents_they_may_use() {
    let it = ChatHarness::new().await;
    it.put_agent(
        "home",
        json!({"description": "Keeps the house.", "prompt": "A secret.", "model": "fake/fake-model"}),
    )
    .await;
    let client = it.create_token("client").await;
    let list = it.gateway.send("GET", "/api/agents", Some(&client), None).await;
    assert!(!list.body.contains("A secret."), "{}", list.body);
    let list = list.json();
    let names: Vec<_> =
        list["agents"].as_array().unwrap().iter().map(|agent| agent["name"].clone()).collect();
    assert_eq!(names, ["default", "home"]);
    assert_eq!(
        (&list["agents"][1]["description"], &list["agents"][1]["model"]),
        (&json!("Keeps the house."), &json!("fake/fake-model"))
    );
    let bound = it.gateway.create_agent_token("home").await.token;
    let list = it.gateway.send("GET", "/api/agents", Some(&bound), None).await.json();
    assert_eq!(list["agents"].as_array().unwrap().len(), 1);
    let refused = it.gateway.send("GET", "/api/agents/default", Some(&bound), None).await;
    assert_eq!((refused.status, refused.code().as_str()), (403, "agent_forbidden"));
}

#[tokio::test]
async fn an_agent_in_a_file_can_be_changed_only_there() {
    let bench = GatewayHarness::new().await;
    let folder = bench.dir.path().join("agents");
    std::fs::create_dir(&folder).unwrap();
    std::fs::write(folder.join("home.toml"), "# The house.\nprompt = \"You keep the house.\"\n").unwrap();
    assert_eq!(bench.send_as_owner("POST", "/api/reload", None).await.status, 204);
    let home = bench.send_as_owner("GET", "/api/agents/home", None).await.json();
    assert_eq!(home["prompt"], "You keep the house.");
    assert_eq!(home["origin"]["kind"], "file");
    assert!(home["origin"]["path"].as_str().unwrap().ends_with("home.toml"));
    for (method, body) in [("PUT", Some(json!({}))), ("DELETE", None)] {
        let refused = bench.send_as_owner(method, "/api/agents/home", body).await;
        assert_eq!((refused.status, refused.code().as_str()), (409, "agent_in_file"), "{method}");
        assert!(refused.body.contains("home.toml, line"), "{refused:?}");
    }
    let client = bench.create_token("client").await.token;
    let shown = bench.send("GET", "/api/agents/home", Some(&client), None).await.json();
    assert_eq!(shown["origin"], json!({"kind": "file"}), "where files lie is the owner's affair");
    // The previous version of a file that has become invalid stays active, with a problem.
    std::fs::write(folder.join("home.toml"), "prompt = \"x\"\nmodle = \"fake\"\n").unwrap();
    assert_eq!(bench.send_as_owner("POST", "/api/reload", None).await.status, 204);
    assert_eq!(
        bench.send_as_owner("GET", "/api/agents/home", None).await.json()["prompt"],
        "You keep the house."
    );
    let status = bench.send_as_owner("GET", "/api/status", None).await.json();
    let warnings = status["warnings"].as_array().unwrap();
    let said = |warning: &&serde_json::Value| warning["message"].as_str().unwrap().contains("home.toml:2");
    assert!(warnings.iter().find(said).is_some_and(|it| it["subject"] == "files"), "{status}");
    assert_eq!(status["agents"], json!(["default", "home"]));
}

#[tokio::test]
async fn changed_files_are_reloaded_automatically() {
    let bench = GatewayHarness::new().await;
    let folder = bench.dir.path().join("agents");
    std::fs::create_dir(&folder).unwrap();
    std::fs::write(folder.join("home.toml"), "prompt = \"You keep the house.\"\n").unwrap();
    let seen = async {
        while bench.send_as_owner("GET", "/api/agents/home", None).await.status != 200 {
            tokio::time::sleep(Duration::from_millis(50)).await;
        }
    };
    tokio::time::timeout(Duration::from_secs(30), seen).await.expect("it is seen within some seconds");
}

#[tokio::test]
async fn an_agents_tools_limit_its_token_on_every_entry_point_and_after_new_settings() {
    let bench = GatewayHarness::new().await;
    let probe = crate::probe_tools::ProbeTools::offer(&bench, "desk", &["open", "safe"]);
    let definition = json!({"tools": ["desk/*", "!desk/safe"]});
    assert_eq!(bench.send_as_owner("PUT", "/api/agents/home", Some(definition)).await.status, 201);
    let token = bench.create_agent_token("home").await.token;
    for _ in 0..2 {
        assert_eq!(bench.call(&token, "desk__open", json!({})).await["status"], "success");
        assert_eq!(bench.call(&token, "desk__safe", json!({})).await["code"], "tool_not_available");
        let mut chat = crate::websocket::WebSocketClient::chat(&bench, &token).await;
        assert_eq!(chat.call("desk__safe", json!({})).await["code"], "tool_not_available");
        // Other rules do not change the tools of an agent.
        bench
            .apply(json!({"policy": {"rules": [{"effect": "deny", "when": {"tools": ["other/*"]}}]}}))
            .await
            .unwrap();
    }
    assert_eq!(probe.run_count(), 2);
    assert_eq!(bench.send_as_owner("DELETE", "/api/agents/home", None).await.status, 204);
    assert_eq!(
        bench.call(&token, "desk__open", json!({})).await["code"],
        "tool_not_available",
        "an agent that is gone may use nothing"
    );
}
