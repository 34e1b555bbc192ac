//! Combines the prompts and options of agent and caller, and shows a request for debugging.

use std::sync::Arc;

use serde_json::{Value, json};
use toolway_models::{
    MessagePart, MessageRole, ModelMessage, ModelOptions, ModelRequest, ToolDefinition, ToolSet,
};
use toolway_types::picture::{describe_picture, media_type_of};
use toolway_types::{ContentPart, Outcome, RawJson, ResultEnvelope};

use crate::selection::SelectedTools;

/// Joins the agent's system prompt, the caller's, and the note about tools.
pub(super) fn system_prompt(agents: &str, callers: &[String], tools: Option<&str>) -> String {
    let all = [agents].into_iter().chain(callers.iter().map(String::as_str)).chain(tools);
    let said: Vec<&str> = all.map(str::trim).filter(|text| !text.is_empty()).collect();
    said.join("\n\n")
}

/// Tells the model that it has more tools than its list contains, and how to find them. `None` if the list contains
/// all of them, or the model accepts no tools at all.
pub(super) fn omitted_tools_note(selected: &SelectedTools) -> Option<String> {
    let listed = selected.tools.tools().len();
    if selected.omitted == 0 || listed == 0 {
        return None;
    }
    let (omitted, all) = (selected.omitted, selected.omitted + listed);
    let rest = match selected.can_find {
        true => {
            "Call find_tools with words for what you need before you say that you have no tool for it. A tool that it \
             finds is in your list from then on."
        }
        false => {
            "If none of the listed tools fits, say that a suitable tool may exist but is not in your list."
        }
    };
    Some(format!("[Your list has {listed} of your {all} tools. {omitted} more tools exist. {rest}]"))
}

/// Merges options. The caller's override the agent's.
pub(super) fn merge_options(agents: &ModelOptions, callers: &ModelOptions) -> ModelOptions {
    let mut options = agents.clone();
    let ModelOptions {
        max_output_tokens,
        temperature,
        top_p,
        stop,
        seed,
        reasoning,
        parallel_tool_calls,
        extra,
    } = callers.clone();
    options.max_output_tokens = max_output_tokens.or(options.max_output_tokens);
    options.temperature = temperature.or(options.temperature);
    options.top_p = top_p.or(options.top_p);
    if !stop.is_empty() {
        options.stop = stop;
    }
    options.seed = seed.or(options.seed);
    options.reasoning = reasoning.or(options.reasoning);
    options.parallel_tool_calls = parallel_tool_calls.or(options.parallel_tool_calls);
    options.extra.extend(extra);
    options
}

/// Returns the approximate size of tools in a request, in bytes.
pub(super) fn tools_bytes(tools: &ToolSet) -> usize {
    let bytes = |tool: &Arc<ToolDefinition>| {
        let parameters = tool.parameters.as_ref().map_or(0, |schema| schema.get().len());
        tool.name.len() + tool.description.len() + parameters
    };
    tools.tools().iter().map(bytes).sum()
}

/// Replaces each image with a text, for a model that can't read images.
pub(super) fn replace_images(messages: &mut [ModelMessage]) {
    let words = |data: &str, mime_type: &str| {
        let media_type = media_type_of(data, mime_type);
        format!("[Image ({}) omitted: this model does not accept images]", describe_picture(media_type, data))
    };
    for part in messages.iter_mut().flat_map(|message| &mut message.parts) {
        match part {
            MessagePart::Image { data, mime_type } => *part = MessagePart::text(words(data, mime_type)),
            MessagePart::ToolResult(result) => {
                let Outcome::Success(output) = &*result.outcome else { continue };
                if !output.content.iter().any(|it| matches!(it, ContentPart::Image { .. })) {
                    continue;
                }
                let mut output = output.clone();
                for content in &mut output.content {
                    if let ContentPart::Image { data, mime_type } = content {
                        *content = ContentPart::text(words(data, mime_type));
                    }
                }
                // Beside a structured value, a model reads no texts.
                if let Some(value) = output.structured.take() {
                    output.content.insert(0, ContentPart::text(value.get()));
                }
                result.outcome = Arc::new(Outcome::Success(output));
            }
            _ => {}
        }
    }
}

/// Formats a request as one JSON object per message, whose `content` is a string.
pub(super) fn debug_messages(request: &ModelRequest) -> Vec<RawJson> {
    let system = (!request.system.is_empty()).then(|| json!({"role": "system", "content": request.system}));
    let messages = request.messages.iter().flat_map(debug_message);
    system.into_iter().chain(messages).map(|message| RawJson::from(&message)).collect()
}

fn debug_message(message: &ModelMessage) -> Vec<Value> {
    let role = match message.role {
        MessageRole::User => "user",
        MessageRole::Assistant => "assistant",
        MessageRole::Tool => return message.parts.iter().filter_map(debug_result).collect(),
    };
    let (mut words, mut calls) = (Vec::new(), Vec::new());
    for part in &message.parts {
        match part {
            MessagePart::Text { text, .. } => words.push(text.clone()),
            MessagePart::Image { data, mime_type } => {
                words.push(format!("[picture: {mime_type}, {} bytes of base64]", data.len()));
            }
            MessagePart::ToolCall(call) => {
                calls.push(json!({"id": call.id, "name": call.name, "arguments": call.arguments}));
            }
            MessagePart::Thinking { .. } | MessagePart::ToolResult(_) => {}
        }
    }
    let mut shown = json!({"role": role, "content": words.join("\n")});
    if let (false, Some(fields)) = (calls.is_empty(), shown.as_object_mut()) {
        fields.insert("tool_calls".to_owned(), Value::Array(calls));
    }
    vec![shown]
}

