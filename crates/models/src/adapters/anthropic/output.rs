//! Structured outputs: by the API's own feature if model and schema allow it, else by a tool that the model must call,
//! else by instructions.

use toolway_types::RawJson;

use super::capabilities;
use crate::request::{ModelRequest, OutputSchema, ToolChoice};
use crate::schema::{self, SchemaTarget};
use crate::tool_names;

/// Prefix of the name of the tool that stands for a structured output.
const ANSWER_TOOL_PREFIX: &str = "answer_";

/// Ways to make the model respond according to a schema.
#[derive(Debug)]
pub(super) enum OutputConstraint {
    /// Not at all.
    Unconstrained,
    /// `output_config.format`.
    Format(RawJson),
    /// A tool whose arguments are the structured output.
    Tool {
        /// Its name as it is sent.
        name: String,
        schema: RawJson,
        /// The model may call other tools first.
        alongside_tools: bool,
    },
    /// A sentence in the instructions.
    Instructions(String),
}

impl OutputConstraint {
    pub(super) fn for_request(request: &ModelRequest) -> Self {
        let Some(output) = &request.output else { return Self::Unconstrained };
        // The API's feature closes every object, so this one would have to be empty.
        if output.accepts_any_object {
            return Self::Instructions(output.instructions());
        }
        let generation = capabilities::for_model(&request.model);
        if generation.has_structured_outputs
            && let Ok(converted) =
                schema::convert_output_schema(&output.schema, SchemaTarget::AnthropicOutput)
            && let Some(schema) = converted.schema
        {
            return Self::Format(schema);
        }
        match schema::convert_parameters(Some(&output.schema), SchemaTarget::Anthropic) {
            // Where properties have other names nobody turns the answer back.
            Ok(converted)
                if generation.takes_forced_tool_choice && converted.arguments.renamed.is_empty() =>
            {
                match converted.schema {
                    Some(schema) => Self::Tool {
                        name: tool_name(request, output),
                        schema,
                        alongside_tools: !request.tools.is_empty() && request.tool_choice != ToolChoice::None,
                    },
                    None => Self::Instructions(output.instructions()),
                }
            }
            _ => Self::Instructions(output.instructions()),
        }
    }

    /// Returns whether the model must call a tool.
    pub(super) fn forces_a_tool(&self) -> bool {
        matches!(self, Self::Tool { .. })
    }
}

/// A name that no tool of the request has.
fn tool_name(request: &ModelRequest, output: &OutputSchema) -> String {
    let mut name = tool_names::wire_name(&format!("{ANSWER_TOOL_PREFIX}{}", output.name)).into_owned();
    while request.tools.get(&name).is_some() {
        name = tool_names::wire_name(&format!("{name}_")).into_owned();
    }
    name
}
