//! Devices that are removed and come back.

use serde_json::{Value, json};

use crate::support::GatewayHarness;
use crate::websocket::WebSocketClient;

/// Connects a device again and returns its current name.
async fn connect(bench: &GatewayHarness, token: &str, id: &str) -> (WebSocketClient, String) {
    let mut peer = WebSocketClient::open(bench, "/ws/device", token, Some("toolway.v2")).await;
    peer.send(json!({"type": "connect", "v": 2, "device_id": id, "device_name": id})).await;
    let connected = peer.expect("connected").await;
    (peer, connected["source"].as_str().unwrap().to_owned())
}

async fn remove(bench: &GatewayHarness, id: &str) {
    assert_eq!(bench.send_as_owner("DELETE", &format!("/api/devices/{id}"), None).await.status, 204);
}

/// Returns the ids and names of the devices.
async fn listed(bench: &GatewayHarness) -> Vec<(String, String)> {
    let list = bench.send_as_owner("GET", "/api/devices", None).await.json();
    let text = |device: &Value, field: &str| device[field].as_str().unwrap().to_owned();
    list["devices"].as_array().unwrap().iter().map(|it| (text(it, "id"), text(it, "name"))).collect()
}

fn named(devices: &[(&str, &str)]) -> Vec<(String, String)> {
    devices.iter().map(|(id, name)| ((*id).to_owned(), (*name).to_owned())).collect()
}

#[tokio::test]
async fn a_removed_device_with_a_valid_token_comes_back_as_a_new_one() {
    let bench = GatewayHarness::new().await;
    let (first, id) = connect(&bench, &bench.owner, "pixel").await;
    assert_eq!(id, "pixel");
    let renamed = bench.send_as_owner("PATCH", "/api/devices/pixel", Some(json!({"name": "Kitchen"}))).await;
    assert_eq!(renamed.status, 200);
    remove(&bench, "pixel").await;
    assert_eq!(first.expect_close().await.0, 4002);

    let (second, id) = connect(&bench, &bench.owner, "pixel").await;
    assert_eq!(id, "pixel-2");
    assert_eq!(listed(&bench).await, named(&[("pixel-2", "pixel")]), "nothing of the first is left");
    second.close().await;
    // It keeps this identity, also after a restart, and can be removed again.
    let bench = bench.restart(json!({})).await;
    assert_eq!(listed(&bench).await, named(&[("pixel-2", "pixel")]));
    let (second, id) = connect(&bench, &bench.owner, "pixel").await;
    assert_eq!(id, "pixel-2");
    remove(&bench, "pixel-2").await;
    assert_eq!(second.expect_close().await.0, 4002);
    let bench = bench.restart(json!({})).await;
    let (third, id) = connect(&bench, &bench.owner, "pixel").await;
    assert_eq!(id, "pixel-3");
    third.close().await;
}

#[tokio::test]
async fn a_token_of_several_devices_survives_the_removal_of_one() {
    let bench = GatewayHarness::new().await;
    let token = bench.create_token("device").await.token;
    let (tablet, _) = connect(&bench, &token, "tablet").await;
    let (pixel, _) = connect(&bench, &token, "pixel").await;
    remove(&bench, "pixel").await;
    assert_eq!(pixel.expect_close().await.0, 4002);
    let (pixel, id) = connect(&bench, &token, "pixel").await;
    assert_eq!(id, "pixel-2");
    assert_eq!(listed(&bench).await, named(&[("pixel-2", "pixel"), ("tablet", "tablet")]));
    // Removing the last device revokes the token.
    remove(&bench, "tablet").await;
    assert_eq!(tablet.expect_close().await.0, 4002);
    remove(&bench, "pixel-2").await;
    let (code, reason) = pixel.expect_close().await;
    assert_eq!((code, reason.split(':').next()), (4001, Some("token_revoked")));
}

#[tokio::test]
async fn grants_of_a_removed_device_do_not_apply_when_it_comes_back() {
    let bench = GatewayHarness::with(json!({"permissions": {"default": "ask"}})).await;
    let tools = json!([{"name": "locate", "description": "Where it is", "permissions": ["device.location"]}]);
    let (mut first, _) = connect(&bench, &bench.owner, "pixel").await;
    first.register(tools.clone()).await;
    let grant = json!({"permission": "device.location", "tool": "pixel/locate"});
    let made = bench.send_as_owner("POST", "/api/grants", Some(grant)).await;
    assert_eq!(made.status, 201, "{made:?}");
    let (outcome, _) =
        tokio::join!(bench.call(&bench.owner, "pixel__locate", json!({})), first.answer("here"));
    assert_eq!(outcome["result"], "here");
    remove(&bench, "pixel").await;
    first.expect_close().await;

    let (mut second, _) = connect(&bench, &bench.owner, "pixel").await;
    second.register(tools).await;
    let gone = bench.call(&bench.owner, "pixel__locate", json!({})).await;
    assert_eq!(gone["code"], "tool_not_available");
    let refused = bench.call(&bench.owner, "pixel-2__locate", json!({})).await;
    assert_eq!(refused["code"], "approval_unavailable");
    second.close().await;
}

#[tokio::test]
async fn a_restored_database_determines_the_devices() {
    let bench = GatewayHarness::new().await;
    let app = std::sync::Arc::clone(bench.gateway.app());
    let (first, _) = connect(&bench, &bench.owner, "pixel").await;
    let there = bench.dir.path().join("there.db");
    app.store.backup(&there).await.unwrap();
    remove(&bench, "pixel").await;
    first.expect_close().await;
    let gone = bench.dir.path().join("gone.db");
    app.store.backup(&gone).await.unwrap();
    let (second, id) = connect(&bench, &bench.owner, "pixel").await;
    assert_eq!(id, "pixel-2");

    // The state before the removal: the later device does not exist there.
    app.store.restore_from(&there).await.unwrap();
    bench.gateway.reload().await.unwrap();
    assert_eq!(second.expect_close().await.0, 4002);
    assert_eq!(listed(&bench).await, named(&[("pixel", "pixel")]));
    let (first, id) = connect(&bench, &bench.owner, "pixel").await;
    assert_eq!(id, "pixel");

    // The state after the removal: it is removed, although it is connected.
    app.store.restore_from(&gone).await.unwrap();
    bench.gateway.reload().await.unwrap();
    assert_eq!(first.expect_close().await.0, 4002);
    assert_eq!(listed(&bench).await, []);
    let (third, id) = connect(&bench, &bench.owner, "pixel").await;
    assert_ne!(id, "pixel");
    third.close().await;
}
