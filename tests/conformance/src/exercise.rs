//! Exercises a connected server.

use futures_util::future::join_all;
use rmcp::model::{GetPromptRequestParams, ReadResourceRequestParams};
use serde_json::value::{RawValue, to_raw_value};
use serde_json::{Map, Value, json};
use toolway_mcp::offering::OfferingRegistry;
use toolway_mcp::upstream::ProtocolEra;

use crate::call::SourceToolCaller;
use crate::connection::ConnectedServer;
use crate::scenario::Scenario;

/// The tool that takes another tool's schema, and that other tool.
const SCHEMA_ECHO: &str = "json_schema_echo";
const SCHEMA_TOOL: &str = "json_schema_2020_12_tool";

/// Calls all tools, reads all resources and gets all prompts. A failure does not prevent the others.
pub(crate) async fn exercise_server(scenario: &Scenario, connected: &ConnectedServer) -> Result<(), String> {
    let calls =
        SourceToolCaller::new(connected.engine.clone(), connected.source.clone(), scenario.version.clone())?;
    let mut problems = Vec::new();
    let wanted = calls_to_make(scenario, connected)?;
    // All at once, so that mixed-up calls are detected.
    let called = wanted.iter().map(|(tool, arguments)| calls.call(tool, arguments));
    problems.extend(join_all(called).await.into_iter().filter_map(Result::err));
    problems.extend(exercise_resources_and_prompts(connected, &calls).await.err());
    if problems.is_empty() { Ok(()) } else { Err(problems.join("; ")) }
}

/// Returns the calls to make: those in the scenario, or one of each tool.
fn calls_to_make(
    scenario: &Scenario,
    connected: &ConnectedServer,
) -> Result<Vec<(String, Box<RawValue>)>, String> {
    if !scenario.context.tool_calls.is_empty() {
        let named = scenario.context.tool_calls.iter();
        return Ok(named.map(|call| (call.name.clone(), call.arguments.clone())).collect());
    }
    let snapshot = connected.engine.registry().snapshot();
    let tools = snapshot.source(&connected.source).map(|source| source.tools().clone());
    let specs: Vec<_> = tools.iter().flat_map(|tools| tools.iter()).map(|tool| tool.spec()).collect();
    let raw_schema = |name: &str| {
        let spec = specs.iter().find(|spec| spec.name().as_str() == name)?;
        spec.document().parameters.as_ref().map(|schema| schema.get().to_owned())
    };
    specs
        .iter()
        .map(|spec| {
            let name = spec.name().as_str();
            let arguments = match raw_schema(SCHEMA_TOOL) {
                Some(schema) if name == SCHEMA_ECHO => {
                    RawValue::from_string(format!(r#"{{"schema":{schema}}}"#))
                }
                _ => to_raw_value(&sample_arguments(&raw_schema(name).unwrap_or_default())),
            };
            Ok((name.to_owned(), arguments.map_err(|error| error.to_string())?))
        })
        .collect()
}

/// Returns arguments for a simple schema: a value of the right type for each required property.
fn sample_arguments(schema: &str) -> Value {
    let schema: Value = serde_json::from_str(schema).unwrap_or_default();
    let required = schema.get("required").and_then(Value::as_array);
    let argument = |name: &Value| {
        let name = name.as_str()?;
        let value = match schema.pointer(&format!("/properties/{name}/type")).and_then(Value::as_str) {
            Some("number" | "integer") => json!(5),
            Some("boolean") => json!(true),
            Some("array") => json!([]),
            Some("object") => json!({}),
            Some("null") => Value::Null,
            _ => json!("something"),
        };
        Some((name.to_owned(), value))
    };
    Value::Object(required.into_iter().flatten().filter_map(argument).collect::<Map<_, _>>())
}

async fn exercise_resources_and_prompts(
    connected: &ConnectedServer,
    calls: &SourceToolCaller,
) -> Result<(), String> {
    let offering = connected
        .upstreams
        .offering(&connected.source, ProtocolEra::Stateless)
        .ok_or("the server is gone")?;
    let facts = offering.facts().ok_or("nothing is known of the server")?;
    let failed = |error: rmcp::ErrorData| error.message.to_string();
    if facts.capabilities.resources.is_some() {
        for resource in offering.list_resources(None).await.map_err(failed)?.resources {
            let request = ReadResourceRequestParams::new(resource.uri);
            offering.read_resource(request, calls.client()).await.map_err(failed)?;
        }
    }
    if facts.capabilities.prompts.is_some() {
        for prompt in offering.list_prompts(None).await.map_err(failed)?.prompts {
            let request = GetPromptRequestParams::new(prompt.name);
            offering.get_prompt(request, calls.client()).await.map_err(failed)?;
        }
    }
    Ok(())
}
