//! Conversations: every kind of part, and whatever else makes a request hard to write.

use std::sync::Arc;

use serde_json::json;
use toolway_models::{
    MessagePart, MessageRole, ModelMessage, ModelOptions, ModelRequest, OpaqueState, OutputSchema,
    ProviderKind, ReasoningEffort, ToolCall, ToolChoice, ToolResult, ToolSet,
};
use toolway_types::{CallId, Code, ContentPart, Outcome, RawJson, ToolError, ToolOutput};

use super::models::NAME;

/// A picture of one pixel.
pub const PNG: &str =
    "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg==";

/// Starts of pictures in other formats.
pub const JPEG: &str = "/9j/4AAQSkZJRgAB";
pub const GIF: &str = "R0lGODlhAQABAIAA";
const WEBP: &str = "UklGRhAAAABXRUJQ";
const TIFF: &str = "SUkqAAgAAAAAAAAA";
const HEIC: &str = "AAAAGGZ0eXBoZWlj";

/// The conversations by name, as requests to a model of a provider of this kind, without tools. Their calls are of
/// `camera` and `weather`, and of tools that nobody offers.
pub fn all(kind: ProviderKind, model: &str) -> Vec<(&'static str, ModelRequest)> {
    let talk = ConversationCorpus { kind, model };
    let mut all = words();
    all.extend(pictures());
    all.extend(talk.calls());
    all.extend(talk.broken_calls());
    all.extend(talk.thinking());
    all.extend(results());
    let all = all.into_iter().map(|(name, messages)| (name, request_for(model, "Be brief.", messages)));
    all.chain(instructions(model)).chain(talk.choices()).chain(options(kind, model)).collect()
}

/// The conversation of this name.
pub fn get(kind: ProviderKind, model: &str, name: &str) -> ModelRequest {
    let found = all(kind, model).into_iter().find(|(of, _)| *of == name);
    found.unwrap_or_else(|| panic!("no conversation {name}")).1
}

