//! Tests of connecting, reconnecting and stopping.

use std::time::Duration;

use serde_json::{Value, json};
use tokio::io::AsyncReadExt;
use tokio_tungstenite::tungstenite::Message;
use toolway_device::{
    Backoff, BuildError, ConnectionStatus, Device, DeviceError, GatewayTrust, KeyPin, NoArguments,
    SpecDocument, Tool,
};

use crate::gateway::{ScriptedGateway, TOKEN, connected, status, within_test_timeout};

fn tool(name: &str) -> Tool {
    Tool::typed(name, "Says nothing", |_: NoArguments, _| async { Ok(()) })
}

#[tokio::test]
async fn connect_describes_the_device_and_registers_its_tools() {
    let gateway = ScriptedGateway::plain().await;
    let device = gateway.device().platform("Linux 6").app_version("1.2.3").tool(tool("a").read_only());
    let running = device.build().unwrap().start();
    let mut states = running.handle().status();
    let (peer, connect, register) = gateway.welcome(connected("r")).await;
    let header = |name: &str| peer.upgrade.headers()[name].to_str().unwrap().to_owned();
    assert_eq!(peer.upgrade.uri().path(), "/ws/device");
    assert_eq!(header("authorization"), format!("Bearer {TOKEN}"));
    assert_eq!(header("sec-websocket-protocol"), "toolway.v2");
    assert_eq!(
        connect,
        json!({
            "type": "connect", "v": 2, "device_name": "Test", "device_id": "id-1", "platform": "Linux 6",
            "app_version": "1.2.3", "capabilities": ["resume", "progress", "cancel"],
        })
    );
    assert_eq!(
        register,
        json!({
            "type": "register_tools", "mode": "replace",
            "tools": [{
                "name": "a", "description": "Says nothing", "annotations": { "readOnlyHint": true },
                "parameters": { "type": "object", "additionalProperties": false },
            }],
        })
    );
    let known =
        |now: &ConnectionStatus| matches!(now, ConnectionStatus::Connected(live) if live.tools.is_some());
    let ConnectionStatus::Connected(live) = status(&mut states, known).await else {
        panic!("it is connected")
    };
    assert_eq!((live.source.as_deref(), live.version), (Some("test"), 2));
    assert_eq!(live.tools.unwrap().live, 1);
}

#[tokio::test]
async fn a_running_device_can_replace_its_tools_r6() {
    let gateway = ScriptedGateway::plain().await;
    let running = gateway.device().tools([tool("a"), tool("b")]).build().unwrap().start();
    let mut peer = gateway.peer().await;
    let handle = running.handle();
    let names = |frame: &Value| -> Vec<String> {
        assert_eq!(frame["mode"], "replace");
        let names = frame["tools"].as_array().unwrap().iter();
        let mut names: Vec<_> = names.map(|tool| tool["name"].as_str().unwrap().to_owned()).collect();
        names.sort();
        names
    };
    handle.remove_tools(&["a"]).unwrap();
    assert_eq!(names(&peer.expect("register_tools").await), ["b"]);
    handle.add_tool(tool("c")).unwrap();
    assert_eq!(names(&peer.expect("register_tools").await), ["b", "c"]);
    handle.set_tools(vec![tool("d")]).unwrap();
    assert_eq!(names(&peer.expect("register_tools").await), ["d"]);
    assert!(handle.set_tools(vec![tool("")]).is_err());
    peer.call("1", "a", json!({})).await;
    assert_eq!(peer.expect("tool_error").await["error"], "No handler registered");
    peer.call("2", "d", json!({})).await;
    assert_eq!(peer.expect("tool_result").await["id"], "2", "a refused list changes nothing");
}

#[tokio::test]
async fn rejected_tools_and_an_empty_list_are_reported_r16() {
    let gateway = ScriptedGateway::plain().await;
    let running = gateway.device().tool(tool("a")).build().unwrap().start();
    let mut states = running.handle().status();
    let mut peer = gateway.accept().await;
    peer.expect("connect").await;
    peer.send(connected("r")).await;
    peer.expect("register_tools").await;
    let rejected = json!([{ "name": "a", "reason": "its schema does not compile" }]);
    peer.send(json!({ "type": "tools_registered", "count": 1, "registered": 0, "rejected": rejected })).await;
    let told =
        |now: &ConnectionStatus| matches!(now, ConnectionStatus::Connected(live) if live.tools.is_some());
    let ConnectionStatus::Connected(live) = status(&mut states, told).await else {
        panic!("it is connected")
    };
    let tools = live.tools.unwrap();
    assert_eq!(tools.live, 0);
    assert_eq!(tools.rejected[0].reason, "its schema does not compile");
}

