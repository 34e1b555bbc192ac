//! The allowed differences between a server and the gateway in front of it, with the reasons.

use serde_json::{Value, json};
use toolway_tests::mcp::MODERN_VERSION;

/// The client and the server of a comparison.
pub(super) struct VersionPair<'a> {
    /// Version of the client.
    pub(super) client: &'a str,
    /// Name of the server, which implies its versions.
    pub(super) upstream: &'a str,
}

impl VersionPair<'_> {
    /// Removes allowed differences from a recorded value. The gateway's value is checked first, so that
    /// nothing else is accepted in its place.
    pub(super) fn without_allowed(&self, name: &str, value: &Value, is_gateway: bool) -> Value {
        let mut value = value.clone();
        let is_modern = self.client == MODERN_VERSION;
        // The client chooses the progress token, a number of its own. In the newer era there is none.
        if !is_modern {
            for question in value.get_mut("asked").and_then(Value::as_array_mut).into_iter().flatten() {
                if let Some(token) = question.pointer_mut("/1/_meta/progressToken") {
                    assert!(token.is_u64(), "{name}: {token}");
                    *token = json!("a number");
                }
            }
        }
        // Tasks exist since 2026-07-28. The gateway offers them to such clients only, the library to all.
        if !is_modern && name == "hello" {
            let extensions = value["capabilities"].as_object_mut().unwrap().remove("extensions");
            assert_eq!(extensions.is_none(), is_gateway, "{extensions:?}");
        }
        // Official SDKs of clients warn of the status that the library answers with.
        if name == "DELETE" {
            assert_eq!(value, if is_gateway { 204 } else { 202 });
            return Value::Null;
        }
        // A tool that runs only as a task. The gateway follows the task for every client.
        if name.starts_with("tools/call failing_job") && self.upstream != "old" {
            if !is_call(name) {
                return Value::Null;
            }
            if is_gateway {
                let words = "The job failed, as it was meant to.";
                assert_eq!(value["result"]["content"], json!([{"type": "text", "text": words}]), "{name}");
                assert_eq!(value["result"]["isError"], true, "{name}");
            } else {
                assert_eq!(value["result"]["error"]["code"], -32021, "{name}");
            }
            return Value::Null;
        }
        // The gateway adds the server of a tool's result, as required by 2026-07-28; the server's library
        // omits it. It is the name in the server's greeting.
        if is_modern && is_gateway && is_call(name) && value["result"].get("error").is_none() {
            let meta = value["result"].as_object_mut().unwrap().remove("_meta");
            let server = &meta.as_ref().unwrap()["io.modelcontextprotocol/serverInfo"];
            assert_eq!(server["name"], "fake-mcp", "{name}: {meta:?}");
        }
        // The gateway's information about a server may be older than the server's own: its lists and its
        // availability are cached for this time.
        if is_modern && matches!(name, "hello" | "tools/list: page") {
            assert_eq!(value["ttlMs"], if is_gateway { 5_000 } else { 0 }, "{name}");
            value["ttlMs"] = Value::Null;
        }
        // The gateway stores the list of tools and has its own pages of a thousand tools.
        if name == "tools/list: page" {
            let next = value.as_object_mut().unwrap().remove("nextCursor");
            assert_eq!(next.is_none(), is_gateway, "{next:?}");
        }
        // The gateway knows the tools and refuses others with its own message, which does not reveal tools
        // that the client may not use.
        if name == "tools/call no_such_tool" {
            let words = if is_gateway {
                "Tool no_such_tool is not available"
            } else {
                "there is no tool no_such_tool"
            };
            assert_eq!(value["result"]["error"]["message"], words);
            value["result"]["error"]["message"] = Value::Null;
        }
        // A server runs its tools in its own era. A tool that asks while it runs can't ask in the newer one.
        let crosses_eras = self.upstream == if is_modern { "old" } else { "new" };
        if crosses_eras && name.contains("tools/call test_pushed_elicitation") {
            let has_asked = is_gateway == (self.upstream == "old");
            if is_call(name) {
                assert_eq!(value["result"].to_string().contains("Pushed: "), has_asked, "{name}: {value}");
            }
            return Value::Null;
        }
        // A server with a handshake may send its log on the MCP session's own stream, where the response can
        // overtake it. A client of the newer era gets it before the response or not at all.
        if name == "log" && is_modern && self.upstream == "old" {
            let heard: Vec<&str> =
                value.as_array().unwrap().iter().map(|it| it["level"].as_str().unwrap()).collect();
            let mut all = ["notice", "warning", "error", "critical", "alert", "emergency"].iter();
            assert!(heard.iter().all(|level| all.any(|it| it == level)), "{heard:?}");
            assert!(is_gateway || heard.len() == 6, "{heard:?}");
            return Value::Null;
        }
        // A server with a handshake gets the capabilities once for all clients, which share its connection.
        // So it asks where it would have refused its own client. The gateway does not ask a client without
        // the capability, and answers that nobody decided, or that it is not supported. The server's reaction
        // is its own.
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

/// Asserts the result of a server's question that was not passed to anybody.
fn assert_unasked(of: &str, value: &Value) {
    if of.ends_with(": bytes of content") {
        return;
    }
    assert_eq!(value["asked"], json!([]), "{of}");
    let (code, said) = match of {
        "test_sampling" | "test_missing_capability" => {
            (json!(-32601), "does not support sampling/createMessage")
        }
        "test_list_roots" => (json!(-32601), "does not support roots/list"),
        "test_elicitation" => (Value::Null, "action=cancel"),
        _ => (Value::Null, r#"{\"action\":\"cancel\"}"#),
    };
    assert_eq!(value["result"]["error"]["code"], code, "{of}");
    let result = value["result"].to_string();
    assert!(result.contains(said), "{of}: {result}");
}

/// Returns true if this is the whole answer of a call.
fn is_call(name: &str) -> bool {
    let is_call = name.starts_with("tools/call ")
        || name.starts_with("undeclared test_")
        || name == "what has come is called";
    is_call && !name.contains(": bytes of ")
}
