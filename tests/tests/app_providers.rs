//! Tests apps of a phone with a running gateway: the bridge with apps in memory, a real connection, and the
//! real program with its commands.

#![cfg(unix)]
#![allow(clippy::unwrap_used, clippy::indexing_slicing, reason = "helpers of tests fail by panicking")]

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::time::Duration;

use serde_json::{Value as Json, json};
use tokio::sync::Notify;
use toolway_android::authorization::{AuthorizationConsent, AuthorizationPrompt, AuthorizationRequest};
use toolway_android::bridge::BridgeDeps;
use toolway_android::host::memory::{MemoryApp, MemoryHost};
use toolway_android::host::{CallFailure, DeclarationEntry, HostCall};
use toolway_android::{BridgeOptions, Bundle, ProviderBridge, ProviderNames};
use toolway_device::RunningDevice;
use toolway_tests::caller::ChatCaller;
use toolway_tests::process::{GatewayProcess, TestFolder};
use toolway_tests::proxy::FaultProxy;
use toolway_tests::{device, mcp, poll_until};

type HostCallResult = Result<Option<Bundle>, CallFailure>;

fn success(data: &str) -> Bundle {
    Bundle::new().with("status", "success").with("data", data)
}

/// Answers for the two tools of ClawSeed's CETP tutorial.
fn answer_finance(call: &HostCall) -> HostCallResult {
    Ok(Some(match call.method.as_str() {
        "list_tools" => success(
            r#"{"tools":[
            {"name":"get_portfolio_holdings","description":"Get current portfolio holdings","parameters":{"type":"object",
             "properties":{"account_type":{"type":"string","enum":["stock","fund","all"]}},"required":[]}},
            {"name":"get_transactions","description":"Get transaction history","parameters":{"type":"object",
             "properties":{"start_date":{"type":"string"}},"required":["start_date"]}},
            {"name":"broken","description":"d","parameters":{"type":"nonsense"}}]}"#,
        ),
        "get_provider_info" => success(
            r#"{"provider_name":"MyFinance","description":"Personal finance data",
            "scopes":[{"name":"holdings","description":"Portfolio holdings"}]}"#,
        ),
        _ => success(r#"[{"symbol":"VWCE","quantity":12.5}]"#),
    }))
}

