//! Reports of devices about the apps whose tools they bridge: permissions, limits, and the owner's view.

use std::time::Duration;

use serde_json::{Value, json};

use crate::support::{GatewayHarness, NOW};
use crate::websocket::WebSocketClient;

/// Returns an app with the minimal fields.
fn app(label: &str) -> Value {
    json!({
        "authority": format!("com.example.{label}.tools"), "package": format!("com.example.{label}"),
        "label": label, "dialect": "cetp", "state": "ready",
    })
}

/// Returns the same app in REST's form.
fn expected_view(label: &str) -> Value {
    let mut app = app(label);
    app["tools"] = json!([]);
    app["notes"] = json!([]);
    app
}

async fn report_providers(peer: &mut WebSocketClient, providers: Value) {
    peer.send(json!({"type": "app_providers", "providers": providers})).await;
}

/// Sends a report and returns the error in the response.
async fn refused(peer: &mut WebSocketClient, providers: Value) -> (String, String) {
    report_providers(peer, providers).await;
    let error = peer.expect("error").await;
    (error["code"].as_str().unwrap().to_owned(), error["message"].as_str().unwrap().to_owned())
}

/// Waits until everything has been read; there must be no other response.
async fn read(peer: &mut WebSocketClient) {
    peer.send(json!({"type": "get_registered_tools"})).await;
    peer.expect("registered_tools").await;
}

async fn show(bench: &GatewayHarness, id: &str) -> Value {
    bench.send_as_owner("GET", &format!("/api/devices/{id}"), None).await.json()
}

/// Returns the labels in the report and its time.
async fn labels(bench: &GatewayHarness, id: &str) -> Option<(Vec<String>, i64)> {
    let device = show(bench, id).await;
    let report = device.get("app_provider_report")?;
    let label = |app: &Value| app["label"].as_str().unwrap().to_owned();
    let providers = report["providers"].as_array().unwrap();
    assert_eq!(device["app_providers"], providers.len());
    Some((providers.iter().map(label).collect(), report["reported_ms"].as_i64().unwrap()))
}

#[tokio::test]
async fn the_owner_sees_the_tools_and_every_app() {
    let bench = GatewayHarness::new().await;
    let token = bench.create_token("device").await.token;
    let mut device = WebSocketClient::device(&bench, &token, "pixel").await;
    let tool = |name: &str| json!({"name": name, "description": "A tool"});
    device.register(json!([tool("finance__spend"), tool("battery")])).await;
    let before = show(&bench, "pixel").await;
    assert_eq!(before["tool_names"], json!(["pixel__battery", "pixel__finance__spend"]));
    assert_eq!((&before["tools"], &before["app_providers"]), (&json!(2), &json!(0)));
    assert_eq!(before.get("app_provider_report"), None, "it never said anything");

    let finance = json!({
        "authority": "com.example.finance.clawseed.tools", "package": "com.example.finance", "label": "Finance",
        "prefix": "finance", "dialect": "cetp", "version": 1, "state": "authorization_required",
        "reason": "it asks for consent", "hint": "open Finance",
        "info": {"name": "Finance tools", "description": "What you spend",
                 "scopes": [{"name": "spending", "description": "Every purchase"}, {"name": "holdings"}]},
        "tools": ["finance__spend"],
        "notes": [{"kind": "refused", "tool": "broken", "reason": "its schema does not compile"},
                  {"kind": "flagged", "reason": "no version"}],
    });
    let odd = json!({
        "authority": "a", "package": "b", "label": "\u{202e}\u{1b}[2J", "dialect": "spoken-next-year", "version": -1,
        "state": "refused", "reason": "a version below 1", "tools": [], "notes": [],
    });
    report_providers(&mut device, json!([finance, odd])).await;
    read(&mut device).await;
    let after = show(&bench, "pixel").await;
    assert_eq!(after["app_provider_report"], json!({"reported_ms": NOW, "providers": [finance, odd]}));
    // The rest is what the list has.
    let listed = bench.send_as_owner("GET", "/api/devices", None).await.json()["devices"][0].clone();
    assert_eq!(listed["app_providers"], 2);
    for (field, value) in listed.as_object().unwrap() {
        assert_eq!(after[field], *value, "{field}");
    }
    let missing = bench.send_as_owner("GET", "/api/devices/nobody", None).await;
    assert_eq!((missing.status, missing.code().as_str()), (404, "device_not_found"));
}

