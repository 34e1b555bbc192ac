//! The body of a request to Messages.

use std::borrow::Cow;
use std::sync::Arc;

use bytes::Bytes;
use serde::Serialize;
use serde_json::json;
use toolway_types::RawJson;

use super::block::{Block, Mark, Marked};
use super::generation;
use super::history;
use super::output::Output;
use super::thinking::{self, Thinking};
use super::{MAX_TOOLS, tool};
use crate::body::{BodyWriter, conversation_size, too_many_tools};
use crate::config::ProviderConfig;
use crate::error::{ModelError, ModelErrorKind};
use crate::names;
use crate::request::{ModelRequest, ToolChoice};
use crate::tools::ConvertedTools;

/// What a body takes besides messages and tools, roughly, in bytes.
const ROOM: usize = 1024;
/// The name of a tool that stands for those that are not offered, where the conversation has calls: without any
/// tool such a conversation is refused.
const ABSENT: &str = "no_longer_available";

/// The body.
pub(super) fn body(config: &ProviderConfig, request: &ModelRequest) -> Result<Bytes, ModelError> {
    let output = Output::of(request);
    let converted = tool::converted(request);
    too_many_tools(&config.name, converted.len(), MAX_TOOLS)?;
    let thinking = thinking::of(config, request, &output);
    let messages = history::messages(config, request, &converted);
    if messages.is_empty() {
        let message = "there is nothing in the conversation that could be sent";
        return Err(ModelError::new(ModelErrorKind::InvalidRequest, Arc::clone(&config.name), message));
    }
    let tools = tools(request, &converted, &output);
    let choice = tool_choice(config, request, &converted, &output)?;
    let size =
        ROOM + converted.json.get().len() + request.system.len() + conversation_size(&request.messages);
    let mut body = BodyWriter::new(&request.options.extra, size);
    body.field("model", &*request.model);
    body.field("max_tokens", &thinking.max_tokens);
    if let Some(tools) = &tools {
        body.field("tools", tools);
        body.some("tool_choice", choice.as_ref());
    }
    let system = system(request, &output, choice.as_ref());
    if !system.is_empty() {
        body.field("system", &system);
    }
    body.field("messages", &messages);
    body.some("thinking", thinking.thinking.as_ref());
    sampling(&mut body, request, &thinking);
    let stop: Vec<_> = request.options.stop.iter().filter(|stop| !stop.trim().is_empty()).collect();
    if !stop.is_empty() {
        body.field("stop_sequences", &stop);
    }
    body.object("output_config", &output_config(&thinking, &output));
    body.field("stream", &true);
    body.finish(&config.name)
}

fn output_config(thinking: &Thinking, output: &Output) -> Vec<(&'static str, RawJson)> {
    #[derive(Serialize)]
    struct Format<'a> {
        r#type: &'static str,
        schema: &'a RawJson,
    }
    let effort = thinking.effort.map(|effort| ("effort", RawJson::from(&json!(effort))));
    let format = match output {
        Output::Format(schema) => RawJson::from_value(&Format { r#type: "json_schema", schema }).ok(),
        _ => None,
    };
    effort.into_iter().chain(format.map(|format| ("format", format))).collect()
}

/// The list of tools; none where none are sent.
fn tools(request: &ModelRequest, converted: &ConvertedTools, output: &Output) -> Option<RawJson> {
    let answer = match output {
        Output::Tool { name, schema, .. } => {
            Some(tool::written(name, "Give the whole answer with this tool.", schema))
        }
        _ => None,
    };
    match (converted.is_empty(), answer) {
        (false, None) => Some(converted.json.clone()),
        (true, Some(answer)) => RawJson::from_value(&[answer]).ok(),
        (false, Some(answer)) => {
            let mut all: Vec<RawJson> = converted.json.to().unwrap_or_default();
            all.push(answer);
            RawJson::from_value(&all).ok()
        }
        (true, None) if history::has_calls(&request.messages) => {
            let schema = RawJson::from(&json!({"type": "object", "properties": {}}));
            let absent = tool::written(ABSENT, "The tools of this conversation can't be used now.", &schema);
            RawJson::from_value(&[absent]).ok()
        }
        (true, None) => None,
    }
}

/// How the model is told whether to call a tool.
#[derive(Debug, Serialize)]
#[serde(tag = "type", rename_all = "lowercase")]
enum Choice<'a> {
    Auto(Parallel),
    Any(Parallel),
    Tool {
        name: Cow<'a, str>,
        #[serde(flatten)]
        parallel: Parallel,
    },
    None,
    /// A wish: this model can't be made to. It goes into the instructions.
    #[serde(rename = "auto")]
    Wish {
        #[serde(skip)]
        words: String,
        #[serde(flatten)]
        parallel: Parallel,
    },
}

