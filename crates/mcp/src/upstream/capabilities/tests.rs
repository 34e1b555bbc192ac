use serde_json::json;

use super::*;

fn can(definition: &ServerDefinition, client: serde_json::Value) -> serde_json::Value {
    let client = serde_json::from_value(client).unwrap();
    serde_json::to_value(client_capabilities(definition, &client)).unwrap()
}

#[test]
fn a_server_may_ask_what_the_client_can_do_and_the_owner_allows() {
    let client = json!({
        "elicitation": {"form": {}},
        "sampling": {"tools": {}},
        "roots": {"listChanged": true},
        "extensions": {"io.modelcontextprotocol/tasks": {}},
        "experimental": {"x": {}},
    });
    assert_eq!(can(&ServerDefinition::default(), client.clone()), json!({"elicitation": {"form": {}}}));
    let all = ServerDefinition { sampling: true, roots: true, ..ServerDefinition::default() };
    assert_eq!(
        can(&all, client),
        json!({"elicitation": {"form": {}}, "sampling": {"tools": {}}, "roots": {}}),
        "tasks and experiments are never passed on"
    );
    assert_eq!(can(&all, json!({})), json!({}));
}

#[test]
fn sampling_and_roots_are_off_at_first() {
    assert_eq!(
        advertised_capabilities(&ServerDefinition::default()),
        json!({"elicitation": {"form": {}, "url": {}}})
    );
}