#[tokio::test]
async fn a_report_replaces_the_previous_one() {
    let bench = GatewayHarness::new().await;
    let token = bench.create_token("device").await.token;
    let mut device = WebSocketClient::device(&bench, &token, "pixel").await;
    report_providers(&mut device, json!([app("finance"), app("weather")])).await;
    bench.clock.advance(Duration::from_secs(5));
    report_providers(&mut device, json!([app("notes")])).await;
    read(&mut device).await;
    assert_eq!(labels(&bench, "pixel").await, Some((vec!["notes".to_owned()], NOW + 5000)));
    assert_eq!(
        show(&bench, "pixel").await["app_provider_report"]["providers"],
        json!([expected_view("notes")])
    );
    report_providers(&mut device, json!([])).await;
    read(&mut device).await;
    assert_eq!(labels(&bench, "pixel").await, Some((vec![], NOW + 5000)), "none is something to say, too");
    // The report stays, with its time, while the device is away and when it is back, but not after a restart
    // of the gateway.
    report_providers(&mut device, json!([app("weather")])).await;
    read(&mut device).await;
    device.close().await;
    bench.clock.advance(Duration::from_secs(60));
    let expected = Some((vec!["weather".to_owned()], NOW + 5000));
    assert_eq!(labels(&bench, "pixel").await, expected);
    assert_eq!(show(&bench, "pixel").await["status"], "offline");
    let device = WebSocketClient::device(&bench, &token, "pixel").await;
    assert_eq!(labels(&bench, "pixel").await, expected);
    device.close().await;
    let bench = bench.restart(json!({})).await;
    assert_eq!(labels(&bench, "pixel").await, None);
}

#[tokio::test]
async fn each_device_has_its_own_report_from_its_newest_connection() {
    let bench = GatewayHarness::new().await;
    let token = bench.create_token("device").await.token;
    let mut old = WebSocketClient::device(&bench, &token, "pixel").await;
    let mut other = WebSocketClient::device(&bench, &token, "tablet").await;
    report_providers(&mut old, json!([app("old")])).await;
    read(&mut old).await;
    report_providers(&mut other, json!([app("other")])).await;
    read(&mut other).await;
    let mut new = WebSocketClient::device(&bench, &token, "pixel").await;
    report_providers(&mut new, json!([app("new")])).await;
    read(&mut new).await;
    assert_eq!(old.expect_close().await.0, 4002);
    assert_eq!(labels(&bench, "pixel").await, Some((vec!["new".to_owned()], NOW)));
    assert_eq!(labels(&bench, "tablet").await, Some((vec!["other".to_owned()], NOW)));
}

#[tokio::test]
async fn the_report_is_removed_with_its_device() {
    let bench = GatewayHarness::new().await;
    let token = bench.create_token("device").await.token;
    let mut device = WebSocketClient::device(&bench, &token, "pixel").await;
    report_providers(&mut device, json!([app("finance")])).await;
    read(&mut device).await;
    assert_eq!(bench.send_as_owner("DELETE", "/api/devices/pixel", None).await.status, 204);
    assert_eq!(bench.send_as_owner("GET", "/api/devices/pixel", None).await.code(), "device_not_found");
    // After pairing again, the same device is another source.
    let token = bench.create_token("device").await.token;
    let device = WebSocketClient::device(&bench, &token, "pixel").await;
    assert_eq!(labels(&bench, "pixel-2").await, None);
    device.close().await;
}

#[tokio::test]
async fn a_token_that_may_not_offer_tools_may_not_report_apps() {
    let bench = GatewayHarness::new().await;
    let client = bench.create_token("client").await.token;
    let mut chat = WebSocketClient::chat(&bench, &client).await;
    let (code, _) = refused(&mut chat, json!([app("finance")])).await;
    assert_eq!(code, "FORBIDDEN");
    // A companion may, on either socket.
    let companion = bench.create_token("companion").await.token;
    let mut chat = WebSocketClient::chat_at(&bench, &companion, "/ws/chat?name=pixel").await;
    report_providers(&mut chat, json!([app("finance")])).await;
    read(&mut chat).await;
    assert_eq!(labels(&bench, "pixel").await, Some((vec!["finance".to_owned()], NOW)));
    let mut device = WebSocketClient::device(&bench, &companion, "tablet").await;
    report_providers(&mut device, json!([app("weather")])).await;
    read(&mut device).await;
    assert_eq!(labels(&bench, "tablet").await, Some((vec!["weather".to_owned()], NOW)));
}

#[tokio::test]
async fn version_1_has_no_report_message() {
    let bench = GatewayHarness::new().await;
    let companion = bench.create_token("companion").await.token;
    let mut old = WebSocketClient::chat_version_1(&bench, &companion).await;
    old.register(json!([{"name": "lamp", "description": "A lamp"}])).await;
    let (code, message) = refused(&mut old, json!([app("finance")])).await;
    assert_eq!(code, "INVALID_MESSAGE");
    assert!(message.contains("version 2"), "{message}");
    assert_eq!(
        bench.send_as_owner("GET", "/api/devices", None).await.json()["devices"][0]["app_providers"],
        0
    );
    read(&mut old).await;
}

/// Returns a text of this length in multibyte characters.
fn text(length: usize) -> Value {
    "ä".repeat(length).into()
}

fn scopes(scope: Value) -> Value {
    json!({"name": "n", "scopes": [scope]})
}

fn note(reason: Value) -> Value {
    json!({"kind": "flagged", "reason": reason})
}