type NamedConversations = Vec<(&'static str, Vec<ModelMessage>)>;

fn request_for(model: &str, system: &str, messages: Vec<ModelMessage>) -> ModelRequest {
    ModelRequest {
        model: model.into(),
        system: system.to_owned(),
        messages,
        tools: Arc::new(ToolSet::default()),
        tool_choice: ToolChoice::Auto,
        output: None,
        options: ModelOptions::default(),
    }
}

fn user(text: &str) -> ModelMessage {
    ModelMessage::user(text)
}

fn assistant_text(text: &str) -> ModelMessage {
    ModelMessage::assistant(text)
}

fn assistant_message(parts: Vec<MessagePart>) -> ModelMessage {
    ModelMessage { role: MessageRole::Assistant, parts }
}

fn user_message(parts: Vec<MessagePart>) -> ModelMessage {
    ModelMessage { role: MessageRole::User, parts }
}

fn tool_message(parts: Vec<MessagePart>) -> ModelMessage {
    ModelMessage { role: MessageRole::Tool, parts }
}

/// The id of the n-th call.
pub fn id(n: u8) -> CallId {
    format!("01890a5d-ac96-774b-bcce-b302099a80{n:02x}").parse().unwrap()
}

fn image(data: &str, mime_type: &str) -> MessagePart {
    MessagePart::Image { data: data.to_owned(), mime_type: mime_type.to_owned() }
}

fn call(n: u8, name: &str, arguments: &str) -> ToolCall {
    let (name, arguments) = (name.to_owned(), arguments.to_owned());
    ToolCall { id: id(n), name, arguments, is_cut: false, opaque: None }
}

fn result(n: u8, name: &str, outcome: Outcome) -> MessagePart {
    MessagePart::ToolResult(ToolResult::new(id(n), name.to_owned(), Arc::new(outcome)))
}

fn text_outcome(text: &str) -> Outcome {
    Outcome::Success(ToolOutput::text(text))
}

fn structured_outcome(structured: &str) -> Outcome {
    Outcome::Success(ToolOutput::structured(RawJson::parse(structured).unwrap()))
}

fn content_outcome(parts: Vec<ContentPart>) -> Outcome {
    Outcome::Success(ToolOutput::new(parts, None))
}

fn error_outcome(code: Code, message: &str) -> Outcome {
    Outcome::Error(ToolError::new(code, message).with_hint("Try something else."))
}

fn image_content(data: &str, mime_type: &str) -> ContentPart {
    ContentPart::Image { data: data.to_owned(), mime_type: mime_type.to_owned() }
}

fn words() -> NamedConversations {
    vec![
        ("one_question", vec![user("What is the weather?")]),
        (
            "several_turns",
            vec![
                user("Hi"),
                assistant_text("Hello."),
                user("How are you?"),
                assistant_text("Well."),
                user("Fine."),
            ],
        ),
        (
            "users_in_a_row",
            vec![user("One."), user("Two."), assistant_text("Three."), user("Four."), user("Five.")],
        ),
        (
            "assistants_in_a_row",
            vec![user("Count."), assistant_text("One."), assistant_text("Two."), user("Go on.")],
        ),
        ("assistant_first", vec![assistant_text("Welcome."), user("Thanks.")]),
        ("assistant_last", vec![user("Complete this: one, two,"), assistant_text("three, ")]),
        (
            "empty_texts",
            vec![
                user_message(vec![MessagePart::text(""), MessagePart::text("Hi"), MessagePart::text("")]),
                assistant_message(vec![MessagePart::text("")]),
                user("Are you there?"),
            ],
        ),
        ("white_space", vec![user("Hi"), assistant_text(" \n"), user("\n\n"), user("Well?")]),
        (
            "odd_text",
            vec![
                user("\"quotes\" \\ \u{0} \u{1b}[31m \u{2028} \u{feff} \u{202e}lmx 👩‍👩‍👧 日本語"),
                assistant_text("\t"),
                user("</system>"),
            ],
        ),
        ("long_text", vec![user(&"A long sentence that goes on. ".repeat(200))]),
        (
            "several_texts",
            vec![
                user_message(vec![MessagePart::text("First."), MessagePart::text("Second.")]),
                assistant_message(vec![MessagePart::text("a"), MessagePart::text("b")]),
                user("ok"),
            ],
        ),
    ]
}

fn instructions(model: &str) -> Vec<(&'static str, ModelRequest)> {
    let ask = |system: &str| request_for(model, system, vec![user("Hi")]);
    vec![
        ("no_instructions", ask("")),
        ("blank_instructions", ask(" \n")),
        ("long_instructions", ask(&"Always be kind. ".repeat(300))),
    ]
}

fn pictures() -> NamedConversations {
    vec![
        ("picture", vec![user_message(vec![image(PNG, "image/png")])]),
        (
            "pictures_and_text",
            vec![user_message(vec![
                MessagePart::text("Left:"),
                image(PNG, "image/png"),
                MessagePart::text("Right:"),
                image(WEBP, "image/webp"),
            ])],
        ),
        (
            "picture_of_another_kind",
            vec![user_message(vec![MessagePart::text("Look."), image(TIFF, "image/tiff")])],
        ),
        (
            "picture_of_a_phone",
            vec![user_message(vec![MessagePart::text("Look."), image(HEIC, "image/heic")])],
        ),
        (
            "picture_that_is_none",
            vec![user_message(vec![MessagePart::text("Look."), image("not base64!", "image/png")])],
        ),
        (
            "picture_of_the_model",
            vec![
                user("Draw."),
                assistant_message(vec![MessagePart::text("Here:"), image(PNG, "image/png")]),
                user("Nice."),
            ],
        ),
    ]
}

/// Calls and thinking as this kind of provider gives them.
struct ConversationCorpus<'a> {
    kind: ProviderKind,
    model: &'a str,
}