async fn assert_connect_refused(status: &str, code: &str, expected: DeviceError) {
    let gateway = ScriptedGateway::plain().await;
    let running = gateway.device().build().unwrap().start();
    gateway
        .answer(status, &json!({ "error": { "code": code, "message": "so it is", "hint": "do this" } }))
        .await;
    assert_eq!(within_test_timeout("the end", running.wait()).await, Err(expected), "{code}");
}

#[tokio::test]
async fn a_refused_token_stops_the_device_with_the_reason_r17() {
    assert_connect_refused("401 Unauthorized", "token_revoked", DeviceError::TokenRevoked).await;
    assert_connect_refused("401 Unauthorized", "token_expired", DeviceError::TokenExpired).await;
    assert_connect_refused("401 Unauthorized", "token_unknown", DeviceError::TokenUnknown("so it is".into()))
        .await;
    let refused = DeviceError::NotAllowed { message: "so it is".into(), hint: Some("do this".into()) };
    assert_connect_refused("403 Forbidden", "forbidden", refused).await;
    assert_connect_refused("426 Upgrade Required", "version", DeviceError::Version("so it is".into())).await;
}

#[tokio::test]
async fn a_final_close_code_stops_the_device_r17() {
    for (code, reason, expected) in [
        (4001, "token_revoked: by the owner", DeviceError::TokenRevoked),
        (4001, "token_expired", DeviceError::TokenExpired),
        (4002, "taken_over", DeviceError::TakenOver),
        (1000, "bye", DeviceError::Goodbye("bye".into())),
    ] {
        let gateway = ScriptedGateway::plain().await;
        let running = gateway.device().build().unwrap().start();
        let mut states = running.handle().status();
        gateway.peer().await.close(code, reason).await;
        assert_eq!(within_test_timeout("the end", running.wait()).await, Err(expected.clone()), "{code}");
        assert_eq!(status(&mut states, |_| true).await, ConnectionStatus::Stopped(Err(expected)));
    }
}

#[tokio::test]
async fn the_status_has_the_reason_for_a_lost_connection() {
    let gateway = ScriptedGateway::plain().await;
    // Uses the default backoff, so that the state lasts long enough to be observed.
    let running = gateway.device().backoff(Backoff::default()).build().unwrap().start();
    let mut states = running.handle().status();
    drop(gateway.socket().await);
    let again = status(&mut states, |now| matches!(now, ConnectionStatus::Reconnecting { .. })).await;
    let ConnectionStatus::Reconnecting { why, delay } = again else { panic!("it tries again") };
    assert!(why.contains("sent an invalid response"), "{why}");
    assert!((500..=1000).contains(&delay.as_millis()), "{delay:?}");
}

#[tokio::test]
async fn all_other_errors_are_retried() {
    let gateway = ScriptedGateway::plain().await;
    let _running = gateway.device().build().unwrap().start();
    drop(gateway.socket().await);
    for status in
        ["404 Not Found", "429 Too Many Requests", "500 Internal Server Error", "503 Service Unavailable"]
    {
        gateway.answer(status, &json!({ "error": { "code": "busy", "message": "not now" } })).await;
    }
    gateway.peer().await.close(1001, "going away").await;
    gateway.peer().await.close(1013, "you do not read").await;
    gateway.peer().await.drop_connection();
    let mut peer = gateway.accept().await;
    peer.expect("connect").await;
    peer.send(json!({ "type": "error", "message": "too many sources", "code": "LIMIT_EXCEEDED" })).await;
    drop(peer);
    gateway.peer().await;
}

