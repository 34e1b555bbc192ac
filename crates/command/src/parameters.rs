//! The schema of a command's arguments, and whether each of them goes somewhere.

use serde_json::{Value, json};

use crate::definition::{Input, Parameters, Problem};
use crate::template::Template;

/// The schema as JSON. What it does not name is refused unless it says otherwise.
pub(crate) fn schema(given: Option<Parameters>) -> Result<Value, Problem> {
    let schema = match given {
        None => json!({ "type": "object" }),
        Some(Parameters::Text(text)) => serde_json::from_str(&text)
            .map_err(|error| Problem(format!("parameters are not JSON: {error}")))?,
        Some(Parameters::Table(table)) => serde_json::to_value(table)
            .map_err(|error| Problem(format!("parameters have no JSON form: {error}")))?,
    };
    let Value::Object(mut schema) = schema else {
        return Err(Problem("parameters must be a JSON Schema of an object".to_owned()));
    };
    schema.entry("type").or_insert_with(|| json!("object"));
    let open = ["additionalProperties", "unevaluatedProperties", "patternProperties"];
    if !open.iter().any(|word| schema.contains_key(*word)) {
        schema.insert("additionalProperties".to_owned(), json!(false));
    }
    Ok(Value::Object(schema))
}

/// Every hole has a parameter, and every parameter a hole: one that went nowhere would be ignored unseen.
pub(crate) fn check_holes(template: &Template, schema: &Value, input: Input) -> Result<(), Problem> {
    let properties = schema.get("properties").and_then(Value::as_object);
    let known = |name: &str| properties.is_some_and(|known| known.contains_key(name));
    if input == Input::StdinJson {
        return match template.holes().next() {
            Some(hole) => Err(Problem(format!(
                "args have {{{hole}}} in them, but with input = \"stdin-json\" the arguments go to standard input"
            ))),
            None => Ok(()),
        };
    }
    if let Some(hole) = template.holes().find(|hole| !known(hole)) {
        return Err(Problem(format!("args have {{{hole}}} in them, but parameters name no such property")));
    }
    let unused = properties.into_iter().flatten().map(|(name, _)| name);
    match unused.into_iter().find(|name| !template.holes().any(|hole| hole == name.as_str())) {
        Some(name) => Err(Problem(format!("the parameter {name} is in none of the args"))),
        None => Ok(()),
    }
}
