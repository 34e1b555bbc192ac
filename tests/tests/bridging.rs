//! Guarantees for a device that bridges tools of other programs: errors arrive complete, tools over the limit
//! do not affect the others, and a restarted gateway gets the report on apps again.

#![allow(clippy::unwrap_used, clippy::indexing_slicing, reason = "helpers of tests fail by panicking")]

use serde_json::{Value, json};
use toolway_device::{
    AppProvider, Code, ConnectionStatus, NoArguments, RawJson, RunningDevice, SpecDocument, Tool, ToolError,
    dialect,
};
use toolway_tests::process::{GatewayProcess, TestFolder};
use toolway_tests::{device, poll_until, rest, with_timeout};

/// Makes a call over REST and returns the outcome.
async fn call_outcome(gateway: &GatewayProcess, name: &str, args: Value) -> Value {
    let path = format!("/api/tools/{name}/call");
    let body = Some(json!({"args": args}));
    let (status, mut outcome) =
        rest::send_request(gateway.address(), &gateway.token, "POST", &path, body).await;
    assert_eq!(status, 200, "{outcome}");
    for around in ["call_id", "duration_ms"] {
        assert!(outcome.as_object_mut().unwrap().remove(around).is_some(), "{outcome}");
    }
    outcome
}

/// Creates a tool that fails with this error.
fn failing_tool(name: &str, error: ToolError) -> Tool {
    Tool::typed(name, "Fails", move |_: NoArguments, _| {
        let error = error.clone();
        async move { Err::<(), _>(error) }
    })
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn an_error_of_an_app_arrives_complete() {
    let folder = TestFolder::new();
    let gateway = folder.serve(&[]).await;
    let intent = r#"{ "action":"com.example.AUTHORIZE" , "extras":{"n":1.0} }"#;
    let sign_in = ToolError {
        authorize_intent: Some(RawJson::parse(intent).unwrap()),
        retryable: true,
        ..ToolError::new(Code::AuthRequired, "the app wants to be asked first").with_hint("open Finance")
    };
    let busy = ToolError::new(Code::RateLimited, "ten calls a minute").with_hint("wait a minute");
    let never = ToolError { retryable: false, ..ToolError::new(Code::RateLimited, "no more today") };
    let wrong =
        ToolError::new(Code::InvalidArguments, "/days: 400 is more than 365").with_hint("at most 365");
    let builder = device::builder(&gateway.url(), &gateway.token, "phone").tools([
        failing_tool("sign_in", sign_in),
        failing_tool("busy", busy),
        failing_tool("never", never),
        failing_tool("wrong", wrong),
    ]);
    let _phone = device::start(builder).await;
    assert_eq!(
        call_outcome(&gateway, "phone__sign_in", json!({})).await,
        json!({
            "status": "error", "error_type": "permission_denied", "code": "auth_required",
            "message": "the app wants to be asked first", "hint": "open Finance",
            "authorize_intent": {"action": "com.example.AUTHORIZE", "extras": {"n": 1.0}},
            "dispatched": true, "retryable": true,
        })
    );
    assert_eq!(
        call_outcome(&gateway, "phone__busy", json!({})).await,
        json!({
            "status": "error", "error_type": "execution_error", "code": "rate_limited",
            "message": "ten calls a minute", "hint": "wait a minute", "dispatched": true, "retryable": true,
        })
    );
    assert_eq!(
        call_outcome(&gateway, "phone__never", json!({})).await,
        json!({
            "status": "error", "error_type": "execution_error", "code": "rate_limited",
            "message": "no more today", "dispatched": true, "retryable": false,
        })
    );
    assert_eq!(
        call_outcome(&gateway, "phone__wrong", json!({})).await,
        json!({
            "status": "error", "error_type": "validation_error", "code": "invalid_arguments",
            "message": "/days: 400 is more than 365", "hint": "at most 365", "dispatched": true, "retryable": false,
        })
    );
}

/// Returns the names that the gateway refused when it lists `live` tools.
async fn refused_names(phone: &RunningDevice, live: usize) -> Vec<String> {
    let mut states = phone.handle().status();
    let known = |status: &ConnectionStatus| matches!(status, ConnectionStatus::Connected(now) if now.tools.as_ref().is_some_and(|tools| tools.live == live));
    let status = with_timeout("the gateway's answer", states.wait_for(known)).await.unwrap().clone();
    let ConnectionStatus::Connected(now) = status else { unreachable!("it is connected") };
    now.tools.unwrap().rejected.iter().map(|rejected| rejected.name.clone()).collect()
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn tools_over_the_limit_are_refused_by_name() {
    let folder = TestFolder::new();
    let gateway = folder.serve(&[]).await;
    let phone = device::start(device::builder(&gateway.url(), &gateway.token, "phone")).await;
    let names: Vec<String> = (0..5000).map(|number| format!("app__tool_{number:04}")).collect();
    let tool = |name: &String| {
        let name = name.clone();
        Tool::new(SpecDocument::named(&name), move |_, cx| async move { Ok(cx.tool_name().to_owned()) })
    };
    phone.handle().set_tools(names.iter().map(tool).collect()).unwrap();
    assert_eq!(refused_names(&phone, 4096).await, names[4096..]);
    assert_eq!(call_outcome(&gateway, "phone__app__tool_4095", json!({})).await["result"], "app__tool_4095");
    let beyond = call_outcome(&gateway, "phone__app__tool_4096", json!({})).await;
    assert_eq!(beyond["code"], "tool_not_available");
    // A list within the limit is accepted completely again.
    phone.handle().set_tools(names[4096..].iter().map(tool).collect()).unwrap();
    assert_eq!(refused_names(&phone, 904).await, Vec::<String>::new());
    assert_eq!(call_outcome(&gateway, "phone__app__tool_4999", json!({})).await["result"], "app__tool_4999");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_restarted_gateway_gets_the_report_on_apps_again() {
    let folder = TestFolder::new();
    let gateway = folder.serve(&[]).await;
    let (address, token) = (gateway.address(), gateway.token.clone());
    let phone = device::start(device::builder(&gateway.url(), &token, "phone")).await;
    phone.handle().set_app_providers(vec![AppProvider {
        authority: "com.example.weather.mcptool".to_owned(),
        package: "com.example.weather".to_owned(),
        label: "Weather".to_owned(),
        dialect: dialect::MCP_A.to_owned(),
        ..AppProvider::default()
    }]);
    let shown = async || {
        poll_until("the gateway knows the app", async || {
            let device = rest::get_json(address, &token, "/api/devices/phone").await;
            device.get("app_provider_report").cloned()
        })
        .await
    };
    let before = shown().await;
    assert_eq!(before["providers"][0]["label"], "Weather");
    gateway.kill().await;
    let _gateway = folder.serve_on(&address.to_string(), &[]).await;
    let after = shown().await;
    assert_eq!(after["providers"], before["providers"]);
    assert!(
        after["reported_ms"].as_i64().unwrap() > before["reported_ms"].as_i64().unwrap(),
        "{before} {after}"
    );
}
