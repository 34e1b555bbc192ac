//! The schema of a command's arguments, and whether each of them goes somewhere.

use serde_json::{Value, json};

use crate::definition::{CommandInput, DefinitionProblem, ParameterSchema};
use crate::template::ArgvTemplate;

/// The schema as JSON. What it does not name is refused unless it says otherwise.
pub(crate) fn build_schema(given: Option<ParameterSchema>) -> Result<Value, DefinitionProblem> {
    let schema = match given {
        None => json!({ "type": "object" }),
        Some(ParameterSchema::Text(text)) => serde_json::from_str(&text)
            .map_err(|error| DefinitionProblem(format!("parameters are not JSON: {error}")))?,
        Some(ParameterSchema::Table(table)) => serde_json::to_value(table)
            .map_err(|error| DefinitionProblem(format!("parameters have no JSON form: {error}")))?,
    };
    let Value::Object(mut schema) = schema else {
        return Err(DefinitionProblem("parameters must be a JSON Schema of an object".to_owned()));
    };
    schema.entry("type").or_insert_with(|| json!("object"));
    let open = ["additionalProperties", "unevaluatedProperties", "patternProperties"];
    if !open.iter().any(|word| schema.contains_key(*word)) {
        schema.insert("additionalProperties".to_owned(), json!(false));
    }
    Ok(Value::Object(schema))
}

/// Every hole has a parameter, and every parameter a hole: one that went nowhere would be ignored unseen.
pub(crate) fn check_placeholders(
    template: &ArgvTemplate,
    schema: &Value,
    input: CommandInput,
) -> Result<(), DefinitionProblem> {
    let properties = schema.get("properties").and_then(Value::as_object);
    let known = |name: &str| properties.is_some_and(|known| known.contains_key(name));
    if input == CommandInput::StdinJson {
        return match template.placeholders().next() {
            Some(hole) => Err(DefinitionProblem(format!(
                "args have {{{hole}}} in them, but with input = \"stdin-json\" the arguments go to standard input"
            ))),
            None => Ok(()),
        };
    }
    if let Some(hole) = template.placeholders().find(|hole| !known(hole)) {
        return Err(DefinitionProblem(format!(
            "args have {{{hole}}} in them, but parameters name no such property"
        )));
    }
    let unused = properties.into_iter().flatten().map(|(name, _)| name);
    match unused.into_iter().find(|name| !template.placeholders().any(|hole| hole == name.as_str())) {
        Some(name) => Err(DefinitionProblem(format!("the parameter {name} is in none of the args"))),
        None => Ok(()),
    }
}
