use rmcp::ErrorData;
use serde_json::json;

use super::*;

fn listed(execution: &str) -> TaskRequirement {
    let entry = format!(r#"{{"name":"a","inputSchema":{{"type":"object"}},"execution":{execution}}}"#);
    TaskRequirement::of_listed_tool(Some(&RawJson::parse(&entry).unwrap()))
}

#[test]
fn only_the_support_required_means_that_a_tool_runs_only_as_a_task() {
    assert!(listed(r#"{"taskSupport":"required"}"#).is_required());
    for other in [
        r#"{"taskSupport":"optional"}"#,
        r#"{"taskSupport":"forbidden"}"#,
        r#"{"taskSupport":1}"#,
        "{}",
        "null",
    ] {
        assert!(!listed(other).is_required(), "{other}");
    }
    assert!(!TaskRequirement::of_listed_tool(None).is_required());
}

#[test]
fn a_refusal_counts_only_if_it_requires_the_tasks_extension() {
    let refusal = |code, required| {
        UpstreamError::RpcError(ErrorData::new(code, "", Some(json!({"requiredCapabilities": required}))))
    };
    let tasks = json!({"extensions": {"io.modelcontextprotocol/tasks": {}}});
    let code = ErrorCode::MISSING_REQUIRED_CLIENT_CAPABILITY;
    let requirement = listed("{}");
    assert!(!requirement.learn_from(&refusal(code, json!({"elicitation": {}}))));
    assert!(!requirement.learn_from(&refusal(ErrorCode::INVALID_PARAMS, tasks.clone())));
    assert!(!requirement.is_required());
    assert!(requirement.learn_from(&refusal(code, tasks)));
    assert!(requirement.is_required());
}
