//! Tests of forwarding and of restoring a session on a restarted gateway. The messages are from the MCP specification.

use super::*;

const INITIALIZE: &str = r#"{"jsonrpc":"2.0","id":0,"method":"initialize","params":{"protocolVersion":"2025-11-25","capabilities":{},"clientInfo":{"name":"c","version":"1"}}}"#;
const INITIALIZED: &str = r#"{"jsonrpc":"2.0","method":"notifications/initialized"}"#;

fn initialize_result(id: &str, version: &str) -> String {
    format!(
        r#"{{"jsonrpc":"2.0","id":{id},"result":{{"protocolVersion":"{version}","capabilities":{{"tools":{{"listChanged":true}},"prompts":{{}},"logging":{{}}}},"serverInfo":{{"name":"toolway","version":"0"}}}}}}"#
    )
}

fn value(text: &str) -> Value {
    serde_json::from_str(text).unwrap()
}

/// Creates a session with a completed handshake.
fn initialized_session() -> BridgeSession {
    let mut session = BridgeSession::default();
    assert!(session.replay_messages().is_empty(), "the first gateway is told nothing that it is not asked");
    assert_eq!(session.forward_from_client(INITIALIZE).as_deref(), Some(INITIALIZE));
    assert_forwarded(&mut session, &initialize_result("0", "2025-11-25"));
    assert_eq!(session.forward_from_client(INITIALIZED).as_deref(), Some(INITIALIZED));
    session
}

/// Asserts that the client gets the gateway's message unchanged.
#[track_caller]
fn assert_forwarded(session: &mut BridgeSession, text: &str) {
    let passed = session.forward_from_gateway(text).unwrap();
    assert_eq!(passed, ForwardedMessages { to_gateway: Vec::new(), to_client: vec![text.to_owned()] });
}

