//! The form that an answer must have: said in the API's own way where model and schema allow it, else by a tool that
//! the model must call, else in words.

use toolway_types::RawJson;

use super::generation;
use crate::names;
use crate::request::{ModelRequest, OutputSchema, ToolChoice};
use crate::schema::{self, Target};

/// What stands before the name of the tool that is the form of an answer.
const PREFIX: &str = "answer_";

/// How an answer is held to its form.
#[derive(Debug)]
pub(super) enum Output {
    /// Not at all.
    Free,
    /// `output_config.format`.
    Format(RawJson),
    /// A tool whose arguments are the answer.
    Tool {
        /// Its name as it is sent.
        name: String,
        schema: RawJson,
        /// Whether other tools may be called before.
        beside_others: bool,
    },
    /// A sentence in the instructions.
    Words(String),
}

impl Output {
    pub(super) fn of(request: &ModelRequest) -> Self {
        let Some(output) = &request.output else { return Self::Free };
        let generation = generation::of(&request.model);
        if generation.outputs
            && let Ok(converted) = schema::output(&output.schema, Target::AnthropicOutput)
            && let Some(schema) = converted.schema
        {
            return Self::Format(schema);
        }
        match schema::parameters(Some(&output.schema), Target::Anthropic) {
            // Where properties have other names nobody turns the answer back.
            Ok(converted) if generation.forced && converted.arguments.renamed.is_empty() => {
                match converted.schema {
                    Some(schema) => Self::Tool {
                        name: tool_name(request, output),
                        schema,
                        beside_others: !request.tools.is_empty() && request.tool_choice != ToolChoice::None,
                    },
                    None => Self::Words(words(output)),
                }
            }
            _ => Self::Words(words(output)),
        }
    }

    /// Whether the model must call a tool for it.
    pub(super) fn forces_a_tool(&self) -> bool {
        matches!(self, Self::Tool { .. })
    }
}

/// A name that no tool of the request has.
fn tool_name(request: &ModelRequest, output: &OutputSchema) -> String {
    let mut name = names::sent(&format!("{PREFIX}{}", output.name)).into_owned();
    while request.tools.get(&name).is_some() {
        name = names::sent(&format!("{name}_")).into_owned();
    }
    name
}

fn words(output: &OutputSchema) -> String {
    let schema = output.schema.get();
    format!("Answer with one JSON value and nothing else. It must fit this JSON Schema: {schema}")
}
