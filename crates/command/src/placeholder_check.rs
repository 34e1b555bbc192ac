//! Checks that the placeholders of a command and its parameters match.

use serde_json::Value;

use crate::definition::CommandInput;
use crate::problem::DefinitionProblem;
use crate::template::ArgvTemplate;

/// Checks that every placeholder has a parameter and every parameter has a placeholder. An argument without a
/// placeholder would be ignored silently.
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
                "args contains {{{name}}}, but with input = \"stdin-json\" the arguments go to standard input; remove it from args"
            ))),
            None => Ok(()),
        };
    }
    if let Some(name) = template.placeholders().find(|name| !known(name)) {
        return Err(DefinitionProblem(format!(
            "args contains {{{name}}}, but parameters has no property {name}"
        )));
    }
    let unused = properties.into_iter().flatten().map(|(name, _)| name);
    match unused
        .into_iter()
        .find(|name| !template.placeholders().any(|placeholder| placeholder == name.as_str()))
    {
        Some(name) => Err(DefinitionProblem(format!(
            "args does not use the parameter {name}; add {{{name}}} to args, or remove it from parameters"
        ))),
        None => Ok(()),
    }
}
