use super::*;
use proptest::prelude::*;

fn id(number: u8) -> CallId {
    CallId::from_bytes([number; 16])
}

fn call(number: u8) -> MessagePart {
    called(number, "{}", false)
}

fn called(number: u8, arguments: &str, is_cut: bool) -> MessagePart {
    let opaque = RawJson::parse(&format!(r#"{{"id":"p{number}","signature":"s"}}"#)).unwrap();
    MessagePart::ToolCall(ToolCall {
        id: id(number),
        name: format!("tool_{number}"),
        arguments: arguments.to_owned(),
        is_cut,
        opaque: Some(OpaqueState { provider: "p".into(), data: opaque }),
    })
}

fn result(number: u8, text: &str) -> MessagePart {
    MessagePart::ToolResult(ToolResult::new(
        id(number),
        format!("tool_{number}"),
        Arc::new(Outcome::Success(ToolOutput::text(text))),
    ))
}

fn said(role: MessageRole, parts: impl Into<Vec<MessagePart>>) -> ModelMessage {
    ModelMessage { role, parts: parts.into() }
}

fn user(text: &str) -> ModelMessage {
    ModelMessage::user(text)
}

fn assistant(parts: impl Into<Vec<MessagePart>>) -> ModelMessage {
    said(MessageRole::Assistant, parts)
}

fn tool(parts: impl Into<Vec<MessagePart>>) -> ModelMessage {
    said(MessageRole::Tool, parts)
}

fn nobody(_: &ToolCall) -> Option<Outcome> {
    None
}

/// Repairs a conversation.
#[track_caller]
fn mended(mut messages: Vec<ModelMessage>) -> (Vec<ModelMessage>, RepairSummary) {
    let done = repair(&mut messages, &nobody);
    assert!(is_whole(&messages), "{messages:#?}");
    let once = messages.clone();
    assert_eq!(repair(&mut messages, &nobody), RepairSummary::default());
    assert_eq!(messages, once);
    (messages, done)
}

fn error_of(part: &MessagePart) -> &ToolError {
    match part {
        MessagePart::ToolResult(result) => result.outcome.error().expect("an error"),
        other => panic!("no result: {other:?}"),
    }
}

#[test]
fn a_valid_conversation_is_unchanged() {
    let whole = vec![
        user("a"),
        user("b"),
        assistant([
            MessagePart::Thinking { text: "hm".to_owned(), opaque: None },
            MessagePart::text("I look"),
            call(1),
            call(2),
        ]),
        tool([result(1, "1"), result(2, "2")]),
        assistant([call(3)]),
        tool([result(3, "3")]),
        assistant([MessagePart::text("done")]),
    ];
    assert_eq!(mended(whole.clone()), (whole, RepairSummary::default()));
    assert_eq!(mended(vec![]), (vec![], RepairSummary::default()));
}

#[test]
fn a_conversation_continues_after_an_aborted_call_m9() {
    // The turn was aborted while two of three tools ran.
    let (messages, done) = mended(vec![
        user("look"),
        assistant([call(1), call(2), called(3, r#"{"a":"#, true)]),
        tool([result(2, "two")]),
        user("go on"),
    ]);
    assert_eq!((messages.len(), done.unanswered_calls, done.orphaned_results), (4, 2, 0));
    let results = &messages[2].parts;
    assert_eq!(results[1], result(2, "two"));
    let error = error_of(&results[0]);
    assert_eq!((error.code, error.dispatched), (Code::Cancelled, true));
    assert_eq!(error.message, "The call was interrupted, so its result is not known");
    let error = error_of(&results[2]);
    assert_eq!((error.code, error.dispatched), (Code::InvalidArguments, false));
    assert_eq!(messages[3], user("go on"));

    // It ended with the calls, and nothing follows.
    let (messages, done) = mended(vec![user("look"), assistant([call(1)])]);
    assert_eq!((messages.len(), done.unanswered_calls), (3, 1));
    assert_eq!(messages[2].role, MessageRole::Tool);
}

#[test]
fn calls_with_invalid_arguments_did_not_run() {
    for arguments in [r#"{"a": 1"#, "[]", "5", r#""{}""#, "null"] {
        let (messages, _) = mended(vec![assistant([called(1, arguments, false)])]);
        assert_eq!(error_of(&messages[1].parts[0]).code, Code::InvalidArguments, "{arguments}");
    }
    for arguments in ["{}", "", "  ", r#" {"a": 1} "#] {
        let (messages, _) = mended(vec![assistant([called(1, arguments, false)])]);
        assert_eq!(error_of(&messages[1].parts[0]).code, Code::Cancelled, "{arguments}");
    }
}

#[test]
fn a_known_outcome_is_used() {
    let known = |call: &ToolCall| {
        (call.id == id(2)).then(|| Outcome::Error(ToolError::new(Code::GatewayRestarted, "stopped")))
    };
    let mut messages = vec![assistant([call(1), call(2)])];
    assert_eq!(repair(&mut messages, &known).unanswered_calls, 2);
    assert_eq!(error_of(&messages[1].parts[0]).code, Code::Cancelled);
    assert_eq!(error_of(&messages[1].parts[1]).code, Code::GatewayRestarted);
}

#[test]
fn results_follow_their_calls_in_order() {
    let whole = vec![
        user("look"),
        assistant([call(1), call(2), call(3)]),
        tool([result(1, "1"), result(2, "2"), result(3, "3")]),
        user("and?"),
    ];
    for broken in [
        vec![
            user("look"),
            assistant([call(1), call(2), call(3)]),
            tool([result(2, "2"), result(3, "3"), result(1, "1")]),
            user("and?"),
        ],
        vec![
            user("look"),
            assistant([call(1), call(2), call(3)]),
            tool([result(1, "1")]),
            tool([result(3, "3"), result(2, "2")]),
            user("and?"),
        ],
        vec![
            user("look"),
            assistant([call(1), call(2), call(3)]),
            user("and?"),
            tool([result(1, "1"), result(2, "2"), result(3, "3")]),
        ],
        vec![
            user("look"),
            assistant([call(1), result(1, "1"), call(2), call(3)]),
            tool([result(2, "2")]),
            said(MessageRole::User, [result(3, "3")]),
            user("and?"),
        ],
    ] {
        let (messages, done) = mended(broken);
        assert_eq!(messages, whole);
        assert_eq!(done, RepairSummary { changed: true, ..RepairSummary::default() });
    }
}

#[test]
fn a_result_without_a_call_becomes_text() {
    let failed = MessagePart::ToolResult(ToolResult::new(
        id(9),
        "gone".to_owned(),
        Arc::new(Outcome::Error(ToolError::new(Code::Timeout, "too late").with_hint("try again"))),
    ));
    let (messages, done) = mended(vec![tool([result(1, "87"), failed]), user("go on")]);
    let head = |name: &str| format!("[A result of the tool {name}, whose call is not in this conversation]");
    let expected = vec![
        said(MessageRole::User, [MessagePart::text(head("tool_1")), MessagePart::text("87")]),
        said(
            MessageRole::User,
            [MessagePart::text(head("gone")), MessagePart::text("It failed: too late\ntry again")],
        ),
        user("go on"),
    ];
    assert_eq!((messages, done.orphaned_results), (expected, 2));
}

#[test]
fn a_different_second_result_is_kept() {
    let twice = |second: &str| vec![assistant([call(1)]), tool([result(1, "87"), result(1, second)])];
    let (messages, done) = mended(twice("87"));
    assert_eq!((messages.len(), done.orphaned_results), (2, 1));
    let (messages, done) = mended(twice("88"));
    assert_eq!((messages.len(), done.orphaned_results), (3, 1));
    assert_eq!(messages[2].parts[1], MessagePart::text("88"));
}

#[test]
fn calls_with_the_same_id_are_separated() {
    let broken = vec![
        assistant([call(1)]),
        tool([result(1, "first")]),
        assistant([call(1)]),
        tool([result(1, "second")]),
        assistant([call(1), call(1)]),
        tool([result(1, "third")]),
    ];
    let (messages, done) = mended(broken.clone());
    assert_eq!((done.renamed_calls, done.unanswered_calls, done.orphaned_results), (3, 1, 0));
    let texts: Vec<String> = messages
        .iter()
        .flat_map(|message| &message.parts)
        .filter_map(|part| match part {
            MessagePart::ToolResult(result) => match &*result.outcome {
                Outcome::Success(output) => Some(output.joined_text()),
                Outcome::Error(error) => Some(error.code.to_string()),
            },
            _ => None,
        })
        .collect();
    assert_eq!(texts, ["first", "second", "third", "cancelled"]);
    // The provider's id belonged to the other call; the rest of its data stays.
    let second = messages[2].tool_calls().next().unwrap().opaque.clone().unwrap();
    assert_eq!(second.data.get(), r#"{"signature":"s"}"#);
    assert_eq!(mended(broken).0, messages);
}

#[test]
fn an_earlier_call_does_not_get_a_later_result() {
    let (messages, done) =
        mended(vec![assistant([call(1)]), user("go on"), assistant([call(1)]), tool([result(1, "87")])]);
    assert_eq!((done.unanswered_calls, done.renamed_calls), (1, 1));
    assert_eq!(error_of(&messages[1].parts[0]).code, Code::Cancelled);
    assert!(matches!(&messages[4].parts[0], MessagePart::ToolResult(it) if it.outcome.is_success()));
}

#[test]
fn misplaced_parts_are_kept_as_text() {
    let thought = MessagePart::Thinking { text: "hm".to_owned(), opaque: None };
    let (messages, _) = mended(vec![
        said(MessageRole::User, [thought.clone(), called(1, r#"{"a":1}"#, false), MessagePart::text("look")]),
        assistant([call(2)]),
        tool([MessagePart::text("beside"), result(2, "2"), thought]),
    ]);
    let expected = vec![
        said(
            MessageRole::User,
            [
                MessagePart::text("hm"),
                MessagePart::text("[A call of the tool tool_1]\n{\"a\":1}"),
                MessagePart::text("look"),
            ],
        ),
        assistant([call(2)]),
        tool([result(2, "2")]),
        said(MessageRole::User, [MessagePart::text("beside"), MessagePart::text("hm")]),
    ];
    assert_eq!(messages, expected);
}

#[test]
fn empty_parts_are_omitted() {
    let signed = MessagePart::Text {
        text: String::new(),
        opaque: Some(OpaqueState { provider: "p".into(), data: RawJson::empty_object() }),
    };
    let (messages, _) = mended(vec![
        user(""),
        assistant([]),
        tool([]),
        assistant([MessagePart::text(""), call(1), MessagePart::text("")]),
        tool([result(1, "")]),
        assistant([signed.clone()]),
        user(" "),
    ]);
    let expected = vec![assistant([call(1)]), tool([result(1, "")]), assistant([signed]), user(" ")];
    assert_eq!(messages, expected);
}

#[test]
fn a_result_has_the_name_of_its_call() {
    let MessagePart::ToolResult(mut odd) = result(1, "87") else { unreachable!() };
    odd.name = "other".to_owned();
    // Names are checked only if something is broken anyway.
    let (messages, _) = mended(vec![assistant([call(1)]), user("x"), tool([MessagePart::ToolResult(odd)])]);
    assert_eq!(messages[1].parts[0], result(1, "87"));
}

fn part() -> impl Strategy<Value = MessagePart> {
    let text = prop_oneof![Just(String::new()), "[a-z]{1,6}"];
    prop_oneof![
        text.clone().prop_map(MessagePart::text),
        text.clone().prop_map(|text| MessagePart::Thinking { text, opaque: None }),
        text.clone().prop_map(|data| MessagePart::Image { data, mime_type: "image/png".to_owned() }),
        (0..5_u8, text.clone(), any::<bool>()).prop_map(|(number, text, cut)| called(number, &text, cut)),
        (0..5_u8, text.clone()).prop_map(|(number, text)| result(number, &text)),
        (0..5_u8, text).prop_map(|(number, text)| MessagePart::ToolResult(ToolResult::new(
            id(number),
            "failed".to_owned(),
            Arc::new(Outcome::Error(ToolError::new(Code::ToolFailed, text)))
        ))),
    ]
}

fn conversation() -> impl Strategy<Value = Vec<ModelMessage>> {
    let role = prop_oneof![Just(MessageRole::User), Just(MessageRole::Assistant), Just(MessageRole::Tool)];
    let message =
        (role, prop::collection::vec(part(), 0..5)).prop_map(|(role, parts)| ModelMessage { role, parts });
    prop::collection::vec(message, 0..10)
}

/// Returns all texts of a conversation.
fn words(messages: &[ModelMessage]) -> Vec<String> {
    let of = |part: &MessagePart| match part {
        MessagePart::Text { text, .. } | MessagePart::Thinking { text, .. } => text.clone(),
        MessagePart::Image { data, .. } => data.clone(),
        MessagePart::ToolCall(call) => call.arguments.clone(),
        MessagePart::ToolResult(result) => match &*result.outcome {
            Outcome::Success(output) => output.joined_text(),
            Outcome::Error(error) => error.message.clone(),
        },
    };
    messages.iter().flat_map(|message| &message.parts).map(of).collect()
}

proptest! {
    #[test]
    fn repair_gives_every_call_one_result_and_loses_no_text_m9(messages in conversation()) {
        let before = words(&messages);
        let mut after = messages.clone();
        let done = repair(&mut after, &nobody);
        prop_assert!(is_whole(&after), "{:#?}", after);
        prop_assert_eq!(done.changed, after != messages || !is_whole(&messages));
        let all = words(&after).join("\n");
        for word in before {
            prop_assert!(all.contains(&word), "{word} is gone from {all}");
        }
        let once = after.clone();
        prop_assert_eq!(repair(&mut after, &nobody), RepairSummary::default());
        prop_assert_eq!(after, once);
    }
}