fn request(id: &str, method: &str, params: &str) -> String {
    format!(r#"{{"jsonrpc":"2.0","id":{id},"method":"{method}","params":{params}}}"#)
}

fn result(id: &str) -> String {
    format!(r#"{{"jsonrpc":"2.0","id":{id},"result":{{}}}}"#)
}

#[test]
fn on_one_connection_all_messages_are_forwarded_unchanged() {
    let mut session = initialized_session();
    let call = request("1", "tools/call", r#"{"name":"x","arguments":{"b":1.0,"a":2}}"#);
    assert_eq!(session.forward_from_client(&call).as_deref(), Some(call.as_str()));
    assert!(!session.is_idle());
    let asks = request("0", "elicitation/create", r#"{"message":"may it?"}"#);
    assert_forwarded(&mut session, &asks);
    let answer = r#"{"jsonrpc":"2.0","id":0,"result":{"action":"accept"}}"#;
    assert_eq!(session.forward_from_client(answer).as_deref(), Some(answer));
    assert_forwarded(
        &mut session,
        r#"{"jsonrpc":"2.0","method":"notifications/progress","params":{"progressToken":1,"progress":1}}"#,
    );
    assert_forwarded(&mut session, &result("1"));
    assert!(session.is_idle());
    // The gateway reports invalid messages.
    for odd in ["nothing of ours", "[]", r#"{"id":1}"#] {
        let expected = if odd == "[]" { None } else { Some(odd) };
        assert_eq!(session.forward_from_client(odd).as_deref(), expected, "{odd}");
    }
}

#[test]
fn a_cancelled_request_is_no_longer_pending() {
    let mut session = initialized_session();
    session.forward_from_client(&request("1", "tools/call", "{}"));
    let cancelled = r#"{"jsonrpc":"2.0","method":"notifications/cancelled","params":{"requestId":1}}"#;
    assert_eq!(session.forward_from_client(cancelled).as_deref(), Some(cancelled));
    assert!(session.is_idle());
}

#[test]
fn a_restarted_gateway_gets_the_session_state() {
    let mut session = initialized_session();
    let level = request("2", "logging/setLevel", r#"{"level":"debug"}"#);
    session.forward_from_client(&level);
    assert_forwarded(&mut session, &result("2"));
    for (id, uri, subscribe) in [("3", "a:1", true), ("4", "a:2", true), ("5", "a:1", false)] {
        let method = if subscribe { "resources/subscribe" } else { "resources/unsubscribe" };
        session.forward_from_client(&request(id, method, &format!(r#"{{"uri":"{uri}"}}"#)));
        assert_forwarded(&mut session, &result(id));
    }
    session.forward_from_client(&request("6", "tools/call", "{}"));
    assert_forwarded(&mut session, &request("0", "elicitation/create", "{}"));

    let told = session.handle_connection_lost();
    assert_eq!(told.len(), 2, "{told:?}");
    assert_eq!(value(&told[0])["method"], "notifications/cancelled");
    assert_eq!(value(&told[0])["params"]["requestId"], 0);
    assert_eq!((&value(&told[1])["id"], &value(&told[1])["error"]["code"]), (&json!(6), &json!(-32000)));
    assert_eq!(value(&told[1])["error"]["data"]["code"], "connection_lost");

    let said: Vec<Value> = session.replay_messages().iter().map(|text| value(text)).collect();
    let methods: Vec<&str> = said.iter().map(|it| it["method"].as_str().unwrap()).collect();
    assert_eq!(
        methods,
        ["initialize", "notifications/initialized", "logging/setLevel", "resources/subscribe"]
    );
    assert_eq!(said[0]["params"], value(INITIALIZE)["params"]);
    assert_eq!(said[3]["params"]["uri"], "a:2");
    let ids: Vec<&Value> = [0, 2, 3].map(|at| &said[at]["id"]).to_vec();
    assert!(ids.iter().all(|id| id.as_str().unwrap().starts_with("toolway-again-")));

    // The client only learns that lists may have changed.
    let passed = session.forward_from_gateway(&initialize_result(&ids[0].to_string(), "2025-11-25")).unwrap();
    let changed = r#"{"jsonrpc":"2.0","method":"notifications/tools/list_changed"}"#;
    assert_eq!(passed.to_client.iter().map(|it| value(it)).collect::<Vec<_>>(), [value(changed)]);
    for id in &ids[1..] {
        assert_eq!(
            session.forward_from_gateway(&result(&id.to_string())).unwrap(),
            ForwardedMessages::default()
        );
    }
    assert!(session.is_idle());
}

/// Request ids of gateways repeat, so a response to an earlier connection must not answer a request of this one.
#[test]
fn a_response_reaches_only_the_connection_of_its_request() {
    let mut session = initialized_session();
    assert_forwarded(&mut session, &request("0", "elicitation/create", r#"{"message":"may the first?"}"#));
    session.handle_connection_lost();
    session.replay_messages();
    let second = request("0", "elicitation/create", r#"{"message":"may the second?"}"#);
    let passed = session.forward_from_gateway(&second).unwrap();
    let shown = value(&passed.to_client[0]);
    assert_eq!((&shown["id"], &shown["params"]["message"]), (&json!("1:0"), &json!("may the second?")));

    let late = r#"{"jsonrpc":"2.0","id":0,"result":{"action":"accept"}}"#;
    assert_eq!(session.forward_from_client(late), None);
    let answer =
        session.forward_from_client(r#"{"jsonrpc":"2.0","id":"1:0","result":{"action":"decline"}}"#).unwrap();
    assert_eq!(answer, r#"{"jsonrpc":"2.0","id":0,"result":{"action":"decline"}}"#);
    assert_eq!(session.forward_from_client(late), None, "answered is answered");
}

#[test]
fn a_cancellation_uses_the_id_that_the_client_knows() {
    let mut session = initialized_session();
    session.handle_connection_lost();
    session.replay_messages();
    session.forward_from_gateway(&request("7", "elicitation/create", "{}")).unwrap();
    let back =
        r#"{"jsonrpc":"2.0","method":"notifications/cancelled","params":{"requestId":7,"reason":"late"}}"#;
    let told = session.forward_from_gateway(back).unwrap().to_client;
    assert_eq!(value(&told[0])["params"], json!({"requestId": "1:7", "reason": "late"}));
    assert_eq!(session.forward_from_client(r#"{"jsonrpc":"2.0","id":"1:7","result":{}}"#), None);
}

/// Without a handshake (2026-07-28), `subscriptions/listen` continues.
#[test]
fn subscriptions_continue_on_a_restarted_gateway() {
    let mut session = BridgeSession::default();
    let listen =
        request("\"l\"", "subscriptions/listen", r#"{"notifications":{"toolsListChanged":true},"_meta":{}}"#);
    session.forward_from_client(&listen);
    assert!(session.is_idle(), "listening never ends by itself");
    let acknowledged =
        json!({"jsonrpc": "2.0", "method": "notifications/subscriptions/acknowledged", "params": {
            "notifications": {"toolsListChanged": true}, "_meta": {SUBSCRIPTION_ID_META: "l"},
        }})
        .to_string();
    assert_forwarded(&mut session, &acknowledged);
    assert_eq!(session.handle_connection_lost(), Vec::<String>::new());
    assert_eq!(session.replay_messages(), [listen]);
    let told = session.forward_from_gateway(&acknowledged).unwrap().to_client;
    let changed = json!({"jsonrpc": "2.0", "method": "notifications/tools/list_changed",
                         "params": {"_meta": {SUBSCRIPTION_ID_META: "l"}}});
    assert_eq!(told.iter().map(|it| value(it)).collect::<Vec<_>>(), [changed]);
    let failure = CliError::new("gone");
    assert_eq!(value(&session.fail_pending(&failure)[0])["id"], "l");
}

#[test]
fn an_unanswered_handshake_is_repeated_unchanged() {
    let mut session = BridgeSession::default();
    session.forward_from_client(INITIALIZE);
    assert_eq!(session.handle_connection_lost(), Vec::<String>::new());
    assert_eq!(session.replay_messages(), [INITIALIZE]);
    assert_forwarded(&mut session, &initialize_result("0", "2025-11-25"));
}

#[test]
fn a_restarted_gateway_with_another_version_is_rejected() {
    let mut session = initialized_session();
    session.handle_connection_lost();
    let said = session.replay_messages();
    let id = value(&said[0])["id"].to_string();
    assert_eq!(
        session.forward_from_gateway(&initialize_result(&id, "2025-06-18")).unwrap_err().code(),
        "version_changed"
    );
}

#[test]
fn each_message_of_a_batch_is_tracked() {
    let mut session = initialized_session();
    let batch = format!("[{},{}]", request("1", "tools/list", "{}"), request("2", "tools/call", "{}"));
    assert_eq!(session.forward_from_client(&batch), Some(batch));
    assert!(!session.is_idle());
    let answers = format!("[{},{}]", result("1"), result("2"));
    assert_forwarded(&mut session, &answers);
    assert!(session.is_idle());
}