#[tokio::test]
async fn an_older_gateway_gets_its_own_protocol_version() {
    let gateway = ScriptedGateway::plain().await;
    let text = Tool::new(SpecDocument::named("a"), |_, cx| async move {
        cx.report_progress(toolway_device::ProgressReport::new(0.5)).await;
        Ok(json!({ "n": 1 }))
    });
    let running = gateway.device().tool(text).build().unwrap().start();
    let mut states = running.handle().status();
    let v1 = json!({ "type": "connected", "v": 1, "message": "Connection established" });
    let (mut peer, _, register) = gateway.welcome(v1).await;
    assert!(register.get("mode").is_none());
    let ConnectionStatus::Connected(live) =
        status(&mut states, |now| matches!(now, ConnectionStatus::Connected(_))).await
    else {
        panic!("it is connected")
    };
    assert_eq!((live.version, live.source), (1, None));
    peer.send(json!({ "type": "tool_call_request", "id": "1", "name": "a", "args": {} })).await;
    let result = peer.expect("tool_result").await;
    assert_eq!(result, json!({ "type": "tool_result", "id": "1", "output": "{\"n\":1}", "success": true }));
}

#[tokio::test]
async fn a_silent_connection_counts_as_lost_r16() {
    let gateway = ScriptedGateway::plain().await;
    let _running = gateway.device().build().unwrap().start();
    let mut quick = connected("r");
    quick["heartbeat_ms"] = json!(20);
    let (silent, ..) = gateway.welcome(quick).await;
    let (_, connect, _) = gateway.welcome(connected("r")).await;
    assert_eq!(connect["resume_token"], "r");
    silent.drop_connection();
}

#[tokio::test]
async fn pings_are_answered() {
    let gateway = ScriptedGateway::plain().await;
    let _running = gateway.device().build().unwrap().start();
    let mut peer = gateway.peer().await;
    peer.ping(b"are you there").await;
    assert_eq!(peer.message().await, Some(Message::Pong("are you there".into())));
}

#[tokio::test]
async fn invalid_messages_from_the_gateway_are_ignored() {
    let gateway = ScriptedGateway::plain().await;
    let _running = gateway.device().tool(tool("a")).build().unwrap().start();
    let mut peer = gateway.peer().await;
    peer.text("not json").await;
    peer.send(json!([1])).await;
    peer.send(json!({ "type": "of the future", "x": 1 })).await;
    peer.send(json!({ "type": "tool_call_request", "id": 5 })).await;
    peer.send(json!({ "type": "tool_call_cancel", "id": "unknown", "reason": "timeout" })).await;
    peer.acknowledge("unknown").await;
    peer.call("1", "a", json!(null)).await;
    assert_eq!(peer.expect("tool_result").await["id"], "1", "no arguments are as good as none");
}

#[tokio::test]
async fn stopping_sends_finished_results_and_closes_the_connection() {
    let gateway = ScriptedGateway::plain().await;
    let started = std::sync::Arc::new(tokio::sync::Notify::new());
    let begun = std::sync::Arc::clone(&started);
    let careful = Tool::new(SpecDocument::named("careful"), move |_, cx| {
        let begun = std::sync::Arc::clone(&begun);
        async move {
            begun.notify_one();
            cx.cancelled().await;
            Ok("half done")
        }
    });
    let running = gateway.device().tool(careful).build().unwrap().start();
    let mut states = running.handle().status();
    let mut peer = gateway.peer().await;
    peer.call("1", "careful", json!({})).await;
    within_test_timeout("the start", started.notified()).await;
    let stopping = tokio::spawn(running.stop());
    assert_eq!(peer.expect("tool_result").await["output"], "half done");
    let Some(Message::Close(Some(close))) = peer.message().await else { panic!("a close should come") };
    assert_eq!(u16::from(close.code), 1000);
    drop(peer);
    assert_eq!(within_test_timeout("the end", stopping).await.unwrap(), Ok(()));
    assert_eq!(status(&mut states, |_| true).await, ConnectionStatus::Stopped(Ok(())));
}

#[tokio::test]
async fn stopping_without_a_gateway_is_quick() {
    let gateway = ScriptedGateway::plain().await;
    let running = gateway.device().backoff(Backoff::default()).build().unwrap().start();
    let mut states = running.handle().status();
    drop(gateway.socket().await);
    status(&mut states, |now| matches!(now, ConnectionStatus::Reconnecting { .. })).await;
    assert_eq!(within_test_timeout("the end", running.stop()).await, Ok(()));
}

