use serde_json::{Value, json};
use toolway_api::openapi::PolicyRuleSchema;
use toolway_core::policy::definition::{RuleCondition, RuleDefinition};
use utoipa::PartialSchema;

fn names(schema: &Value) -> Vec<String> {
    let properties = schema["properties"].as_object().unwrap();
    let mut names: Vec<_> = properties.keys().cloned().collect();
    names.sort();
    names
}

#[test]
fn the_schema_of_a_rule_has_all_fields() {
    let described = serde_json::to_value(PolicyRuleSchema::schema()).unwrap();
    let read = schemars::schema_for!(RuleDefinition).to_value();
    let mut expected = names(&read);
    // The name is in the path.
    expected.retain(|name| name != "name");
    assert_eq!(names(&described), expected);
    assert_eq!(described["required"], json!(["effect"]));
    let when = schemars::schema_for!(RuleCondition).to_value();
    assert_eq!(names(&described["properties"]["when"]), names(&when));
    for form in [&described, &described["properties"]["when"]] {
        assert_eq!(form["additionalProperties"], false);
    }
    for effect in described["properties"]["effect"]["enum"].as_array().unwrap() {
        serde_json::from_value::<RuleDefinition>(json!({"effect": effect})).unwrap();
    }
    for role in described["properties"]["when"]["properties"]["roles"]["items"]["enum"].as_array().unwrap() {
        role.as_str().unwrap().parse::<toolway_types::Role>().unwrap();
    }
}
