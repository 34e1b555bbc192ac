use super::*;

fn line(era: ProtocolEra, session: Option<&str>) -> McpRequestBuilder {
    let endpoint = McpEndpoint {
        authority: "127.0.0.1:9".to_owned(),
        path: "/mcp".to_owned(),
        token: Some("t".to_owned()),
    };
    McpRequestBuilder { endpoint, era, session: session.map(str::to_owned) }
}

/// Head and body of a request as it is sent.
#[track_caller]
fn sent(prepared: &mut PreparedMcpRequest) -> (String, Value) {
    let (bytes, _) = prepared.next_request();
    let text = String::from_utf8(bytes.to_vec()).unwrap();
    let (head, body) = text.split_once("\r\n\r\n").unwrap();
    let length = head.lines().find_map(|line| line.strip_prefix("Content-Length: ")).unwrap();
    assert_eq!(length, body.len().to_string());
    (head.to_owned(), serde_json::from_str(body).unwrap())
}

#[test]
fn a_call_of_the_newer_era_repeats_itself_in_headers_and_says_who_calls() {
    let (head, body) = sent(&mut line(ProtocolEra::Modern, None).call_tool("echo", "\"id\":1000000000"));
    for header in [
        "POST /mcp HTTP/1.1",
        "Accept: application/json, text/event-stream",
        "Content-Type: application/json",
        "MCP-Protocol-Version: 2026-07-28",
        "Mcp-Method: tools/call",
        "Mcp-Name: echo",
        "Authorization: Bearer t",
    ] {
        assert!(head.lines().any(|line| line == header), "{header}: {head}");
    }
    let meta = &body["params"]["_meta"];
    assert_eq!(meta["io.modelcontextprotocol/protocolVersion"], "2026-07-28");
    assert!(meta["io.modelcontextprotocol/clientCapabilities"].is_object());
    assert_eq!(body["params"]["arguments"]["text"], "\"id\":1000000000");
    assert_eq!(body["id"], 1_000_000_000_u64);
}

#[test]
fn each_request_has_an_id_of_its_own() {
    let mut call = line(ProtocolEra::Modern, None).call_tool("echo", "x");
    sent(&mut call);
    let (_, named) = call.next_request();
    assert_eq!(named, "\"id\":1000000001");
    assert_eq!(sent(&mut call).1["id"], 1_000_000_002_u64);
}

#[test]
fn a_session_is_named_once_it_is_there() {
    let (head, body) = sent(&mut line(ProtocolEra::Legacy, None).initialize());
    assert!(!head.contains("MCP-Protocol-Version") && !head.contains("Mcp-Method"), "{head}");
    assert_eq!(body["params"]["protocolVersion"], "2025-11-25");
    let (head, body) = sent(&mut line(ProtocolEra::Legacy, Some("a-1")).initialized());
    assert!(head.contains("Mcp-Session-Id: a-1\r\n") && head.contains("MCP-Protocol-Version: 2025-11-25"));
    assert!(body.get("id").is_none());
    let stream = String::from_utf8(line(ProtocolEra::Legacy, Some("a-1")).open_stream()).unwrap();
    assert!(stream.starts_with("GET /mcp HTTP/1.1\r\n") && stream.ends_with("\r\n\r\n"), "{stream}");
}
