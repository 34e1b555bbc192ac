use std::sync::Arc;

use async_trait::async_trait;
use toolway_core::{Arguments, CallContext, Tool, ToolSpec};
use toolway_types::{SpecDocument, ToolError, ToolId, ToolOutput};

use super::*;

struct NamedTool(Arc<ToolSpec>);

#[async_trait]
impl Tool for NamedTool {
    fn spec(&self) -> &Arc<ToolSpec> {
        &self.0
    }

    async fn execute(&self, _: Arguments, _: &CallContext) -> Result<ToolOutput, ToolError> {
        Ok(ToolOutput::default())
    }
}

fn raw(text: &str) -> RawJson {
    RawJson::parse(text).unwrap()
}

#[track_caller]
fn written(document: SpecDocument, name: &str, takes_any: bool) -> String {
    let id = ToolId::new("desk".parse().unwrap(), document.name.parse().unwrap());
    let tool = Arc::new(NamedTool(Arc::new(ToolSpec::compile(document).unwrap())));
    let mut text = String::new();
    write_tool(&mut text, name, &VisibleTool { id, tool }, takes_any);
    text
}

#[test]
fn a_schema_without_a_type_is_given_one_and_keeps_the_rest() {
    let of = |parameters: Option<&str>| {
        written(SpecDocument { parameters: parameters.map(raw), ..SpecDocument::named("t") }, "t", true)
    };
    assert_eq!(of(None), r#"{"name":"t","inputSchema":{"type":"object"}}"#);
    assert_eq!(of(Some("{}")), r#"{"name":"t","inputSchema":{"type":"object"}}"#);
    assert_eq!(
        of(Some(r#"{ "x-a": 1.0, "properties":{}}"#)),
        r#"{"name":"t","inputSchema":{"type":"object", "x-a": 1.0, "properties":{}}}"#
    );
    assert_eq!(
        of(Some(r#"{"b":1, "type" : "object"}"#)),
        r#"{"name":"t","inputSchema":{"b":1, "type" : "object"}}"#
    );
}

#[test]
fn an_mcp_servers_entry_stays_as_it_was_written_but_for_its_name() {
    let listed = r#"{"icons":[{"src":"x"}],"name":"t","_meta":{"a":1.50},"inputSchema":{"type":"object"},"future":[]}"#;
    let document = || SpecDocument {
        parameters: Some(raw(r#"{"type":"object"}"#)),
        mcp_entry: Some(raw(listed)),
        ..SpecDocument::named("t")
    };
    assert_eq!(written(document(), "t", false), listed);
    assert_eq!(written(document(), "desk__t", false), listed.replace(r#""name":"t""#, r#""name":"desk__t""#));
}

#[test]
fn the_way_in_which_a_server_takes_a_call_as_a_task_is_left_out() {
    let listed = |execution: &str| {
        format!(r#"{{"name":"t","execution":{execution},"inputSchema":{{"type":"object","x":1.50}}}}"#)
    };
    let of = |execution: &str| {
        let document = SpecDocument {
            parameters: Some(raw(r#"{"type":"object","x":1.50}"#)),
            mcp_entry: Some(raw(&listed(execution))),
            ..SpecDocument::named("t")
        };
        written(document, "t", true)
    };
    assert_eq!(of(r#"{"taskSupport":"required","b":1e2}"#), listed(r#"{"b":1e2}"#));
    assert_eq!(
        of(r#"{"taskSupport":"optional"}"#),
        r#"{"name":"t","inputSchema":{"type":"object","x":1.50}}"#,
        "nothing is left"
    );
    assert_eq!(of(r#"{"b" : 1.0}"#), listed(r#"{"b" : 1.0}"#));
    assert_eq!(of("null"), listed("null"));
}

#[test]
fn an_older_client_is_not_given_an_output_that_is_no_object() {
    let listed = r#"{"name":"t","inputSchema":{"type":"object"},"outputSchema":{"type":"array"}}"#;
    let document = || SpecDocument {
        parameters: Some(raw(r#"{"type":"object"}"#)),
        output_schema: Some(raw(r#"{"type":"array"}"#)),
        mcp_entry: Some(raw(listed)),
        ..SpecDocument::named("t")
    };
    assert_eq!(written(document(), "t", true), listed);
    assert_eq!(written(document(), "t", false), r#"{"name":"t","inputSchema":{"type":"object"}}"#);
}
