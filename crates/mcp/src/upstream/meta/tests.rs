use super::*;

#[test]
fn says_who_asks_and_keeps_what_the_client_said() {
    let meta = MetaWriter::new("toolway", "1.2.3");
    let given: Map<String, Value> = serde_json::from_str(
        r#"{"progressToken":"theirs","io.modelcontextprotocol/clientInfo":{"name":"x"},"traceparent":"00-1"}"#,
    )
    .unwrap();
    let can = ClientCapabilities::builder().enable_elicitation().build();
    let written = |era, level| {
        let mut to = String::from("{");
        meta.write(&mut to, Some(7), era, Some((&given, &can)), level);
        to.push('}');
        serde_json::from_str::<Value>(&to).unwrap()
    };
    assert_eq!(
        written(Some(ProtocolEra::Handshake), Some(LoggingLevel::Info)),
        serde_json::json!({"_meta": {"progressToken": 7, "traceparent": "00-1"}})
    );
    assert_eq!(
        written(Some(ProtocolEra::Stateless), Some(LoggingLevel::Info)),
        serde_json::json!({"_meta": {
            "progressToken": 7,
            "io.modelcontextprotocol/protocolVersion": "2026-07-28",
            "io.modelcontextprotocol/clientInfo": {"name": "toolway", "version": "1.2.3"},
            "io.modelcontextprotocol/clientCapabilities": can,
            "io.modelcontextprotocol/logLevel": "info",
            "traceparent": "00-1",
        }})
    );
    let mut nothing = String::new();
    meta.write(&mut nothing, None, None, None, None);
    assert_eq!(nothing, r#""_meta":{}"#);
}