fn debug_result(part: &MessagePart) -> Option<Value> {
    let MessagePart::ToolResult(result) = part else { return None };
    let content = serde_json::to_string(&ResultEnvelope(&result.outcome)).unwrap_or_default();
    Some(json!({"role": "tool", "tool_call_id": result.call_id, "name": result.name, "content": content}))
}

#[cfg(test)]
mod tests {
    use toolway_models::{ToolCall, ToolChoice, ToolResult};
    use toolway_types::{CallId, ToolOutput};

    use super::*;

    #[test]
    fn the_caller_speaks_after_the_agent_and_its_options_count() {
        assert_eq!(
            system_prompt(" Be brief. ", &["".to_owned(), "Speak French.".to_owned()], Some("[More.]")),
            "Be brief.\n\nSpeak French.\n\n[More.]"
        );
        assert_eq!(system_prompt("", &[], None), "");
        let agents = ModelOptions {
            temperature: Some(0.2),
            max_output_tokens: Some(10),
            stop: vec!["a".to_owned()],
            ..ModelOptions::default()
        };
        let callers = ModelOptions { temperature: Some(0.9), seed: Some(7), ..ModelOptions::default() };
        let both = merge_options(&agents, &callers);
        assert_eq!((both.temperature, both.max_output_tokens, both.seed), (Some(0.9), Some(10), Some(7)));
        assert_eq!(both.stop, ["a"]);
    }

    #[test]
    fn a_request_is_shown_as_messages_whose_content_is_a_string() {
        let id = CallId::new();
        let call = ToolCall {
            id,
            name: "scan".to_owned(),
            arguments: r#"{"a":1}"#.to_owned(),
            is_cut: false,
            opaque: None,
        };
        let outcome = Arc::new(Outcome::Success(ToolOutput::text("done")));
        let result = ToolResult::new(id, "scan".to_owned(), outcome);
        let picture = MessagePart::Image { data: "AAAA".to_owned(), mime_type: "image/png".to_owned() };
        let request = ModelRequest {
            model: "m".into(),
            system: "Be brief.".to_owned(),
            messages: vec![
                ModelMessage { role: MessageRole::User, parts: vec![MessagePart::text("Look:"), picture] },
                ModelMessage {
                    role: MessageRole::Assistant,
                    parts: vec![MessagePart::text("I look."), MessagePart::ToolCall(call)],
                },
                ModelMessage { role: MessageRole::Tool, parts: vec![MessagePart::ToolResult(result)] },
            ],
            tools: Arc::default(),
            tool_choice: ToolChoice::Auto,
            output: None,
            options: ModelOptions::default(),
        };
        let shown: Vec<Value> = debug_messages(&request).iter().map(RawJson::to_value).collect();
        assert_eq!(
            shown,
            [
                json!({"role": "system", "content": "Be brief."}),
                json!({"role": "user", "content": "Look:\n[picture: image/png, 4 bytes of base64]"}),
                json!({"role": "assistant", "content": "I look.",
                    "tool_calls": [{"id": id.to_string(), "name": "scan", "arguments": r#"{"a":1}"#}]}),
                json!({"role": "tool", "tool_call_id": id.to_string(), "name": "scan",
                    "content": r#"{"status":"success","result":"done"}"#}),
            ]
        );
    }

    #[test]
    fn pictures_are_told_in_words_where_the_model_sees_none() {
        let output = ToolOutput::new(
            vec![
                ContentPart::text("Here:"),
                ContentPart::Image { data: "AAAA".to_owned(), mime_type: "image/png".to_owned() },
            ],
            None,
        );
        let outcome = Arc::new(Outcome::Success(output));
        let result = ToolResult::new(CallId::new(), "scan".to_owned(), Arc::clone(&outcome));
        let picture = MessagePart::Image { data: "AAAA".to_owned(), mime_type: "image/gif".to_owned() };
        let mut messages = vec![
            ModelMessage { role: MessageRole::User, parts: vec![MessagePart::text("Look:"), picture] },
            ModelMessage { role: MessageRole::Tool, parts: vec![MessagePart::ToolResult(result)] },
        ];
        replace_images(&mut messages);
        assert_eq!(
            messages[0].text(),
            "Look:[Image (image/gif, 3 bytes) omitted: this model does not accept images]"
        );
        let MessagePart::ToolResult(result) = &messages[1].parts[0] else { panic!() };
        let Outcome::Success(told) = &*result.outcome else { panic!() };
        assert_eq!(
            told.joined_text(),
            "Here:\n[Image (image/png, 3 bytes) omitted: this model does not accept images]"
        );
        assert_ne!(*outcome, *result.outcome, "what is kept stays as it was");
    }
}
