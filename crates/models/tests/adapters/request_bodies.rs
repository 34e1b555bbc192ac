//! Rules for the body of every request, whatever the conversation and its tools.

use std::collections::{BTreeMap, HashSet};
use std::sync::Arc;

use serde_json::Value;
use toolway_models::{
    MessageRole, ModelErrorKind, ModelMessage, ModelRequest, ProviderKind, ToolChoice, ToolSet,
};
use toolway_types::RawJson;

use crate::corpus::{conversations, models, schemas};

/// Sets of tools that conversations are sent with.
const TOOL_SETS: [&str; 3] = ["required", "odd_tool_names", "no_tools"];

/// The bodies of a kind: what they are of, and the body.
pub(crate) fn bodies(kind: ProviderKind) -> Vec<(String, ModelRequest, Value)> {
    let provider = models::provider_of(kind);
    let sets = schemas::tool_sets(provider.limits().max_tools);
    let mut bodies = Vec::new();
    for model in models::ids(kind) {
        for (conversation, asked) in conversations::all(kind, model) {
            for (set, tools) in sets.iter().filter(|(set, _)| TOOL_SETS.contains(set)) {
                let request = ModelRequest { tools: Arc::clone(tools), ..asked.clone() };
                let what = format!("{kind} {model} {conversation} {set}");
                let body = provider.request_body(&request);
                if matches!(&request.tool_choice, ToolChoice::Tool(name) if tools.get(name).is_none()) {
                    if let ProviderKind::Anthropic | ProviderKind::Gemini = kind {
                        assert_eq!(body.unwrap_err().kind, ModelErrorKind::InvalidRequest, "{what}");
                    }
                    continue;
                }
                let body = body.unwrap_or_else(|error| panic!("{what}: {error}"));
                bodies.push((what, request, body.to().unwrap()));
            }
        }
    }
    bodies
}

/// The array at a name; empty where there is none.
pub(crate) fn list<'a>(value: &'a Value, name: &str) -> &'a [Value] {
    value.get(name).and_then(Value::as_array).map_or(&[], Vec::as_slice)
}

/// The definitions of tools in a body, with their names.
fn definitions(kind: ProviderKind, body: &Value) -> Vec<(&str, &Value)> {
    let tools: Vec<&Value> = match kind {
        ProviderKind::Gemini => {
            list(body, "tools").iter().flat_map(|of| list(of, "functionDeclarations")).collect()
        }
        ProviderKind::Openai | ProviderKind::Compatible => {
            list(body, "tools").iter().map(|of| &of["function"]).collect()
        }
        _ => list(body, "tools").iter().collect(),
    };
    tools.into_iter().map(|of| (of["name"].as_str().unwrap(), of)).collect()
}

#[test]
fn every_sent_tool_name_is_valid_for_the_api_m4() {
    for kind in ProviderKind::ALL {
        for (what, _, body) in bodies(kind) {
            let mut names: Vec<_> = definitions(kind, &body).into_iter().map(|(name, _)| name).collect();
            let text = body.to_string();
            for name in &names {
                let first = name.chars().next().unwrap();
                assert!(first.is_ascii_alphabetic() || first == '_', "{what}: {name}");
                assert!(name.len() <= 64, "{what}: {name}");
                assert!(
                    name.chars().all(|c| c.is_ascii_alphanumeric() || c == '_' || c == '-'),
                    "{what}: {name}"
                );
            }
            // Nor does one stand anywhere else, such as in a call of a tool that is gone.
            for odd in ["\"name\":\"notes.search\"", "\"name\":\"日本語\"", "\"name\":\"take a photo\""] {
                assert!(!text.contains(odd), "{what}: {odd}");
            }
            let count = names.len();
            names.sort_unstable();
            names.dedup();
            assert_eq!(names.len(), count, "{what}: two of one name");
        }
    }
}

#[test]
fn a_request_with_more_tools_than_the_api_accepts_is_refused_m6() {
    for kind in [ProviderKind::Anthropic, ProviderKind::Gemini] {
        let provider = models::provider_of(kind);
        let most = provider.limits().max_tools;
        let asked = |count: usize| {
            let tools = (0..count).map(|at| schemas::tool(&format!("tool_{at}"), "null")).collect();
            let model = models::ids(kind)[0];
            let tools = Arc::new(ToolSet::new(tools));
            provider.request_body(&ModelRequest { tools, ..conversations::get(kind, model, "one_question") })
        };
        assert!(asked(most).is_ok(), "{kind}");
        let error = asked(most + 1).unwrap_err();
        assert_eq!(error.kind, ModelErrorKind::InvalidRequest);
        assert!(error.to_string().contains(&format!("{} tools", most + 1)), "{error}");
        assert!(error.to_string().contains(&most.to_string()), "{error}");
        assert!(error.hint.unwrap().contains("max_tools"));
    }
}

#[test]
fn opaque_data_of_another_provider_is_not_sent_m8() {
    for kind in ProviderKind::ALL {
        for (what, _, body) in bodies(kind) {
            let text = body.to_string();
            for foreign in ["x:1", "\"signature\":\"x\"", "\"signature\":\"s\"", "\"thoughtSignature\":\"s\""]
            {
                assert!(!text.contains(foreign), "{what}: {foreign}");
            }
        }
    }
}

