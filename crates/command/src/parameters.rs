//! Schema of a command's arguments, and the check that each argument is used.

use serde_json::{Value, json};

use crate::definition::{CommandInput, DefinitionProblem, ParameterSchema};
use crate::template::ArgvTemplate;

/// Schema as JSON. Unknown arguments are refused by default.
pub(crate) fn build_schema(given: Option<ParameterSchema>) -> Result<Value, DefinitionProblem> {
    let schema = match given {
        None => json!({ "type": "object" }),
        Some(ParameterSchema::Text(text)) => serde_json::from_str(&text)
            .map_err(|error| DefinitionProblem(format!("parameters are not JSON: {error}")))?,
        Some(ParameterSchema::Table(table)) => serde_json::to_value(table)
            .map_err(|error| DefinitionProblem(format!("parameters cannot be converted to JSON: {error}")))?,
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

/// Checks that every placeholder has a parameter and every parameter a placeholder. An unused parameter would
/// be ignored silently.
pub(crate) fn check_placeholders(
    template: &ArgvTemplate,
    schema: &Value,
    input: CommandInput,
) -> Result<(), DefinitionProblem> {
    let properties = schema.get("properties").and_then(Value::as_object);
    let known = |name: &str| properties.is_some_and(|known| known.contains_key(name));
    if input == CommandInput::StdinJson {
        return match template.placeholders().next() {
            Some(name) => Err(DefinitionProblem(format!(
                "args contain {{{name}}}, but with input = \"stdin-json\" the arguments go to standard input"
            ))),
            None => Ok(()),
        };
    }
    if let Some(name) = template.placeholders().find(|name| !known(name)) {
        return Err(DefinitionProblem(format!(
            "args contain {{{name}}}, but parameters have no such property"
        )));
    }
    let unused = properties.into_iter().flatten().map(|(name, _)| name);
    match unused.into_iter().find(|name| !template.placeholders().any(|placeholder| placeholder == name.as_str())) {
        Some(name) => Err(DefinitionProblem(format!("args do not use the parameter {name}"))),
        None => Ok(()),
    }
}