#[tokio::test]
async fn a_pinned_gateway_is_verified_by_its_key_and_not_by_its_name() {
    let gateway = ScriptedGateway::with_key().await;
    let running =
        gateway.device().trust(GatewayTrust::Key(gateway.pin())).tool(tool("a")).build().unwrap().start();
    let mut peer = gateway.peer().await;
    peer.call("1", "a", json!({})).await;
    assert_eq!(peer.expect("tool_result").await["id"], "1");
    drop(running);
}

#[tokio::test]
async fn another_key_stops_the_device_before_the_token_is_sent() {
    let gateway = ScriptedGateway::with_key().await;
    let other = KeyPin::from_bytes([7; 32]);
    let running = gateway.device().trust(GatewayTrust::Key(other)).build().unwrap().start();
    let received = match gateway.socket().await {
        Err(_) => 0,
        Ok(mut socket) => socket.read(&mut [0; 64]).await.unwrap_or_default(),
    };
    assert_eq!(received, 0, "nothing of the request was sent");
    let expected = DeviceError::KeyChanged { expected: other.to_string(), found: gateway.pin() };
    assert_eq!(within_test_timeout("the end", running.wait()).await, Err(expected));
}

#[tokio::test]
async fn an_untrusted_certificate_is_rejected_with_the_reason() {
    let gateway = ScriptedGateway::with_key().await;
    // The verifier needs at least one authority.
    let made = rcgen::generate_simple_self_signed(vec!["authority".to_owned()]).unwrap();
    let trust = GatewayTrust::Authorities(made.cert.pem().into_bytes());
    let running = gateway.device().trust(trust).backoff(Backoff::default()).build().unwrap().start();
    let mut states = running.handle().status();
    let _ = gateway.socket().await;
    let again = status(&mut states, |now| matches!(now, ConnectionStatus::Reconnecting { .. })).await;
    let ConnectionStatus::Reconnecting { why, .. } = again else { panic!("it tries again") };
    assert!(why.contains("the certificate authority is unknown"), "{why}");
}

#[tokio::test]
async fn a_gateway_with_a_certificate_is_verified_by_its_name() {
    let (gateway, certificate) = ScriptedGateway::with_certificate("127.0.0.1").await;
    let trust = GatewayTrust::Authorities(certificate.clone().into_bytes());
    let running = gateway.device().trust(trust).tool(tool("a")).build().unwrap().start();
    let mut peer = gateway.peer().await;
    peer.call("1", "a", json!({})).await;
    assert_eq!(peer.expect("tool_result").await["id"], "1");
    drop(running);
    let (other, certificate) = ScriptedGateway::with_certificate("somewhere.else").await;
    let trust = GatewayTrust::Authorities(certificate.into_bytes());
    let running = other.device().trust(trust).backoff(Backoff::default()).build().unwrap().start();
    let mut states = running.handle().status();
    assert!(other.socket().await.is_err());
    let again = status(&mut states, |now| matches!(now, ConnectionStatus::Reconnecting { .. })).await;
    let ConnectionStatus::Reconnecting { why, .. } = again else { panic!("it tries again") };
    assert!(why.contains("not valid for name"), "{why}");
}

#[tokio::test]
async fn an_insecure_device_is_not_built() {
    let built = |url: &str| Device::builder(url).token("t").build().map(drop);
    assert!(matches!(built("http://192.0.2.1:7717"), Err(BuildError::Insecure(_))));
    assert!(matches!(built("ws://gateway.example"), Err(BuildError::Insecure(_))));
    assert!(built("http://127.0.0.1:1").is_ok());
    assert!(Device::builder("http://192.0.2.1").token("t").insecure(true).build().is_ok());
    let pinned = Device::builder("http://127.0.0.1:1")
        .token("t")
        .trust(GatewayTrust::Key(KeyPin::from_bytes([1; 32])));
    assert!(matches!(pinned.build(), Err(BuildError::KeyWithoutTls(_))));
    assert!(matches!(Device::builder("http://127.0.0.1:1").build(), Err(BuildError::MissingToken)));
    assert!(matches!(built("gateway"), Err(BuildError::Address(_))));
}

#[tokio::test]
async fn a_slow_handshake_does_not_delay_the_stop() {
    let gateway = ScriptedGateway::plain().await;
    let running = gateway.device().build().unwrap().start();
    let mut peer = gateway.accept().await;
    peer.expect("connect").await;
    let stopped = tokio::time::timeout(Duration::from_secs(5), running.stop()).await;
    assert_eq!(stopped, Ok(Ok(())));
}
