//! The texts that attacks send.

use serde::{Deserialize, Serialize};
use serde_json::{Value, json};

use super::message;

/// Size of large frames and bodies: nearly the default of `limits.frame_bytes`.
const LARGE: usize = (16 << 20) - 4096;
/// Number of values in a text with many of them: slightly less than a gateway parses.
const MANY_VALUES: usize = 490_000;

/// The target of an attack, for the texts that name it.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub(crate) struct AttackContext {
    /// `host:port` of the gateway.
    pub(crate) authority: String,
    /// Tokens of the attack's role.
    pub(crate) tokens: Vec<String>,
    /// Full name of a tool that answers at once.
    pub(crate) tool: String,
}

impl AttackContext {
    /// The token of a connection.
    pub(crate) fn token(&self, connection: usize) -> &str {
        self.tokens.get(connection % self.tokens.len().max(1)).map_or("", String::as_str)
    }

    fn authorization(&self, connection: usize) -> String {
        format!("Authorization: Bearer {}\r\n", self.token(connection))
    }

    /// A request of this connection.
    fn request(&self, connection: usize, method: &str, path: &str, body: &str) -> Vec<u8> {
        message::request(method, path, &self.authorization(connection), body.len(), body.as_bytes())
    }
}

pub(super) fn nothing(_: &AttackContext, _: usize) -> Vec<u8> {
    Vec::new()
}

pub(super) fn unfinished_head(_: &AttackContext, _: usize) -> Vec<u8> {
    let filler = "x".repeat(4000);
    format!("GET /health HTTP/1.1\r\nHost: localhost\r\nX-A: {filler}\r\nX-B: {filler}").into_bytes()
}

pub(super) fn unfinished_pairing_body(_: &AttackContext, _: usize) -> Vec<u8> {
    message::request("POST", "/pair", "", 60_000, " ".repeat(59_000).as_bytes())
}

