//! Tests of provider reports: when they are sent, to which gateways, and how often.

use serde_json::json;
use toolway_device::{
    AppProvider, AppProviderNote, AppProviderNoteKind, AppProviderState, NoArguments, Tool, dialect,
};

use crate::gateway::{GatewayPeer, ScriptedGateway, connected};

fn app(label: &str) -> AppProvider {
    AppProvider {
        authority: format!("com.example.{label}"),
        package: "com.example".to_owned(),
        label: label.to_owned(),
        dialect: dialect::CETP.to_owned(),
        ..AppProvider::default()
    }
}

fn tool(name: &str) -> Tool {
    Tool::typed(name, "Says nothing", |_: NoArguments, _| async { Ok(()) })
}

/// Reads the labels of the next frame, which must be of this type.
async fn labels(peer: &mut GatewayPeer) -> Vec<String> {
    let frame = peer.expect("app_providers").await;
    let providers = frame["providers"].as_array().unwrap().iter();
    providers.map(|app| app["label"].as_str().unwrap().to_owned()).collect()
}

/// Asserts that nothing else was sent before.
async fn nothing_else(peer: &mut GatewayPeer) {
    peer.call("probe", "nobody", json!({})).await;
    assert_eq!(peer.expect("tool_error").await["id"], "probe");
    peer.acknowledge("probe").await;
}

#[tokio::test]
async fn the_report_is_complete_and_follows_the_tools() {
    let gateway = ScriptedGateway::plain().await;
    let device = gateway.device().tool(tool("a")).build().unwrap();
    let weather = AppProvider {
        state: AppProviderState::Refused,
        reason: Some("a version below 1".to_owned()),
        version: Some(0),
        notes: vec![AppProviderNote {
            kind: AppProviderNoteKind::Refused,
            tool: Some("rain".to_owned()),
            reason: "no name".to_owned(),
        }],
        ..app("weather")
    };
    // Before the device runs.
    device.handle().set_app_providers(vec![app("finance"), weather]);
    let _running = device.start();
    let mut peer = gateway.peer().await;
    assert_eq!(
        peer.expect("app_providers").await,
        json!({"type": "app_providers", "providers": [
            {"authority": "com.example.finance", "package": "com.example", "label": "finance", "dialect": "cetp",
             "state": "ready"},
            {"authority": "com.example.weather", "package": "com.example", "label": "weather", "dialect": "cetp",
             "version": 0, "state": "refused", "reason": "a version below 1",
             "notes": [{"kind": "refused", "tool": "rain", "reason": "no name"}]},
        ]})
    );
    nothing_else(&mut peer).await;
}

#[tokio::test]
async fn the_report_is_sent_on_every_change_and_connection() {
    let gateway = ScriptedGateway::plain().await;
    let running = gateway.device().tool(tool("a")).build().unwrap().start();
    let mut peer = gateway.peer().await;
    nothing_else(&mut peer).await;
    let handle = running.handle();
    handle.set_app_providers(vec![app("finance")]);
    assert_eq!(labels(&mut peer).await, ["finance"]);
    // An identical report is not sent again, and changed tools do not trigger a report.
    handle.set_app_providers(vec![app("finance")]);
    handle.add_tool(tool("b")).unwrap();
    peer.expect("register_tools").await;
    nothing_else(&mut peer).await;
    // A changed report does not trigger a registration.
    handle.set_app_providers(vec![]);
    assert_eq!(labels(&mut peer).await, Vec::<String>::new());
    handle.set_app_providers(vec![app("finance"), app("weather")]);
    assert_eq!(labels(&mut peer).await, ["finance", "weather"]);
    nothing_else(&mut peer).await;
    peer.drop_connection();
    for attempt in ["again", "and again"] {
        let mut peer = gateway.welcome(connected(attempt)).await.0;
        assert_eq!(labels(&mut peer).await, ["finance", "weather"], "{attempt}");
        nothing_else(&mut peer).await;
        peer.drop_connection();
    }
}

#[tokio::test]
async fn a_version_1_gateway_gets_no_report() {
    let gateway = ScriptedGateway::plain().await;
    let running = gateway.device().tool(tool("a")).build().unwrap().start();
    running.handle().set_app_providers(vec![app("finance")]);
    let old = json!({"type": "connected", "v": 1, "message": "Connection established"});
    let mut peer = gateway.welcome(old).await.0;
    running.handle().set_app_providers(vec![app("weather")]);
    running.handle().add_tool(tool("b")).unwrap();
    peer.expect("register_tools").await;
    nothing_else(&mut peer).await;
    peer.drop_connection();
    // After the gateway's update to version 2, it receives the report.
    let mut peer = gateway.welcome(connected("r")).await.0;
    assert_eq!(labels(&mut peer).await, ["weather"]);
}
