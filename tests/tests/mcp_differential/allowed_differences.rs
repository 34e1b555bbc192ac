//! What may differ between a server and the gateway in front of it, each with its reason.

use serde_json::{Value, json};
use toolway_tests::mcp::MODERN_VERSION;

/// Between whom the gateway stands.
pub(super) struct VersionPair<'a> {
    /// The client's version.
    pub(super) client: &'a str,
    /// The server's name, which says what it speaks.
    pub(super) upstream: &'a str,
}

impl VersionPair<'_> {
    /// What is left of something in the record once what may differ is taken out. What the gateway says instead is
    /// checked first, so that nothing but that may stand there.
    pub(super) fn without_allowed(&self, name: &str, value: &Value, is_gateway: bool) -> Value {
        let mut value = value.clone();
        let is_modern = self.client == MODERN_VERSION;
        // Who asks chooses where it wants to hear of progress: a number of its own. In the newer era nobody does.
        if !is_modern {
            for question in value.get_mut("asked").and_then(Value::as_array_mut).into_iter().flatten() {
                if let Some(token) = question.pointer_mut("/1/_meta/progressToken") {
                    assert!(token.is_u64(), "{name}: {token}");
                    *token = json!("a number");
                }
            }
        }
        // The gateway says who gives a tool's result, as 2026-07-28 wants it; the server's library leaves that out. It
        // is the server's name: the one of its greeting.
        if is_modern && is_gateway && is_call(name) && value["result"].get("error").is_none() {
            let meta = value["result"].as_object_mut().unwrap().remove("_meta");
            let server = &meta.as_ref().unwrap()["io.modelcontextprotocol/serverInfo"];
            assert_eq!(server["name"], "fake-mcp", "{name}: {meta:?}");
        }
        // What the gateway holds of a server may be older than what that says now: its own lists, and whether the server
        // is there, are good for so long.
        if is_modern && matches!(name, "hello" | "tools/list: page") {
            assert_eq!(value["ttlMs"], if is_gateway { 5_000 } else { 0 }, "{name}");
            value["ttlMs"] = Value::Null;
        }
        // The gateway keeps the list of tools, and pages it itself: a thousand at a time.
        if name == "tools/list: page" {
            let next = value.as_object_mut().unwrap().remove("nextCursor");
            assert_eq!(next.is_none(), is_gateway, "{next:?}");
        }
        // The gateway knows which tools there are, and refuses others in words of its own, which tell nobody whether
        // there is one that they may not use.
        if name == "tools/call no_such_tool" {
            let words = if is_gateway {
                "Tool no_such_tool is not available"
            } else {
                "there is no tool no_such_tool"
            };
            assert_eq!(value["result"]["error"]["message"], words);
            value["result"]["error"]["message"] = Value::Null;
        }
        // A server with a handshake may say its log on the MCP session's own stream, where the answer overtakes it. A
        // client of the newer era hears of it before its answer or not at all.
        if name == "log" && is_modern && self.upstream == "old" {
            let heard: Vec<&str> =
                value.as_array().unwrap().iter().map(|it| it["level"].as_str().unwrap()).collect();
            let mut all = ["notice", "warning", "error", "critical", "alert", "emergency"].iter();
            assert!(heard.iter().all(|level| all.any(|it| it == level)), "{heard:?}");
            assert!(is_gateway || heard.len() == 6, "{heard:?}");
            return Value::Null;
        }
        // A server with a handshake hears once for all what can be asked, and all clients share its connection. So it
        // asks where it would have refused its own client; the gateway asks no client that did not say that it can be
        // asked, and answers that nobody said yes or no, or that this can't be asked. What the server makes of that
        // answer is its own.
        if let Some(what) = name.strip_prefix("undeclared ").filter(|_| self.upstream == "old") {
            if is_gateway {
                assert_unasked(what, &value);
            } else {
                assert_eq!(value["result"]["error"]["code"], -32021, "{name}");
            }
            return Value::Null;
        }
        value
    }
}

/// What comes of a server's question that is not asked of anybody.
fn assert_unasked(of: &str, value: &Value) {
    if of.ends_with(": bytes of content") {
        return;
    }
    assert_eq!(value["asked"], json!([]), "{of}");
    let (code, said) = match of {
        "test_sampling" | "test_missing_capability" => {
            (json!(-32601), "sampling/createMessage can't be asked")
        }
        "test_list_roots" => (json!(-32601), "roots/list can't be asked"),
        "test_elicitation" => (Value::Null, "action=cancel"),
        _ => (Value::Null, r#"{\"action\":\"cancel\"}"#),
    };
    assert_eq!(value["result"]["error"]["code"], code, "{of}");
    let result = value["result"].to_string();
    assert!(result.contains(said), "{of}: {result}");
}

/// Whether this is the whole of a call's answer.
fn is_call(name: &str) -> bool {
    let is_call = name.starts_with("tools/call ")
        || name.starts_with("undeclared test_")
        || name == "what has come is called";
    is_call && !name.contains(": bytes of ")
}