#[test]
fn the_same_request_gives_the_same_bytes_m14() {
    for kind in ProviderKind::ALL {
        let model = models::ids(kind)[0];
        let asked = conversations::get(kind, model, "calls_one_after_the_other");
        let (_, tools) = schemas::tool_sets(100).into_iter().find(|(name, _)| *name == "many_tools").unwrap();
        let body = |tools: Vec<_>| {
            let request = ModelRequest { tools: Arc::new(ToolSet::new(tools)), ..asked.clone() };
            models::provider_of(kind).request_body(&request).unwrap().get().to_owned()
        };
        let mut other: Vec<_> = tools.tools().to_vec();
        other.reverse();
        other.swap(3, 40);
        // As another process would make them.
        let anew = other.iter().map(|tool| {
            let parameters = tool.parameters.clone();
            Arc::new(toolway_models::ToolDefinition::new(&*tool.name, &*tool.description, parameters))
        });
        let anew = anew.collect();
        assert_eq!(body(tools.tools().to_vec()), body(other), "{kind}");
        assert_eq!(body(tools.tools().to_vec()), body(anew), "{kind}");
    }
}

/// The bytes of a body: its conversation message by message, and what stands before that, its tools and its system
/// message, by name. Without the marks of a cache, which move with the end of the conversation.
fn body_pieces(kind: ProviderKind, request: &ModelRequest) -> (Vec<String>, BTreeMap<String, String>) {
    let body = models::provider_of(kind).request_body(request).unwrap();
    let unmarked = |json: RawJson| json.get().replace(r#","cache_control":{"type":"ephemeral"}"#, "");
    let mut fields: BTreeMap<String, RawJson> = body.to().unwrap();
    let conversation = match kind {
        ProviderKind::Openai | ProviderKind::Compatible | ProviderKind::Anthropic => "messages",
        ProviderKind::OpenaiResponses => "input",
        ProviderKind::Gemini => "contents",
    };
    let messages: Vec<RawJson> = fields.remove(conversation).unwrap().to().unwrap();
    fields
        .retain(|name, _| ["tools", "system", "instructions", "systemInstruction"].contains(&name.as_str()));
    let fields = fields.into_iter().map(|(name, json)| (name, unmarked(json)));
    (messages.into_iter().map(unmarked).collect(), fields.collect())
}

/// A provider's prompt cache helps the next request only if nothing before the end changes.
#[test]
fn each_request_starts_with_the_bytes_of_the_previous_one_m14() {
    for kind in ProviderKind::ALL {
        let (_, tools) = schemas::tool_sets(100).into_iter().find(|(name, _)| *name == "required").unwrap();
        let mut seen = 0;
        for model in models::ids(kind) {
            for (conversation, asked) in conversations::all(kind, model) {
                let asked = ModelRequest { tools: Arc::clone(&tools), ..asked };
                // An answer follows what a person or a tool said last.
                let is_answered = |count: &usize| {
                    asked.messages.get(*count - 1).is_some_and(|last| last.role != MessageRole::Assistant)
                };
                for count in (1..=asked.messages.len()).filter(is_answered) {
                    let what = format!("{kind} {model} {conversation} {count}");
                    let mut shorter = asked.clone();
                    shorter.messages.truncate(count);
                    let mut longer = shorter.clone();
                    longer.messages.extend([
                        ModelMessage::assistant("It is sunny."),
                        ModelMessage::user("And tomorrow?"),
                    ]);
                    let (before, told) = body_pieces(kind, &shorter);
                    let (after, told_again) = body_pieces(kind, &longer);
                    // Gemini wants the calls of this turn signed, another's too; those of earlier turns need no such
                    // stand-in, which does the model no good.
                    let stands_in = |message: &String| message.contains("skip_thought_signature_validator");
                    if before.iter().any(stands_in) {
                        assert!(!after.iter().any(stands_in), "{what}");
                        continue;
                    }
                    assert_eq!(told, told_again, "{what}");
                    assert!(told["tools"].contains("camera"), "{what}");
                    assert!(after.len() > before.len(), "{what}");
                    assert_eq!(before[..], after[..before.len()], "{what}");
                    assert!(after.last().unwrap().contains("And tomorrow?"), "{what}");
                    seen += 1;
                }
            }
        }
        assert!(seen > 100, "{kind}: {seen}");
    }
}

#[test]
fn every_body_has_the_tools_that_can_be_said() {
    for kind in ProviderKind::ALL {
        let provider = models::provider_of(kind);
        let model = models::ids(kind)[0];
        for (set, tools) in schemas::tool_sets(provider.limits().max_tools) {
            let request =
                ModelRequest { tools: Arc::clone(&tools), ..conversations::get(kind, model, "one_question") };
            let body: Value = provider.request_body(&request).unwrap().to().unwrap();
            let sent: HashSet<_> =
                definitions(kind, &body).into_iter().map(|(name, _)| name.to_owned()).collect();
            for tool in tools.tools() {
                let expected = provider.convert_tool(tool).is_ok();
                let name = toolway_models::tool_names::wire_name(&tool.name);
                assert_eq!(sent.contains(&*name), expected, "{kind} {set} {}", tool.name);
                assert!(expected, "each of the corpus can be said to each: {kind} {set} {}", tool.name);
            }
        }
    }
}