#[derive(Debug, Clone, Copy, Serialize)]
struct Parallel {
    #[serde(rename = "disable_parallel_tool_use", skip_serializing_if = "std::ops::Not::not")]
    is_off: bool,
}

fn tool_choice<'a>(
    config: &ProviderConfig,
    request: &'a ModelRequest,
    converted: &ConvertedTools,
    output: &Output,
) -> Result<Option<Choice<'a>>, ModelError> {
    let parallel = Parallel { is_off: request.options.parallel_tool_calls == Some(false) };
    if let ToolChoice::Tool(name) = &request.tool_choice
        && !converted.has(name)
    {
        let message = format!("the tool {name:?} is to be called, but is not among those of the request");
        return Err(ModelError::new(ModelErrorKind::InvalidRequest, Arc::clone(&config.name), message));
    }
    let can_force = generation::of(&request.model).forced;
    Ok(match (&request.tool_choice, output) {
        (ToolChoice::Tool(name), _) if can_force => Some(Choice::Tool { name: names::sent(name), parallel }),
        (ToolChoice::Tool(name), _) => {
            let words = format!("Answer by calling the tool {}.", names::sent(name));
            Some(Choice::Wish { words, parallel })
        }
        (_, Output::Tool { beside_others: true, .. }) => Some(Choice::Any(parallel)),
        (_, Output::Tool { name, .. }) => {
            Some(Choice::Tool { name: Cow::Owned(name.clone()), parallel: Parallel { is_off: false } })
        }
        (_, _) if converted.is_empty() => Some(Choice::None),
        (ToolChoice::None, _) => Some(Choice::None),
        (ToolChoice::Required, _) if can_force => Some(Choice::Any(parallel)),
        (ToolChoice::Required, _) => {
            Some(Choice::Wish { words: "Answer by calling a tool.".to_owned(), parallel })
        }
        (ToolChoice::Auto, _) if parallel.is_off => Some(Choice::Auto(parallel)),
        (ToolChoice::Auto, _) => None,
    })
}

/// The instructions. What changes from request to request stands behind what is cached.
fn system<'a>(
    request: &'a ModelRequest,
    output: &'a Output,
    choice: Option<&'a Choice<'a>>,
) -> Vec<Marked<'a>> {
    let mut blocks: Vec<Marked<'a>> = Vec::new();
    if !request.system.trim().is_empty() {
        blocks.push(Marked { block: Block::text(request.system.as_str()), mark: Mark(true) });
    }
    if let Output::Words(words) = output {
        blocks.push(Block::text(words.as_str()).into());
    }
    if let Some(Choice::Wish { words, .. }) = choice {
        blocks.push(Block::text(words.as_str()).into());
    }
    blocks
}

/// `temperature` and `top_p`, where they are taken.
fn sampling(body: &mut BodyWriter<'_>, request: &ModelRequest, thinking: &Thinking) {
    let generation = generation::of(&request.model);
    if !generation.samples || thinking.thinks {
        return;
    }
    let options = &request.options;
    body.some("temperature", options.temperature.map(|temperature| temperature.min(1.0)).as_ref());
    if options.temperature.is_none() || !generation.samples_once {
        body.some("top_p", options.top_p.as_ref());
    }
}
