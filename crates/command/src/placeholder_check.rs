//! Checks that the placeholders of a command and its parameters match.

use serde_json::Value;

use crate::definition::CommandInput;
use crate::problem::DefinitionProblem;
use crate::template::ArgvTemplate;

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