/// A limit: its name, the field, the value, and a function that fills the field.
type BoundCase = (&'static str, &'static str, usize, fn(usize) -> Value);

const BOUNDS: &[BoundCase] = &[
    ("authority", "authority", 2000, text),
    ("package", "package", 2000, text),
    ("label", "label", 2000, text),
    ("prefix", "prefix", 2000, text),
    ("dialect", "dialect", 2000, text),
    ("reason", "reason", 2000, text),
    ("hint", "hint", 2000, text),
    ("info.name", "info", 2000, |length| json!({"name": text(length)})),
    ("info.description", "info", 2000, |length| json!({"name": "n", "description": text(length)})),
    ("info.scopes[0].name", "info", 2000, |length| scopes(json!({"name": text(length)}))),
    ("info.scopes[0].description", "info", 2000, |length| {
        scopes(json!({"name": "s", "description": text(length)}))
    }),
    ("info.scopes", "info", 64, |count| json!({"name": "n", "scopes": vec![json!({"name": "s"}); count]})),
    ("tools[1]", "tools", 2000, |length| json!(["t", text(length)])),
    ("tools", "tools", 4096, |count| vec!["t"; count].into()),
    ("notes[0].reason", "notes", 2000, |length| json!([note(text(length))])),
    (
        "notes[0].tool",
        "notes",
        2000,
        |length| json!([{"kind": "refused", "tool": text(length), "reason": "r"}]),
    ),
    ("notes", "notes", 64, |count| vec![note("r".into()); count].into()),
];

/// A value at each limit is accepted; one more is refused with the name of the limit, and changes nothing.
#[tokio::test]
async fn a_report_over_a_limit_is_refused_and_the_connection_stays() {
    let bench = GatewayHarness::new().await;
    let token = bench.create_token("device").await.token;
    let mut device = WebSocketClient::device(&bench, &token, "pixel").await;
    for (what, field, most, build) in BOUNDS {
        let with = |amount: usize| {
            let mut changed = app("finance");
            changed[*field] = build(amount);
            json!([app("first"), changed])
        };
        report_providers(&mut device, json!([])).await;
        report_providers(&mut device, with(*most)).await;
        read(&mut device).await;
        let taken = show(&bench, "pixel").await["app_provider_report"].clone();
        assert_eq!(taken["providers"].as_array().unwrap().len(), 2, "{what}");
        let (code, message) = refused(&mut device, with(most + 1)).await;
        let expected = match *most {
            2000 => format!("app_providers: providers[1].{what} is longer than 2000 characters"),
            _ => format!("app_providers: providers[1].{what} has {} entries; {most} are accepted", most + 1),
        };
        assert_eq!((code.as_str(), message), ("LIMIT_EXCEEDED", expected));
        assert_eq!(show(&bench, "pixel").await["app_provider_report"], taken, "{what}");
    }
    report_providers(&mut device, vec![app("a"); 1024].into()).await;
    read(&mut device).await;
    let (code, message) = refused(&mut device, vec![app("b"); 1025].into()).await;
    let expected = "app_providers: providers has 1025 entries; 1024 are accepted";
    assert_eq!((code.as_str(), message.as_str()), ("LIMIT_EXCEEDED", expected));
    let (taken, _) = labels(&bench, "pixel").await.unwrap();
    assert_eq!(taken, ["a"; 1024]);
}

#[tokio::test]
async fn the_total_size_of_a_report_is_limited() {
    let bench = GatewayHarness::new().await;
    let token = bench.create_token("device").await.token;
    let mut device = WebSocketClient::device(&bench, &token, "pixel").await;
    let mut large = app("large");
    large["notes"] = vec![note("x".repeat(2000).into()); 64].into();
    let each = 64 * 2000 + "com.example.large.tools".len() + "com.example.large".len() + "largecetp".len();
    let (code, message) = refused(&mut device, vec![large.clone(); 33].into()).await;
    let expected = format!("app_providers: its texts take {} bytes; 4194304 are accepted", 33 * each);
    assert_eq!((code.as_str(), message), ("LIMIT_EXCEEDED", expected));
    report_providers(&mut device, vec![large; 32].into()).await;
    read(&mut device).await;
    assert_eq!(show(&bench, "pixel").await["app_providers"], 32);
}

/// A report with an invalid value is refused as a whole.
#[tokio::test]
async fn an_invalid_report_is_refused_as_a_whole() {
    let bench = GatewayHarness::new().await;
    let token = bench.create_token("device").await.token;
    let mut device = WebSocketClient::device(&bench, &token, "pixel").await;
    report_providers(&mut device, json!([app("finance")])).await;
    let mut asleep = app("weather");
    asleep["state"] = json!("asleep");
    let (code, message) = refused(&mut device, json!([app("notes"), asleep])).await;
    assert_eq!(code, "INVALID_MESSAGE");
    assert!(message.contains("app_providers") && message.contains("asleep"), "{message}");
    assert_eq!(labels(&bench, "pixel").await, Some((vec!["finance".to_owned()], NOW)));
}