pub(super) fn wrong_code(_: &AttackContext, number: u64) -> Vec<u8> {
    let body = format!(r#"{{"code":"{:04}-{:04}"}}"#, number % 10_000, number / 10_000 % 10_000);
    message::request("POST", "/pair", "", body.len(), body.as_bytes())
}

pub(super) fn wrong_token(_: &AttackContext, number: u64) -> Vec<u8> {
    let path = format!("/api/%0d%0a%1b%5b31m{}{number}", "%e2%80%ae".repeat(200));
    let token = format!("Authorization: Bearer {}{number}\r\n", "A".repeat(2000));
    message::request("POST", &path, &token, 2, b"{}")
}

/// Parts of this size reach the gateway's budget with few connections.
pub(super) fn unfinished_frame(_: &AttackContext, _: usize) -> Vec<u8> {
    message::unfinished_frame(LARGE, &vec![b' '; LARGE - 1])
}

/// The same without its second half, for more connections.
pub(super) fn half_frame(_: &AttackContext, _: usize) -> Vec<u8> {
    message::unfinished_frame(LARGE, &vec![b' '; LARGE / 2])
}

pub(super) fn fragmented_message(_: &AttackContext, _: usize) -> Vec<u8> {
    message::first_fragment("{")
}

pub(super) fn empty_fragments(_: &AttackContext) -> Vec<u8> {
    message::fragment("").repeat(1000)
}

pub(super) fn pings(_: &AttackContext) -> Vec<u8> {
    message::ping(&"p".repeat(125)).repeat(100)
}

pub(super) fn connect(_: &AttackContext, connection: usize) -> Vec<u8> {
    // A token has eight sources. A further connection takes the place of an earlier one.
    let id = format!("attacker-{}", connection % 8);
    let text = json!({"type": "connect", "v": 2, "device_id": id, "device_name": id});
    message::text_frame(&text.to_string())
}

pub(super) fn small_progress(_: &AttackContext) -> Vec<u8> {
    message::text_frame(r#"{"type":"tool_progress","id":"x","progress":1}"#).repeat(100)
}

pub(super) fn invalid_frames(_: &AttackContext) -> Vec<u8> {
    message::text_frame("{\"type\":\"\\u001b[31m\\u202e\"").repeat(100)
}

pub(super) fn unknown_results(_: &AttackContext) -> Vec<u8> {
    let id = "\\r\\n\\u001b[31m".repeat(200);
    message::text_frame(&format!(r#"{{"type":"tool_result","id":"{id}","output":""}}"#)).repeat(20)
}

pub(super) fn large_patterns(_: &AttackContext) -> Vec<u8> {
    let patterns = |tool: usize| {
        let all: Vec<Value> =
            (0..50).map(|n| json!({"pattern": format!("[\\p{{L}}\\p{{N}}]{{100}}|x{tool}y{n}")})).collect();
        json!({"type": "object", "properties": {"a": {"allOf": all}}})
    };
    register((0..20).map(|n| tool(&format!("pattern_{n}"), patterns(n))))
}

/// Many patterns, each of which is small enough to be accepted.
pub(super) fn distinct_patterns(_: &AttackContext, number: u64) -> Vec<u8> {
    let patterns = |tool: usize| json!({"type": "object", "properties": {"a": {"pattern": format!("^[a-z]{{1,20}}-{number}-{tool}$")}}});
    register((0..50).map(|n| tool(&format!("pattern_{n}"), patterns(n))))
}

/// As many different tools as one connection may register, in as many bytes as it may use. Written as text, because the
/// attacker should not be busy with itself.
pub(super) fn many_tools(context: &AttackContext, connection: usize) -> Vec<u8> {
    let field =
        |n: usize| format!(r#""field_{connection}_{n}":{{"type":"array","items":{{"type":"string"}}}}"#);
    let properties = (0..16).map(field).collect::<Vec<_>>().join(",");
    let filler = "d".repeat(700);
    let tools: Vec<String> = (0..4000)
        .map(|n| {
            format!(
                r#"{{"name":"tool_{n}","parameters":{{"type":"object","properties":{{{properties}}},"description":"{n} {filler}"}}}}"#
            )
        })
        .collect();
    let mut bytes = connect(context, connection);
    let text = format!(r#"{{"type":"register_tools","tools":[{}]}}"#, tools.join(","));
    bytes.extend(message::text_frame(&text));
    bytes
}

pub(super) fn tools_of_a_megabyte(context: &AttackContext, connection: usize) -> Vec<u8> {
    let mut bytes = connect(context, connection);
    let schema = json!({"type": "object", "description": "d".repeat(10_000)});
    bytes.extend(register((0..100).map(|n| tool(&format!("tool_{n}"), schema.clone()))));
    bytes
}

pub(super) fn list_own_tools(_: &AttackContext) -> Vec<u8> {
    message::text_frame(r#"{"type":"get_registered_tools"}"#)
}

pub(super) fn result_of_many_values(_: &AttackContext) -> Vec<u8> {
    message::text_frame(&format!(r#"{{"type":"tool_result","id":"x","output":"","structured":{}}}"#, array()))
}

pub(super) fn result_of_many_keys(_: &AttackContext) -> Vec<u8> {
    message::text_frame(&format!(
        r#"{{"type":"tool_result","id":"x","output":"","structured":{}}}"#,
        object()
    ))
}

pub(super) fn definitions_of_many_values(_: &AttackContext) -> Vec<u8> {
    let schema = format!(r#"{{"type":"object","enum":{}}}"#, array());
    message::text_frame(&format!(
        r#"{{"type":"register_tools","tools":[{{"name":"many","parameters":{schema}}}]}}"#
    ))
}

/// A call of the attacker's own tool, which never answers.
pub(super) fn own_tool(context: &AttackContext, connection: usize) -> Vec<u8> {
    let mut bytes = connect(context, connection);
    bytes.extend(register([tool("never", json!({"type": "object"}))].into_iter()));
    bytes
}

pub(super) fn call_of_own_tool(_: &AttackContext, number: u64) -> Vec<u8> {
    let text = "a".repeat(1 << 20);
    message::text_frame(&format!(
        r#"{{"type":"call_tool","id":"{number}","name":"never","args":{{"text":"{text}"}}}}"#
    ))
}

pub(super) fn own_call_of_many_values(_: &AttackContext, number: u64) -> Vec<u8> {
    let text = array();
    message::text_frame(&format!(
        r#"{{"type":"call_tool","id":"{number}","name":"never","args":{{"values":{text}}}}}"#
    ))
}

pub(super) fn own_call_of_small_objects(_: &AttackContext, number: u64) -> Vec<u8> {
    let text = list(r#"{"a":0}"#, MANY_VALUES / 2);
    message::text_frame(&format!(
        r#"{{"type":"call_tool","id":"{number}","name":"never","args":{{"values":{text}}}}}"#
    ))
}

pub(super) fn small_calls(context: &AttackContext, number: u64) -> Vec<u8> {
    let text =
        format!(r#"{{"type":"call_tool","id":"{number}","name":"{}","args":{{"text":"a"}}}}"#, context.tool);
    message::text_frame(&text)
}

pub(super) fn unfinished_body(context: &AttackContext, connection: usize) -> Vec<u8> {
    let path = format!("/api/tools/{}/call", context.tool);
    message::request("POST", &path, &context.authorization(connection), LARGE, &vec![b' '; LARGE / 2])
}

pub(super) fn body_of_many_values(context: &AttackContext) -> Vec<u8> {
    let body = format!(r#"{{"args":{{"text":"a","values":{}}}}}"#, array());
    context.request(0, "POST", &format!("/api/tools/{}/call", context.tool), &body)
}

pub(super) fn body_of_many_keys(context: &AttackContext) -> Vec<u8> {
    let body = format!(r#"{{"args":{}}}"#, object());
    context.request(0, "POST", &format!("/api/tools/{}/call", context.tool), &body)
}

pub(super) fn call_with_key(context: &AttackContext, number: u64) -> Vec<u8> {
    let body = format!(r#"{{"idempotency_key":"{number}","args":{{"text":"{}"}}}}"#, "k".repeat(4000));
    context.request(0, "POST", &format!("/api/tools/{}/call", context.tool), &body)
}

pub(super) fn large_answers(context: &AttackContext, connection: usize) -> Vec<u8> {
    context.request(connection, "GET", "/api/openapi.json", "").repeat(50)
}

pub(super) fn list_of_tools(context: &AttackContext) -> Vec<u8> {
    context.request(0, "GET", "/api/tools", "").repeat(10)
}

pub(super) fn event_stream(context: &AttackContext, connection: usize) -> Vec<u8> {
    context.request(connection, "GET", "/api/calls/tail", "")
}

/// A session whose client declares capabilities of many values.
pub(super) fn mcp_session(context: &AttackContext) -> Vec<u8> {
    let many = list("0", 50_000);
    let body = format!(
        r#"{{"jsonrpc":"2.0","id":1,"method":"initialize","params":{{"protocolVersion":"2025-11-25","capabilities":{{"experimental":{{"a":{{"many":{many}}}}},"sampling":{{"tools":{{"many":{many}}}}}}},"clientInfo":{{"name":"attacker","version":"1"}}}}}}"#
    );
    let headers = format!("{}Accept: application/json, text/event-stream\r\n", context.authorization(0));
    message::request("POST", "/mcp", &headers, body.len(), body.as_bytes())
}

pub(super) fn mcp_call_of_many_values(context: &AttackContext) -> Vec<u8> {
    let arguments: Value = serde_json::from_str(&format!(r#"{{"values":{}}}"#, array())).unwrap_or_default();
    mcp_request(
        context,
        &json!({"jsonrpc": "2.0", "id": 1, "method": "tools/call",
            "params": {"name": context.tool, "arguments": arguments, "_meta": mcp_meta()}}),
    )
}

pub(super) fn mcp_list(context: &AttackContext) -> Vec<u8> {
    let body = json!({"jsonrpc": "2.0", "id": 1, "method": "tools/list", "params": {"_meta": mcp_meta()}});
    mcp_request(context, &body)
}

fn mcp_meta() -> Value {
    json!({
        "io.modelcontextprotocol/protocolVersion": "2026-07-28",
        "io.modelcontextprotocol/clientCapabilities": {},
        "io.modelcontextprotocol/clientInfo": {"name": "attacker", "version": "1"},
    })
}

fn mcp_request(context: &AttackContext, body: &Value) -> Vec<u8> {
    let method = body.get("method").and_then(Value::as_str).unwrap_or_default();
    let name = match method {
        "tools/call" => format!("Mcp-Name: {}\r\n", context.tool),
        _ => String::new(),
    };
    let version = match method {
        "initialize" => String::new(),
        _ => format!("MCP-Protocol-Version: 2026-07-28\r\nMcp-Method: {method}\r\n{name}"),
    };
    let headers =
        format!("{}{version}Accept: application/json, text/event-stream\r\n", context.authorization(0));
    let text = body.to_string();
    message::request("POST", "/mcp", &headers, text.len(), text.as_bytes())
}

pub(super) fn unfinished_mcp_message(_: &AttackContext, _: usize) -> Vec<u8> {
    message::unfinished_frame(2 * LARGE, &vec![b' '; LARGE])
}

pub(super) fn chat_turn(context: &AttackContext, connection: usize) -> Vec<u8> {
    let body = json!({"content": "c".repeat(900_000), "stream": true}).to_string();
    context.request(connection, "POST", "/api/chat", &body)
}

pub(super) fn openai_turn(context: &AttackContext, connection: usize) -> Vec<u8> {
    let content = "c".repeat(900_000);
    let body =
        json!({"model": "default", "stream": true, "messages": [{"role": "user", "content": content}]});
    context.request(connection, "POST", "/v1/chat/completions", &body.to_string())
}

fn tool(name: &str, parameters: Value) -> Value {
    json!({"name": name, "description": "", "parameters": parameters})
}

fn register(tools: impl Iterator<Item = Value>) -> Vec<u8> {
    let tools: Vec<Value> = tools.collect();
    message::text_frame(&json!({"type": "register_tools", "tools": tools}).to_string())
}

fn array() -> String {
    format!("[{}0]", "0,".repeat(MANY_VALUES - 1))
}

fn object() -> String {
    // Each key is a value of its own.
    let members: Vec<String> = (0..MANY_VALUES / 2).map(|n| format!("\"{n}\":0")).collect();
    format!("{{{}}}", members.join(","))
}

// What `--memory-factors` holds.

pub(super) fn eight_megabytes_of_a_frame(_: &AttackContext, _: usize) -> Vec<u8> {
    message::unfinished_frame(LARGE, &vec![b' '; 8 << 20])
}

pub(super) fn calls_with_texts(context: &AttackContext, connection: usize) -> Vec<u8> {
    own_calls(context, connection, 12, &format!("\"{}\"", "a".repeat(1 << 20)))
}

pub(super) fn calls_with_arrays(context: &AttackContext, connection: usize) -> Vec<u8> {
    own_calls(context, connection, 10, &list("0", 100_000))
}

pub(super) fn calls_with_objects(context: &AttackContext, connection: usize) -> Vec<u8> {
    let members: Vec<String> = (0..40_000).map(|n| format!("\"{n:020}\":0")).collect();
    own_calls(context, connection, 6, &format!("{{{}}}", members.join(",")))
}

pub(super) fn calls_with_small_objects(context: &AttackContext, connection: usize) -> Vec<u8> {
    own_calls(context, connection, 5, &list(r#"{"a":0}"#, 20_000))
}

pub(super) fn calls_with_small_arrays(context: &AttackContext, connection: usize) -> Vec<u8> {
    own_calls(context, connection, 8, &list("[0]", 50_000))
}

pub(super) fn five_hundred_tools(context: &AttackContext, connection: usize) -> Vec<u8> {
    let mut bytes = connect(context, connection);
    bytes.extend(register((0..500).map(|n| {
        let field = json!({"type": "string", "description": format!("field of tool {n} {connection} {}", "d".repeat(5000))});
        tool(&format!("tool_{n}"), json!({"type": "object", "properties": {format!("field_{n}"): field}}))
    })));
    bytes
}

pub(super) fn a_hundred_mcp_sessions(context: &AttackContext, connection: usize) -> Vec<u8> {
    let body = json!({"jsonrpc": "2.0", "id": 1, "method": "initialize", "params": {
        "protocolVersion": "2025-11-25", "capabilities": {"sampling": {}},
        "clientInfo": {"name": "client", "version": "1"}}})
    .to_string();
    let headers =
        format!("{}Accept: application/json, text/event-stream\r\n", context.authorization(connection));
    message::request("POST", "/mcp", &headers, body.len(), body.as_bytes()).repeat(100)
}

/// Calls of the attacker's own tool, which never answers.
fn own_calls(context: &AttackContext, connection: usize, count: usize, argument: &str) -> Vec<u8> {
    let mut bytes = own_tool(context, connection);
    for number in 0..count {
        bytes.extend(message::text_frame(&format!(
            r#"{{"type":"call_tool","id":"{number}","name":"never","args":{{"value":{argument}}}}}"#
        )));
    }
    bytes
}

fn list(element: &str, count: usize) -> String {
    format!("[{}]", vec![element; count].join(","))
}