/// A weather tool of the dialect `mcp-a`, which returns its arguments.
fn answer_weather(call: &HostCall) -> HostCallResult {
    let answer = Bundle::new().with("success", true);
    Ok(Some(match call.method.as_str() {
        "get_tool_info" => answer
            .with("tool_name", "get_weather_forecast")
            .with("tool_description", "Gets weather forecast for a location")
            .with("tool_input_schema", r#"{"location":{"type":"string"},"days":{"type":"number"}}"#),
        _ => answer.with(
            "tool_result",
            format!("{:?}", call.extras.as_ref().unwrap().get("tool_arguments").unwrap()),
        ),
    }))
}

/// A user who agrees after a delay.
#[derive(Default)]
struct SlowApprover {
    answer_delay: Duration,
    asked_count: AtomicUsize,
    returned: Notify,
}

#[async_trait::async_trait]
impl AuthorizationPrompt for SlowApprover {
    async fn request_consent(&self, _: &AuthorizationRequest) -> AuthorizationConsent {
        self.asked_count.fetch_add(1, Ordering::SeqCst);
        tokio::time::sleep(self.answer_delay).await;
        AuthorizationConsent::Agreed
    }

    async fn wait_for_return(&self, _: &AuthorizationRequest) {
        self.returned.notified().await;
    }

    fn notify_authorization_required(&self, _: &AuthorizationRequest) {}
}

/// A phone that is connected to a gateway.
struct PhoneHarness {
    folder: TestFolder,
    gateway: GatewayProcess,
    proxy: FaultProxy,
    host: MemoryHost,
    _device: RunningDevice,
    _bridge: ProviderBridge,
    caller: ChatCaller,
}

impl PhoneHarness {
    async fn with_apps(apps: Vec<MemoryApp>, user: Arc<SlowApprover>) -> Self {
        let folder = TestFolder::new();
        let gateway = folder.serve(&[]).await;
        let host = MemoryHost::new();
        for app in apps {
            host.install(app);
        }
        let way = FaultProxy::start(gateway.address()).await;
        let url = format!("http://{}", way.address());
        let device = device::start(device::builder(&url, &gateway.token, "phone")).await;
        let bridge = ProviderBridge::start(BridgeDeps {
            host: Arc::new(host.clone()),
            device: device.handle().clone(),
            other_tools: Vec::new(),
            prompt: user,
            names: ProviderNames::default(),
            save_names: Box::new(|_| Ok(())),
            options: BridgeOptions::default(),
        });
        let caller = ChatCaller::connect(gateway.address(), &gateway.token).await;
        Self { folder, gateway, proxy: way, host, _device: device, _bridge: bridge, caller }
    }

    /// Waits until the gateway lists these tools.
    async fn wait_until_listed(&self, names: &[impl AsRef<str>]) {
        poll_until("the list", async || {
            let tools = self.folder.run_json(&["tools", "list"]).await;
            let of_phone = tools["tools"].as_array().unwrap().iter().filter(|tool| tool["source"] == "phone");
            let listed: Vec<String> =
                of_phone.map(|tool| tool["name"].as_str().unwrap().to_owned()).collect();
            listed.iter().eq(names.iter().map(AsRef::as_ref)).then_some(())
        })
        .await;
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn apps_are_listed_shown_called_replaced_and_removed() {
    let entry = DeclarationEntry::McpMimeType { authorities: "com.example.weather.mcptool".into() };
    let apps = vec![
        MemoryApp::cetp("com.example.finance", answer_finance).label("Finance"),
        MemoryApp::new("com.example.weather", "com.example.weather.mcptool", entry, answer_weather)
            .label("Weather"),
    ];
    let phone = PhoneHarness::with_apps(apps, Arc::default()).await;
    phone
        .wait_until_listed(&[
            "phone__finance__get_portfolio_holdings",
            "phone__finance__get_transactions",
            "phone__weather__get_weather_forecast",
        ])
        .await;
    let tool = phone.folder.run_json(&["tools", "show", "phone__finance__get_portfolio_holdings"]).await;
    assert_eq!(tool["id"], "phone/finance__get_portfolio_holdings", "{tool}");

    let called =
        phone.caller.call("phone__finance__get_portfolio_holdings", json!({"account_type": "fund"})).await;
    assert_eq!(called["result"], json!([{"symbol": "VWCE", "quantity": 12.5}]), "{called}");
    let wrong =
        phone.caller.call("phone__finance__get_portfolio_holdings", json!({"account_type": "cash"})).await;
    assert_eq!(wrong["error_type"], "validation_error", "{wrong}");
    // An app of this dialect gets only strings, and whole numbers without a fraction.
    let said = phone
        .caller
        .call("phone__weather__get_weather_forecast", json!({"location": "Ulm", "days": 3.0}))
        .await;
    assert_eq!(said["result"], r#"Map([("days", "3"), ("location", "Ulm")])"#, "{said}");

    let shown = phone.folder.run_json(&["devices", "show", "phone"]).await;
    let rows = shown["app_provider_report"]["providers"].as_array().unwrap_or_else(|| panic!("{shown}"));
    assert_eq!(rows.len(), 2);
    assert_eq!((&rows[0]["package"], &rows[0]["state"]), (&json!("com.example.finance"), &json!("ready")));
    assert_eq!(rows[0]["info"]["name"], "MyFinance");
    assert_eq!(
        (&rows[0]["notes"][0]["kind"], &rows[0]["notes"][0]["tool"]),
        (&json!("refused"), &json!("broken"))
    );
    assert_eq!(rows[1]["dialect"], "mcp-a");
    let text = phone.folder.run(["devices", "show", "phone"]).await.expect_success().stdout;
    assert!(text.contains("MyFinance") && text.contains("broken"), "{text}");

    phone.host.install(MemoryApp::cetp("com.example.finance", |call| match call.method.as_str() {
        "list_tools" => Ok(Some(success(r#"{"tools":[{"name":"get_rates","description":"Gets rates"}]}"#))),
        _ => answer_finance(call),
    }));
    phone.wait_until_listed(&["phone__finance__get_rates", "phone__weather__get_weather_forecast"]).await;
    phone.host.remove("com.example.weather");
    phone.wait_until_listed(&["phone__finance__get_rates"]).await;
}

/// For MCP clients of both eras, an app's tools are like any others.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn apps_are_listed_to_mcp_clients_and_called_by_them() {
    let entry = DeclarationEntry::McpMimeType { authorities: "com.example.weather.mcptool".into() };
    let apps = vec![
        MemoryApp::cetp("com.example.finance", answer_finance).label("Finance"),
        MemoryApp::new("com.example.weather", "com.example.weather.mcptool", entry, answer_weather)
            .label("Weather"),
    ];
    let phone = PhoneHarness::with_apps(apps, Arc::default()).await;
    let names =
        ["finance__get_portfolio_holdings", "finance__get_transactions", "weather__get_weather_forecast"];
    phone.wait_until_listed(&names.map(|name| format!("phone__{name}"))).await;
    for version in [mcp::MODERN_VERSION, mcp::LEGACY_VERSIONS[2]] {
        for (path, prefix) in [("mcp", "phone__"), ("mcp/sources/phone", "")] {
            let url = format!("http://{}/{path}", phone.gateway.address());
            let (mut client, _) = mcp::McpTestClient::connect(
                mcp::McpServerAddress::from_url(&url, Some(&phone.gateway.token)),
                version,
            )
            .await;
            let listed = client.list("tools/list", "tools").await;
            let listed: Vec<Json> = listed.iter().map(|tool| serde_json::from_str(tool).unwrap()).collect();
            let of_phone: Vec<&str> = listed
                .iter()
                .filter_map(|tool| tool["name"].as_str())
                .filter(|name| path != "mcp" || name.starts_with("phone__"))
                .collect();
            assert_eq!(of_phone, names.map(|name| format!("{prefix}{name}")), "{version} {path}");
            let call = |name: &str, arguments: Json| json!({"name": format!("{prefix}{name}"), "arguments": arguments});
            let held =
                client.request("tools/call", call(names[0], json!({"account_type": "fund"}))).await.json();
            let text = held["content"][0]["text"].as_str().unwrap_or_else(|| panic!("{held}"));
            assert_eq!(
                serde_json::from_str::<Json>(text).unwrap(),
                json!([{"symbol": "VWCE", "quantity": 12.5}])
            );
            let wrong =
                client.request("tools/call", call(names[0], json!({"account_type": "cash"}))).await.json();
            assert_eq!(wrong["isError"], true, "{wrong}");
            let forecast = call(names[2], json!({"location": "Ulm", "days": 3}));
            let said = client.request("tools/call", forecast).await.json();
            assert_eq!(said["content"][0]["text"], r#"Map([("days", "3"), ("location", "Ulm")])"#, "{said}");
        }
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn tools_rejected_by_the_gateway_are_reported_for_the_app() {
    // A schema with a circular reference, which is found only by following it.
    let ring = |call: &HostCall| match call.method.as_str() {
        "list_tools" => Ok(Some(success(
            r##"{"tools":[{"name":"good","description":"d"},{"name":"ring","description":"d","parameters":{"type":"object",
            "$ref":"#/$defs/a","$defs":{"a":{"$ref":"#/$defs/b"},"b":{"$ref":"#/$defs/a"}}}}]}"##,
        ))),
        _ => answer_finance(call),
    };
    let phone = PhoneHarness::with_apps(vec![MemoryApp::cetp("com.ring", ring)], Arc::default()).await;
    phone.wait_until_listed(&["phone__ring__good"]).await;
    let (note, tools) = poll_until("its row", async || {
        let shown = phone.folder.run_json(&["devices", "show", "phone"]).await;
        let row = &shown["app_provider_report"]["providers"][0];
        let note = row["notes"].as_array()?.iter().find(|note| note["tool"] == "ring")?.clone();
        Some((note, row["tools"].clone()))
    })
    .await;
    assert_eq!(note["kind"], "refused");
    assert!(note["reason"].as_str().unwrap().starts_with("rejected by the gateway: "), "{note}");
    assert_eq!(tools, json!(["ring__good"]));
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn waiting_for_the_user_does_not_count_against_the_deadline_a6() {
    let allowed = Arc::new(AtomicBool::new(false));
    let granted = Arc::clone(&allowed);
    let guarded = move |call: &HostCall| {
        if call.method != "execute_tool" || granted.load(Ordering::SeqCst) {
            return answer_finance(call);
        }
        let refusal = Bundle::new()
            .with("status", "error")
            .with("error_code", "AUTH_REQUIRED")
            .with("error_message", "User has not authorized this data scope")
            .with("authorize_intent", "com.example.finance.ACTION_AUTHORIZE_CLAWSEED");
        Ok(Some(refusal))
    };
    // Longer than the timeout of the call.
    let user =
        Arc::new(SlowApprover { answer_delay: Duration::from_millis(2_500), ..SlowApprover::default() });
    let apps = vec![MemoryApp::cetp("com.example.finance", guarded).label("Finance")];
    let phone = PhoneHarness::with_apps(apps, Arc::clone(&user)).await;
    let opened = Arc::clone(&user);
    phone.host.on_open(move |package, action| {
        assert_eq!(
            (package, action),
            ("com.example.finance", Some("com.example.finance.ACTION_AUTHORIZE_CLAWSEED"))
        );
        allowed.store(true, Ordering::SeqCst);
        opened.returned.notify_one();
        true
    });
    phone
        .wait_until_listed(&["phone__finance__get_portfolio_holdings", "phone__finance__get_transactions"])
        .await;
    let call = ["tools", "call", "phone__finance__get_portfolio_holdings", "{}", "--timeout", "2"];
    let called: Json = phone.folder.run_json(&call).await;
    assert_eq!(called["status"], "success", "{called}");
    assert_eq!(called["result"][0]["symbol"], "VWCE");
    assert_eq!(user.asked_count.load(Ordering::SeqCst), 1);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn an_unreachable_app_is_asked_again_at_the_next_connection() {
    let there = Arc::new(AtomicBool::new(false));
    let shows = Arc::clone(&there);
    let late = move |call: &HostCall| {
        if shows.load(Ordering::SeqCst) {
            return answer_finance(call);
        }
        Err(CallFailure::UnknownAuthority("Unknown authority com.example.finance.clawseed.tools".into()))
    };
    let phone = PhoneHarness::with_apps(
        vec![MemoryApp::cetp("com.example.finance", late).label("Finance")],
        Arc::default(),
    )
    .await;
    poll_until("its row", async || {
        let shown = phone.folder.run_json(&["devices", "show", "phone"]).await;
        let row = &shown["app_provider_report"]["providers"][0];
        (row["state"] == "unavailable")
            .then(|| assert!(row["reason"].as_str().unwrap().contains("Unknown authority")))
    })
    .await;
    phone.wait_until_listed(&[] as &[&str]).await;
    there.store(true, Ordering::SeqCst);
    phone.proxy.cut();
    phone.proxy.heal();
    phone
        .wait_until_listed(&["phone__finance__get_portfolio_holdings", "phone__finance__get_transactions"])
        .await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn an_app_that_was_authorized_meanwhile_is_asked_again() {
    let allowed = Arc::new(AtomicBool::new(false));
    let granted = Arc::clone(&allowed);
    let shy = move |call: &HostCall| {
        if granted.load(Ordering::SeqCst) {
            return answer_finance(call);
        }
        let refusal = Bundle::new().with("status", "error").with("error_code", "AUTH_REQUIRED");
        Ok(Some(refusal.with("error_message", "Sign in first")))
    };
    let denied = Arc::clone(&allowed);
    let strict = move |call: &HostCall| {
        if denied.load(Ordering::SeqCst) {
            answer_weather(call)
        } else {
            Err(CallFailure::Security("no permission".into()))
        }
    };
    let entry = DeclarationEntry::McpMimeType { authorities: "com.example.weather.mcptool".into() };
    let apps = vec![
        MemoryApp::cetp("com.example.finance", shy).label("Finance"),
        MemoryApp::new("com.example.weather", "com.example.weather.mcptool", entry, strict).label("Weather"),
    ];
    let phone = PhoneHarness::with_apps(apps, Arc::default()).await;
    poll_until("their rows", async || {
        let shown = phone.folder.run_json(&["devices", "show", "phone"]).await;
        let rows = &shown["app_provider_report"]["providers"];
        (rows[0]["state"] == "authorization_required" && rows[1]["state"] == "refused").then_some(())
    })
    .await;
    allowed.store(true, Ordering::SeqCst);
    phone.proxy.cut();
    phone.proxy.heal();
    phone
        .wait_until_listed(&[
            "phone__finance__get_portfolio_holdings",
            "phone__finance__get_transactions",
            "phone__weather__get_weather_forecast",
        ])
        .await;
}
