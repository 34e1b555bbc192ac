//! Models over REST, and the form of tools for models.

use serde_json::json;
use toolway_fake_models::ScriptedResponse;
use toolway_types::{RawJson, SpecDocument};

use crate::chat_harness::ChatHarness;
use crate::probe_tools::ProbeTools;
use crate::support::GatewayHarness;

#[tokio::test]
async fn models_are_shown_with_the_locations_of_keys_only() {
    let it = ChatHarness::new().await;
    let file = it.gateway.dir.path().join("models.toml");
    let more = "\n[[model]]\nname = \"other\"\nkind = \"openai\"\nbase_url = \"http://127.0.0.1:9/v1\"\nkey = { env = \"NO_SUCH_KEY\" }\n\
                [model.models.\"big\"]\ncontext_window = 1000\n";
    let text = std::fs::read_to_string(&file).unwrap() + more;
    std::fs::write(&file, text).unwrap();
    assert_eq!(it.send_as_owner("POST", "/api/reload", None).await.status, 204);
    let list = it.send_as_owner("GET", "/api/models", None).await.json();
    assert_eq!(list["problems"], json!([]));
    let (first, second) = (&list["models"][0], &list["models"][1]);
    assert_eq!(
        (&first["name"], &first["kind"], &first["model"]),
        (&json!("fake"), &json!("compatible"), &json!("fake-model"))
    );
    assert!(first.get("key").is_none());
    assert_eq!(second["key"], json!({"location": "the environment variable NO_SUCH_KEY", "present": false}));
    assert_eq!(second["models"]["big"]["context_window"], 1000);
    let status = it.send_as_owner("GET", "/api/status", None).await.json();
    assert_eq!(
        status["models"],
        json!([{"name": "fake", "kind": "compatible", "model": "fake-model"},
               {"name": "other", "kind": "openai", "key_present": false}])
    );
}

#[tokio::test]
async fn an_invalid_file_is_reported_with_its_line_and_not_used() {
    let it = ChatHarness::new().await;
    let file = it.gateway.dir.path().join("models.toml");
    std::fs::write(&file, "[[model]]\nname = \"fake\"\nkind = \"telepathy\"\n").unwrap();
    assert_eq!(it.send_as_owner("POST", "/api/reload", None).await.status, 204);
    let list = it.send_as_owner("GET", "/api/models", None).await.json();
    assert_eq!(
        (&list["problems"][0]["line"], &list["models"][0]["kind"]),
        (&json!(3), &json!("compatible")),
        "{list}"
    );
    let status = it.send_as_owner("GET", "/api/status", None).await.json();
    let warnings = status["warnings"].to_string();
    assert!(warnings.contains("models.toml:3") && warnings.contains("telepathy"), "{warnings}");
    it.fakes.answer(ScriptedResponse::text("Still here."));
    let said = json!({"content": "hi", "stream": false});
    assert_eq!(
        it.send_as_owner("POST", "/api/chat", Some(said)).await.json()["full_response"],
        "Still here."
    );
}

#[tokio::test]
async fn a_model_can_be_tested_and_its_provider_listed() {
    let it = ChatHarness::new().await;
    it.fakes.respond(|request| {
        let tool = request.said.tools.first()?;
        Some(ScriptedResponse::new().tool_call(tool.clone(), json!({})).usage(10, 2))
    });
    let report = it.send_as_owner("POST", "/api/models/fake/test", None).await;
    assert_eq!(report.status, 200, "{report:?}");
    let report = report.json();
    assert_eq!((&report["name"], &report["model"]), (&json!("fake"), &json!("fake-model")));
    assert_eq!(report["checks"][0]["check"], "connection");
    assert_eq!(report["checks"][0]["status"], "ok", "{report}");
    let offered = it.send_as_owner("GET", "/api/models/fake/models", None).await.json();
    let ids: Vec<_> = offered["models"].as_array().unwrap().iter().map(|it| it["id"].clone()).collect();
    assert_eq!(ids, ["fake-model", "fake-thinker"]);
    for (method, path) in [("POST", "/api/models/fke/test"), ("GET", "/api/models/fke/models")] {
        let refused = it.send_as_owner(method, path, None).await;
        assert_eq!((refused.status, refused.code().as_str()), (404, "model_provider_not_found"));
        assert!(refused.body.contains("fake"), "{refused:?}");
    }
}

#[tokio::test]
async fn openais_strict_form_names_the_part_of_a_description_that_requests_cut() {
    let bench = GatewayHarness::new().await;
    let spec = SpecDocument {
        description: Some("d".repeat(1500)),
        parameters: Some(
            RawJson::parse(r#"{"type":"object","properties":{"n":{"type":"integer"}}}"#).unwrap(),
        ),
        ..SpecDocument::named("count")
    };
    let _probe = ProbeTools::with(&bench, "desk", vec![spec]);
    let shown = bench.send_as_owner("GET", "/api/tools/desk__count?for=openai-strict", None).await.json();
    let function = &shown["definition"]["function"];
    assert_eq!((&function["name"], &function["strict"]), (&json!("desk__count"), &json!(true)));
    assert_eq!(function["description"].as_str().unwrap().chars().count(), 1024);
    let lost = shown["lost"].as_array().unwrap();
    assert!(lost.contains(&json!("the last 477 of the description's 1500 characters")), "{shown}");
}

#[tokio::test]
async fn a_tool_is_shown_in_its_form_for_models_with_omissions() {
    let bench = GatewayHarness::new().await;
    let schema = r#"{"type":"object","properties":{"n":{"type":"integer","multipleOf":5,"exclusiveMinimum":0}},"required":["n"]}"#;
    let spec = SpecDocument {
        description: Some("Counts.".to_owned()),
        parameters: Some(RawJson::parse(schema).unwrap()),
        ..SpecDocument::named("count")
    };
    let _probe = ProbeTools::with(&bench, "desk", vec![spec]);
    let shown = async |target: &str| {
        bench.send_as_owner("GET", &format!("/api/tools/desk__count?for={target}"), None).await.json()
    };
    let openai = shown("openai").await;
    assert_eq!(
        (&openai["name"], &openai["for"], &openai["lost"]),
        (&json!("desk__count"), &json!("openai"), &json!([]))
    );
    assert!(openai["definition"].to_string().contains("multipleOf"), "as it is: {openai}");
    let gemini = shown("gemini").await;
    let number = &gemini["definition"]["parametersJsonSchema"]["properties"]["n"];
    assert_eq!(number, &json!({"type": "integer", "minimum": 1, "description": "multipleOf: 5"}), "{gemini}");
    let lost = gemini["lost"].to_string();
    assert!(lost.contains("multipleOf") && lost.contains("/properties/n"), "{lost}");
    let strict = shown("openai-strict").await;
    assert!(strict["definition"].to_string().contains("\"strict\":true"), "{strict}");
    assert_eq!(strict["lost"], json!([]));
    for target in ["anthropic", "openai-responses", "compatible"] {
        assert!(shown(target).await["definition"].to_string().contains("Counts."));
    }
    let refused = bench.send_as_owner("GET", "/api/tools/desk__count?for=telepathy", None).await;
    assert_eq!((refused.status, refused.code().as_str()), (404, "model_provider_not_found"));
    assert_eq!(bench.send_as_owner("GET", "/api/tools/desk__count", None).await.json()["id"], "desk/count");
}