impl ConversationCorpus<'_> {
    fn opaque_state(&self, data: serde_json::Value) -> Option<OpaqueState> {
        Some(OpaqueState { provider: NAME.into(), data: RawJson::from(&data) })
    }

    /// A call with an id of the provider's own.
    fn provider_call(&self, n: u8, name: &str, arguments: &str) -> ToolCall {
        let data = match self.kind {
            ProviderKind::Gemini if n.is_multiple_of(2) => {
                json!({"model": self.model, "signature": "c2lnbmVk"})
            }
            ProviderKind::Gemini => {
                json!({"model": self.model, "id": format!("fc-{n}"), "signature": "c2lnbmVk"})
            }
            ProviderKind::Anthropic => json!({"model": self.model, "id": format!("toolu_{n:02}")}),
            _ => json!({"id": format!("call_{n}")}),
        };
        ToolCall { opaque: self.opaque_state(data), ..call(n, name, arguments) }
    }

    /// A thinking part as it is sent back.
    fn thinking_part(&self, text: &str, model: &str) -> MessagePart {
        let data = match self.kind {
            ProviderKind::Openai | ProviderKind::Compatible => {
                json!({"reasoning_details": [{"type": "reasoning.text", "text": text, "signature": "c2ln", "index": 0}]})
            }
            ProviderKind::OpenaiResponses => json!({
                "model": model,
                "item": {"type": "reasoning", "id": "rs_1", "summary": [{"type": "summary_text", "text": text}], "encrypted_content": "gAAA"}
            }),
            ProviderKind::Anthropic | ProviderKind::Gemini => {
                json!({"model": model, "signature": "c2lnbmVk"})
            }
        };
        MessagePart::Thinking { text: text.to_owned(), opaque: self.opaque_state(data) }
    }

    fn calls(&self) -> NamedConversations {
        let weather =
            |n| MessagePart::ToolCall(self.provider_call(n, "weather", r#"{"place": "Köln", "days": 2}"#));
        let camera = |n| MessagePart::ToolCall(self.provider_call(n, "camera", "{}"));
        let sunny = |n| result(n, "weather", text_outcome("18 °C, sunny"));
        let taken = |n| result(n, "camera", text_outcome("taken"));
        vec![
            (
                "one_call",
                vec![user("Weather?"), assistant_message(vec![weather(1)]), tool_message(vec![sunny(1)])],
            ),
            (
                "one_call_and_an_answer",
                vec![
                    user("Weather?"),
                    assistant_message(vec![weather(1)]),
                    tool_message(vec![sunny(1)]),
                    assistant_text("Sunny."),
                    user("Thanks."),
                ],
            ),
            (
                "calls_side_by_side",
                vec![
                    user("Both."),
                    assistant_message(vec![weather(1), camera(2), weather(3)]),
                    tool_message(vec![sunny(1), taken(2), sunny(3)]),
                ],
            ),
            (
                "results_in_another_order",
                vec![
                    user("Both."),
                    assistant_message(vec![weather(1), camera(2)]),
                    tool_message(vec![taken(2), sunny(1)]),
                ],
            ),
            (
                "results_in_several_messages",
                vec![
                    user("Both."),
                    assistant_message(vec![weather(1), camera(2)]),
                    tool_message(vec![sunny(1)]),
                    tool_message(vec![taken(2)]),
                ],
            ),
            (
                "calls_one_after_the_other",
                vec![
                    user("All."),
                    assistant_message(vec![MessagePart::text("First the weather."), weather(1)]),
                    tool_message(vec![sunny(1)]),
                    assistant_message(vec![camera(2)]),
                    tool_message(vec![taken(2)]),
                    assistant_message(vec![weather(3), camera(4)]),
                    tool_message(vec![sunny(3), taken(4)]),
                ],
            ),
            (
                "text_around_calls",
                vec![
                    user("Both."),
                    assistant_message(vec![
                        MessagePart::text("I look."),
                        weather(1),
                        MessagePart::text("And a picture."),
                        camera(2),
                        MessagePart::text("So."),
                    ]),
                    tool_message(vec![sunny(1), taken(2)]),
                ],
            ),
            (
                "calls_in_earlier_turns",
                vec![
                    user("Weather?"),
                    assistant_message(vec![weather(1)]),
                    tool_message(vec![sunny(1)]),
                    assistant_text("Sunny."),
                    user("A picture."),
                    assistant_message(vec![camera(2)]),
                    tool_message(vec![taken(2)]),
                ],
            ),
            (
                "words_behind_results",
                vec![
                    user("Weather?"),
                    assistant_message(vec![weather(1)]),
                    tool_message(vec![sunny(1), MessagePart::text("It took long.")]),
                    user("Never mind."),
                    user("What else?"),
                ],
            ),
            (
                "arguments_of_all_sorts",
                vec![
                    user("Go."),
                    assistant_message(vec![
                        MessagePart::ToolCall(call(
                            1,
                            "weather",
                            r#"{"place":"a","big":12345678901234567890123,"f":1.0,"e":1e400,"place":"b"}"#,
                        )),
                        MessagePart::ToolCall(call(
                            2,
                            "weather",
                            "{\"place\" :\t\"\\u00e9\\ud83d\\ude00\" }\n",
                        )),
                        MessagePart::ToolCall(call(3, "camera", "")),
                    ]),
                    tool_message(vec![sunny(1), sunny(2), taken(3)]),
                ],
            ),
            (
                "ids_of_another_provider",
                vec![
                    user("Go."),
                    assistant_message(vec![MessagePart::ToolCall(ToolCall {
                        opaque: Some(OpaqueState {
                            provider: "other".into(),
                            data: RawJson::from(&json!({"id": "x:1", "signature": "s"})),
                        }),
                        ..call(1, "camera", "{}")
                    })]),
                    tool_message(vec![taken(1)]),
                ],
            ),
            (
                "ids_given_twice",
                vec![
                    user("Go."),
                    assistant_message(vec![camera(1)]),
                    tool_message(vec![taken(1)]),
                    assistant_message(vec![MessagePart::ToolCall(ToolCall {
                        id: id(9),
                        ..self.provider_call(1, "camera", "{}")
                    })]),
                    tool_message(vec![taken(9)]),
                ],
            ),
            (
                "odd_ids",
                vec![
                    user("Go."),
                    assistant_message(vec![MessagePart::ToolCall(ToolCall {
                        opaque: self.opaque_state(json!({"model": self.model, "id": "functions.camera:0"})),
                        ..call(1, "camera", "{}")
                    })]),
                    tool_message(vec![taken(1)]),
                ],
            ),
            (
                "tools_that_are_gone",
                vec![
                    user("Go."),
                    assistant_message(vec![
                        MessagePart::ToolCall(call(1, "notes.search", "{}")),
                        MessagePart::ToolCall(call(2, "日本語", "{}")),
                    ]),
                    tool_message(vec![
                        result(1, "notes.search", text_outcome("none")),
                        result(2, "日本語", text_outcome("none")),
                    ]),
                ],
            ),
        ]
    }

    fn broken_calls(&self) -> NamedConversations {
        let broken = |name, arguments: &str, is_cut| {
            let call = ToolCall { is_cut, ..self.provider_call(1, "weather", arguments) };
            let refused = error_outcome(Code::InvalidArguments, "the arguments could not be read");
            (
                name,
                vec![
                    user("Go."),
                    assistant_message(vec![MessagePart::ToolCall(call)]),
                    tool_message(vec![result(1, "weather", refused)]),
                ],
            )
        };
        let weather = MessagePart::ToolCall(self.provider_call(1, "weather", r#"{"place":"x"}"#));
        vec![
            broken("cut_call", r#"{"place": "Kö"#, true),
            broken("cut_before_the_arguments", "", true),
            broken("malformed_arguments", "{'place': Köln}", false),
            broken("arguments_in_a_list", r#"["Köln"]"#, false),
            broken("arguments_in_a_text", r#""{\"place\":\"Köln\"}""#, false),
            broken("arguments_of_null", "null", false),
            broken("arguments_of_two_objects", "{}{}", false),
            (
                "failed_call",
                vec![
                    user("Go."),
                    assistant_message(vec![weather.clone()]),
                    tool_message(vec![result(
                        1,
                        "weather",
                        error_outcome(Code::Timeout, "it took \"too\" long"),
                    )]),
                ],
            ),
            (
                "aborted_turn",
                vec![
                    user("Go."),
                    assistant_message(vec![MessagePart::text("I am going to"), weather]),
                    tool_message(vec![result(
                        1,
                        "weather",
                        error_outcome(Code::Cancelled, "the turn was ended"),
                    )]),
                    user("Something else, please."),
                ],
            ),
        ]
    }

    fn thinking(&self) -> NamedConversations {
        let weather = |n| MessagePart::ToolCall(self.provider_call(n, "weather", r#"{"place":"x"}"#));
        let sunny = |n| result(n, "weather", text_outcome("sunny"));
        let around = |part: MessagePart| {
            vec![user("Go."), assistant_message(vec![part, weather(1)]), tool_message(vec![sunny(1)])]
        };
        let redacted = self.opaque_state(json!({"model": self.model, "redacted": "RW5jcnlwdGVk"}));
        let foreign =
            Some(OpaqueState { provider: "other".into(), data: RawJson::from(&json!({"signature": "x"})) });
        let signed = |text: &str| MessagePart::Text {
            text: text.to_owned(),
            opaque: self.opaque_state(match self.kind {
                ProviderKind::OpenaiResponses => json!({"phase": "commentary"}),
                _ => json!({"model": self.model, "signature": "c2lnbmVk"}),
            }),
        };
        vec![
            ("thinking", around(self.thinking_part("Hm.", self.model))),
            ("thinking_without_a_word", around(self.thinking_part("", self.model))),
            (
                "thinking_that_nobody_may_read",
                around(MessagePart::Thinking { text: String::new(), opaque: redacted }),
            ),
            ("thinking_of_another_model", around(self.thinking_part("Hm.", "another"))),
            (
                "thinking_of_another_provider",
                around(MessagePart::Thinking { text: "Hm.".to_owned(), opaque: foreign }),
            ),
            (
                "thinking_without_a_signature",
                around(MessagePart::Thinking { text: "Hm.".to_owned(), opaque: None }),
            ),
            (
                "thinking_in_each_step",
                vec![
                    user("Go."),
                    assistant_message(vec![
                        self.thinking_part("First.", self.model),
                        MessagePart::text("One moment."),
                        weather(1),
                    ]),
                    tool_message(vec![sunny(1)]),
                    assistant_message(vec![self.thinking_part("Then.", self.model), weather(2), weather(3)]),
                    tool_message(vec![sunny(2), sunny(3)]),
                    assistant_message(vec![
                        self.thinking_part("Done.", self.model),
                        MessagePart::text("Sunny."),
                    ]),
                    user("Thanks."),
                ],
            ),
            (
                "nothing_but_thinking",
                vec![
                    user("Go."),
                    assistant_message(vec![self.thinking_part("Hm.", self.model)]),
                    user("Well?"),
                ],
            ),
            (
                "signed_texts",
                vec![
                    user("Go."),
                    assistant_message(vec![signed("One. "), signed("Two."), signed("")]),
                    user("Well?"),
                ],
            ),
        ]
    }

    fn choices(&self) -> Vec<(&'static str, ModelRequest)> {
        let ask = || request_for(self.model, "Be brief.", vec![user("A picture of the weather.")]);
        let choose = |name, tool_choice: ToolChoice| (name, ModelRequest { tool_choice, ..ask() });
        let think = |name, effort| {
            let options = ModelOptions { reasoning: Some(effort), ..ModelOptions::default() };
            (name, ModelRequest { options, ..ask() })
        };
        let in_turn = |name: &'static str, of: &str| {
            let all = self.calls().into_iter().chain(self.thinking());
            let messages = all.into_iter().find(|(this, _)| *this == of).unwrap().1;
            let options =
                ModelOptions { reasoning: Some(ReasoningEffort::Medium), ..ModelOptions::default() };
            (name, ModelRequest { options, ..request_for(self.model, "Be brief.", messages) })
        };
        vec![
            choose("no_call", ToolChoice::None),
            choose("some_call", ToolChoice::Required),
            choose("this_call", ToolChoice::Tool("camera".to_owned())),
            think("no_effort", ReasoningEffort::None),
            think("low_effort", ReasoningEffort::Low),
            think("medium_effort", ReasoningEffort::Medium),
            think("high_effort", ReasoningEffort::High),
            in_turn("effort_in_a_turn", "thinking_in_each_step"),
            in_turn("effort_in_a_turn_without_thinking", "calls_side_by_side"),
            (
                "effort_and_this_call",
                ModelRequest {
                    tool_choice: ToolChoice::Tool("camera".to_owned()),
                    options: ModelOptions {
                        reasoning: Some(ReasoningEffort::High),
                        ..ModelOptions::default()
                    },
                    ..ask()
                },
            ),
        ]
    }
}

fn results() -> NamedConversations {
    let shown = |name, outcome: Outcome| {
        let call = MessagePart::ToolCall(call(1, "camera", "{}"));
        (
            name,
            vec![
                user("Go."),
                assistant_message(vec![call]),
                tool_message(vec![result(1, "camera", outcome)]),
            ],
        )
    };
    let sound = ContentPart::Audio { data: "UklGRg==".to_owned(), mime_type: "audio/wav".to_owned() };
    let file = json!({"uri": "file:///a.bin", "mimeType": "application/octet-stream", "blob": "AAEC"});
    let link = ContentPart::ResourceLink {
        uri: "https://example.org/a".to_owned(),
        name: "a".to_owned(),
        description: None,
        mime_type: Some("text/html".to_owned()),
    };
    vec![
        shown(
            "result_with_a_picture",
            content_outcome(vec![ContentPart::text("Taken."), image_content(PNG, "image/png")]),
        ),
        shown(
            "result_of_pictures",
            content_outcome(vec![
                image_content(JPEG, "image/jpeg"),
                image_content(GIF, "image/gif"),
                image_content("?", "image/png"),
            ]),
        ),
        shown("result_with_sound", content_outcome(vec![sound])),
        shown("result_with_a_file", content_outcome(vec![ContentPart::Resource { resource: file }, link])),
        shown("result_of_nothing", content_outcome(Vec::new())),
        shown("result_of_an_object", structured_outcome(r##"{"z": 1.0, "a": [null, {"$ref": "#/x"}]}"##)),
        shown("result_of_a_list", structured_outcome(r#"[1, "two", {"three": 3}]"#)),
        shown("result_of_a_number", structured_outcome("12345678901234567890123")),
        shown("result_of_odd_text", text_outcome("\u{0}\u{1b}[31m\"}],\"role\":\"system\"")),
        shown(
            "result_of_text_and_an_object",
            Outcome::Success(ToolOutput::new(
                vec![ContentPart::text("Eighteen."), image_content(PNG, "image/png")],
                Some(RawJson::parse(r#"{"degrees":18}"#).unwrap()),
            )),
        ),
        shown("long_result", text_outcome(&"line\n".repeat(500))),
    ]
}

/// Requests with options.
fn options(kind: ProviderKind, model: &str) -> Vec<(&'static str, ModelRequest)> {
    let ask = || request_for(model, "Be brief.", vec![user("A picture of the weather.")]);
    let with = |name, options: ModelOptions| (name, ModelRequest { options, ..ask() });
    let form = |schema: &str| Some(OutputSchema::new("report", RawJson::parse(schema).unwrap()));
    let strict = r#"{"type":"object","properties":{"zulu":{"type":"string"},"alpha":{"type":"integer"}},"required":["zulu","alpha"],"additionalProperties":false}"#;
    let loose = r#"{"type":"object","properties":{"tags":{"type":"object","additionalProperties":{"type":"string"}}},"anyOf":[{"required":["tags"]},{"minProperties":2}]}"#;
    let extra = match kind {
        ProviderKind::Gemini => {
            json!({"generationConfig": {"topK": 20}, "cachedContent": "cachedContents/1"})
        }
        _ => json!({"service_tier": "auto"}),
    };
    let extra = extra.as_object().unwrap().clone();
    let everything = ModelOptions {
        max_output_tokens: Some(6_000),
        temperature: Some(0.5),
        top_p: Some(0.9),
        stop: vec!["END".to_owned(), " ".to_owned()],
        seed: Some(7),
        reasoning: Some(ReasoningEffort::Low),
        parallel_tool_calls: Some(false),
        extra: extra.clone(),
    };
    vec![
        with(
            "no_calls_side_by_side",
            ModelOptions { parallel_tool_calls: Some(false), ..ModelOptions::default() },
        ),
        with(
            "with_calls_side_by_side",
            ModelOptions { parallel_tool_calls: Some(true), ..ModelOptions::default() },
        ),
        with("temperature", ModelOptions { temperature: Some(1.5), ..ModelOptions::default() }),
        with(
            "likely_words",
            ModelOptions { temperature: Some(0.0), top_p: Some(0.5), ..ModelOptions::default() },
        ),
        with(
            "stops",
            ModelOptions {
                stop: vec!["a".to_owned(), String::new(), "b".to_owned()],
                ..ModelOptions::default()
            },
        ),
        with("seed", ModelOptions { seed: Some(i64::MAX), ..ModelOptions::default() }),
        with("most_tokens", ModelOptions { max_output_tokens: Some(500), ..ModelOptions::default() }),
        with("added_by_the_owner", ModelOptions { extra, ..ModelOptions::default() }),
        with("all_options", everything.clone()),
        ("form_of_the_answer", ModelRequest { output: form(strict), ..ask() }),
        ("loose_form_of_the_answer", ModelRequest { output: form(loose), ..ask() }),
        ("form_and_no_call", ModelRequest { output: form(strict), tool_choice: ToolChoice::None, ..ask() }),
        ("form_and_options", ModelRequest { output: form(strict), options: everything, ..ask() }),
    ]
}
