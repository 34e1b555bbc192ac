//! Turns without problems.

use std::sync::Arc;

use toolway_models::{MessagePart, MessageRole};
use toolway_store::{RequestStatus, TurnState};
use toolway_types::Principal;

use crate::conversations::StartTurnError;
use crate::event::{NoticeCode, TurnEvent, TurnStatus};
use crate::testkit::{
    ConversationHarness, ConversationHarnessBuilder, ScriptGate, ScriptStep, ScriptedProvider, TurnEventLog,
    agent, answering, client, finished, owner, settle, text, text_answer, tool_call_answer, usage,
};
use crate::turn::{TurnInput, TurnRequest};
use toolway_models::{FinishReason, ModelEvent};

#[tokio::test]
async fn a_question_and_its_answer_are_stored() {
    let world = ConversationHarness::new(vec![text_answer("It is noon.")], vec![]).await;
    let heard = world.say("What time is it?").await;
    assert_eq!(heard.text(), "It is noon.");
    let end = heard.end();
    assert_eq!((&end.status, end.full_response.as_str()), (&TurnStatus::Done, "It is noon."));
    assert_eq!((end.rounds, end.tool_calls), (1, 0));
    assert_eq!((end.usage.input, end.usage.output, end.usage.cached), (Some(10), Some(5), None));
    assert_eq!(end.finish, Some(FinishReason::Stop));
    assert_eq!(end.cost, None, "there is no price");
    let said = world.memory.messages_of("s");
    assert_eq!(
        said.iter().map(|it| (it.role, it.text())).collect::<Vec<_>>(),
        [
            (MessageRole::User, "What time is it?".to_owned()),
            (MessageRole::Assistant, "It is noon.".to_owned()),
        ]
    );
    let asked = &world.model.requests()[0];
    assert_eq!((&*asked.model, asked.messages.len()), ("fake-1", 1));
    assert!(asked.system.starts_with("You are a helpful assistant."));
    let ending = &world.memory.endings()[0];
    assert_eq!((ending.state, ending.rounds, ending.finish.as_deref()), (TurnState::Done, 1, Some("stop")));
    let [request] = world.memory.requests().try_into().unwrap();
    assert_eq!((request.status, request.attempts, request.code), (RequestStatus::Answered, 1, None));
    assert_eq!(
        (request.provider.as_str(), request.model.as_str(), request.agent.as_str()),
        ("fake", "fake-1", "default")
    );
    assert_eq!(
        (request.session.as_deref(), request.turn.as_deref()),
        (Some("s"), Some(ending.turn.as_str()))
    );
    assert_eq!(
        (request.tokens.input, request.tokens.output, request.tokens.cached),
        (Some(10), Some(5), None)
    );
}

#[tokio::test]
async fn results_are_sent_to_the_model_until_it_finishes() {
    let scripts = vec![tool_call_answer(&[("phone__scan", r#"{"x":1}"#)]), text_answer("It says hello.")];
    let world = ConversationHarness::new(scripts, vec![answering("scan", "hello")]).await;
    let heard = world.say("Scan it.").await;
    assert_eq!(heard.end().status, TurnStatus::Done);
    assert_eq!((heard.end().rounds, heard.end().tool_calls), (2, 1));
    assert_eq!(heard.end().usage.input, Some(20), "of both requests together");
    let second = &world.model.requests()[1].messages;
    let [question, call, result] = second.as_slice() else { panic!("{second:?}") };
    assert_eq!(
        (question.role, call.role, result.role),
        (MessageRole::User, MessageRole::Assistant, MessageRole::Tool)
    );
    let MessagePart::ToolResult(result) = &result.parts[0] else { panic!() };
    assert_eq!(call.tool_calls().next().unwrap().id, result.call_id);
    assert_eq!(
        serde_json::to_string(&toolway_types::ResultEnvelope(&result.outcome)).unwrap(),
        r#"{"status":"success","result":"hello"}"#
    );
    assert_eq!(world.memory.messages_of("s").len(), 4);
    // The events in order.
    let told: Vec<_> = heard
        .events
        .iter()
        .map(|event| match event {
            TurnEvent::ToolCall { name, arguments, .. } => format!("call {name} {}", arguments.get()),
            TurnEvent::ToolResult { name, .. } => format!("result {name}"),
            TurnEvent::Chunk(text) => format!("chunk {text}"),
            TurnEvent::Ended(_) => "ended".to_owned(),
            other => format!("{other:?}"),
        })
        .collect();
    assert_eq!(told, [r#"call phone__scan {"x":1}"#, "result phone__scan", "chunk It says hello.", "ended"]);
}

#[tokio::test]
async fn texts_of_several_answers_are_separated_in_the_full_response() {
    let mut first =
        vec![text("Let me look."), ScriptStep::Say(ModelEvent::Part(MessagePart::text("Let me look.")))];
    first.extend(tool_call_answer(&[("phone__scan", "{}")]));
    let world =
        ConversationHarness::new(vec![first, text_answer("It is blue.")], vec![answering("scan", "blue")])
            .await;
    let heard = world.say("Which colour?").await;
    assert_eq!(heard.text(), "Let me look.\n\nIt is blue.");
    assert_eq!(heard.end().full_response, heard.text());
    let kept: Vec<_> = world.memory.messages_of("s").iter().map(|it| it.text()).collect();
    assert_eq!(kept, ["Which colour?", "Let me look.", "", "It is blue."], "kept as they were said");
}

#[tokio::test]
async fn twenty_five_rounds_chain() {
    let mut scripts: Vec<_> =
        (0..25).map(|at| tool_call_answer(&[("phone__step", &*format!(r#"{{"at":{at}}}"#))])).collect();
    scripts.push(text_answer("Done."));
    let world = ConversationHarness::new(scripts, vec![answering("step", "ok")]).await;
    let heard = world.say("Go.").await;
    assert_eq!(
        (heard.end().status.clone(), heard.end().rounds, heard.end().tool_calls),
        (TurnStatus::Done, 26, 25)
    );
    assert_eq!(world.model.requests()[25].messages.len(), 51);
    assert_eq!(world.memory.messages_of("s").len(), 52);
}

#[tokio::test]
async fn the_history_of_a_session_is_sent_with_the_next_question() {
    let world = ConversationHarness::new(vec![text_answer("Hello."), text_answer("Bye.")], vec![]).await;
    world.say("Hi.").await;
    world.say("See you.").await;
    let texts: Vec<_> = world.model.requests()[1].messages.iter().map(|it| it.text()).collect();
    assert_eq!(texts, ["Hi.", "Hello.", "See you."]);
}

#[tokio::test]
async fn a_regenerated_answer_replaces_the_first() {
    let scripts = vec![
        text_answer("One."),
        text_answer("Two."),
        tool_call_answer(&[("phone__scan", "{}")]),
        text_answer("Three."),
    ];
    let world = ConversationHarness::new(scripts, vec![answering("scan", "x")]).await;
    world.say("First.").await;
    world.say("Second.").await;
    let again = TurnRequest { input: TurnInput::Regenerate, ..world.turn_request("") };
    let heard = TurnEventLog::collect(world.start(again).await).await;
    assert_eq!(heard.text(), "Three.");
    let texts: Vec<_> = world.model.requests()[2].messages.iter().map(|it| it.text()).collect();
    assert_eq!(texts, ["First.", "One.", "Second."]);
    let kept: Vec<_> = world.memory.messages_of("s").iter().map(|it| it.text()).collect();
    assert_eq!(kept, ["First.", "One.", "Second.", "", "", "Three."]);
}

#[tokio::test]
async fn a_turn_requires_a_message_to_answer() {
    let world = ConversationHarness::new(vec![text_answer("x")], vec![]).await;
    let again = TurnRequest { input: TurnInput::Regenerate, ..world.turn_request("") };
    assert!(matches!(world.try_start(again).await, Err(StartTurnError::NoUserMessage)));
    for empty in [vec![], vec![MessagePart::text(" \n")]] {
        let turn = TurnRequest { input: TurnInput::Message(empty), ..world.turn_request("") };
        assert!(matches!(world.try_start(turn).await, Err(StartTurnError::EmptyContent)));
    }
    let picture = MessagePart::Image { data: "AAAA".to_owned(), mime_type: "image/png".to_owned() };
    let turn = TurnRequest { input: TurnInput::Message(vec![picture.clone()]), ..world.turn_request("") };
    assert_eq!(TurnEventLog::collect(world.start(turn).await).await.end().status, TurnStatus::Done);
    assert_eq!(world.model.requests()[0].messages[0].parts, [picture]);
    assert_eq!(world.memory.running_turns(), 0);
}

#[tokio::test]
async fn one_turn_per_session_and_many_in_parallel() {
    let gate = ScriptGate::new();
    let script = vec![ScriptStep::Wait(gate.clone()), text("x"), finished(FinishReason::Stop)];
    let world = ConversationHarness::new(vec![script], vec![]).await;
    let first = world.start(world.turn_request("one")).await;
    assert!(matches!(world.try_start(world.turn_request("two")).await, Err(StartTurnError::Busy)));
    let elsewhere =
        TurnRequest { session: "t".into(), principal: client("bob"), ..world.turn_request("three") };
    let second = world.start(elsewhere).await;
    settle().await;
    gate.open();
    gate.open();
    let (first, second) = tokio::join!(TurnEventLog::collect(first), TurnEventLog::collect(second));
    assert_eq!((first.text(), second.text()), ("x".to_owned(), "x".to_owned()));
    assert!(world.try_start(world.turn_request("again")).await.is_ok());
}

/// A client that sends the next message when a turn ends must not find the session busy.
#[tokio::test]
async fn the_session_is_free_when_viewers_get_the_end() {
    let world = ConversationHarness::new(vec![text_answer("x")], vec![]).await;
    for _ in 0..5 {
        let mut viewer = world.start(world.turn_request("go")).await;
        while !matches!(viewer.events.recv().await, Some(TurnEvent::Ended(_))) {}
    }
    assert_eq!(world.model.requests().len(), 5);
}

#[tokio::test]
async fn the_number_of_running_turns_is_limited() {
    let mut parts =
        ConversationHarnessBuilder::new(ScriptedProvider::new(vec![vec![ScriptStep::Hang]]), vec![]);
    parts.settings.turns = 2;
    let world = parts.build().await;
    let start = async |session: &str| {
        world.try_start(TurnRequest { session: session.into(), ..world.turn_request("x") }).await
    };
    let (_one, _two) = (start("a").await.unwrap(), start("b").await.unwrap());
    assert!(matches!(start("c").await, Err(StartTurnError::TooMany(2))));
    world.conversations.abort(&client("ann"), "a");
    settle().await;
    assert!(start("c").await.is_ok());
}

#[tokio::test]
async fn turns_of_one_client_leave_turns_to_others_and_to_the_owner() {
    let mut parts =
        ConversationHarnessBuilder::new(ScriptedProvider::new(vec![vec![ScriptStep::Hang]]), vec![]);
    parts.settings.turns = 40;
    let world = parts.build().await;
    let start = async |principal: Arc<Principal>, number: usize| {
        let session = format!("{}-{number}", principal.id).into();
        let request = TurnRequest { session, principal, ..world.turn_request("x") };
        world.try_start(request).await
    };
    let mut running = Vec::new();
    for name in ["ann", "ben", "cem"] {
        for number in 0..10 {
            running.push(start(client(name), number).await.unwrap());
        }
        assert!(
            matches!(start(client(name), 10).await, Err(StartTurnError::ShareUsed(10))),
            "a quarter each"
        );
    }
    assert!(
        matches!(start(client("dan"), 0).await, Err(StartTurnError::TooMany(30))),
        "a quarter is the owner's"
    );
    for number in 0..10 {
        running.push(start(owner(), number).await.unwrap());
    }
    assert!(matches!(start(owner(), 10).await, Err(StartTurnError::TooMany(40))));
}

#[tokio::test]
async fn an_agent_answers_with_its_prompt_and_options_and_a_session_may_change_its_agent() {
    let mut parts = ConversationHarnessBuilder::new(ScriptedProvider::new(vec![text_answer("x")]), vec![]);
    let mut cook = agent("cook");
    cook.prompt = "You cook.".to_owned();
    cook.options.temperature = Some(0.3);
    parts.agents.push(cook);
    let world = parts.build().await;
    world.say("Hi.").await;
    let turn = TurnRequest { agent: Some("cook".into()), ..world.turn_request("What is for dinner?") };
    TurnEventLog::collect(world.start(turn).await).await;
    // The session keeps this agent.
    world.say("And tomorrow?").await;
    let seen = world.model.requests();
    let systems: Vec<_> = seen.iter().map(|request| request.system.as_str()).collect();
    assert!(
        systems[0].starts_with("You are a helpful") && systems[1] == "You cook." && systems[2] == "You cook."
    );
    assert_eq!((seen[0].options.temperature, seen[2].options.temperature), (None, Some(0.3)));
    let turn = TurnRequest { agent: Some("cok".into()), ..world.turn_request("x") };
    let Err(StartTurnError::UnknownAgent(unknown)) = world.try_start(turn).await else { panic!() };
    assert_eq!(unknown.close, ["cook"]);
}

#[tokio::test]
async fn thinking_is_published_and_stored() {
    let thought = MessagePart::Thinking {
        text: "Hm.".to_owned(),
        opaque: Some(toolway_models::OpaqueState {
            provider: "fake".into(),
            data: toolway_types::RawJson::parse(r#"{"signature":"s1"}"#).unwrap(),
        }),
    };
    let mut script = vec![
        ScriptStep::Say(ModelEvent::Thinking("Hm.".to_owned())),
        ScriptStep::Say(ModelEvent::Part(thought.clone())),
    ];
    script.extend(tool_call_answer(&[("phone__scan", "{}")]));
    let world =
        ConversationHarness::new(vec![script, text_answer("Blue.")], vec![answering("scan", "blue")]).await;
    let heard = world.say("Which colour?").await;
    assert!(heard.events.iter().any(|event| matches!(event, TurnEvent::Thinking(text) if text == "Hm.")));
    assert_eq!(world.model.requests()[1].messages[1].parts[0], thought, "before its call, as it came");
    assert_eq!(world.memory.messages_of("s")[1].parts[0], thought);
}

#[tokio::test]
async fn a_paused_answer_continues_up_to_a_limit() {
    let paused = || {
        vec![
            text("Part one."),
            ScriptStep::Say(ModelEvent::Part(MessagePart::text("Part one."))),
            usage(1, 1),
            finished(FinishReason::Paused),
        ]
    };
    let world = ConversationHarness::new(vec![paused(), text_answer("Part two.")], vec![]).await;
    let heard = world.say("Tell me.").await;
    assert_eq!(
        (heard.end().status.clone(), heard.text().as_str()),
        (TurnStatus::Done, "Part one.\n\nPart two.")
    );
    assert_eq!(
        world.model.requests()[1].messages.last().unwrap().text(),
        "Part one.",
        "the answer is sent back"
    );
    drop(world);
    let world = ConversationHarness::new(vec![vec![finished(FinishReason::Paused)]], vec![]).await;
    let heard = world.say("Tell me.").await;
    let TurnStatus::Failed(failure) = &heard.end().status else { panic!() };
    assert_eq!(failure.message, "the model's provider paused the response 16 times in a row");
    assert_eq!(world.model.requests().len(), 16);
}

#[tokio::test]
async fn the_prompt_is_shown_on_request() {
    let world = ConversationHarness::new(
        vec![tool_call_answer(&[("phone__scan", "{}")]), text_answer("x")],
        vec![answering("scan", "x")],
    )
    .await;
    let turn = TurnRequest { debug: true, ..world.turn_request("Hi.") };
    let heard = TurnEventLog::collect(world.start(turn).await).await;
    let shown: Vec<_> = heard
        .events
        .iter()
        .filter_map(|event| match event {
            TurnEvent::DebugPrompt(messages) => Some(messages.len()),
            _ => None,
        })
        .collect();
    assert_eq!(shown, [2, 4], "of each request: instructions, question, call, result");
    assert!(!world.say("Hi.").await.events.iter().any(|event| matches!(event, TurnEvent::DebugPrompt(_))));
}

#[tokio::test]
async fn drafts_are_stored_at_intervals() {
    let mut script = Vec::new();
    for at in 0..100 {
        script.push(text(&format!("{at} ")));
        script.push(ScriptStep::Sleep(std::time::Duration::from_millis(20)));
    }
    // The end of the answer takes a while.
    script.extend([ScriptStep::Sleep(std::time::Duration::from_secs(5)), finished(FinishReason::Stop)]);
    let world = ConversationHarness::new(vec![script], vec![]).await;
    let heard = world.say("Count.").await;
    let drafts = world.memory.drafts();
    // 100 words in 2 s, a draft at most every 250 ms, and one for the last part.
    assert!((7..=9).contains(&drafts.len()), "{}", drafts.len());
    assert!(drafts.iter().all(|(seq, _)| *seq == 2));
    assert_eq!(drafts.last().unwrap().1, heard.text(), "nothing that was said waits longer than that");
    drop(world);
    let of_second_round = ConversationHarness::new(
        vec![
            tool_call_answer(&[("phone__scan", "{}")]),
            vec![
                text("x"),
                ScriptStep::Sleep(std::time::Duration::from_secs(1)),
                finished(FinishReason::Stop),
            ],
        ],
        vec![answering("scan", "x")],
    )
    .await;
    of_second_round.say("Go.").await;
    assert_eq!(of_second_round.memory.drafts(), [(4, "x".to_owned())], "after question, call and result");
}

#[tokio::test]
async fn an_empty_answer_is_reported() {
    let world = ConversationHarness::new(vec![vec![finished(FinishReason::Stop)]], vec![]).await;
    let heard = world.say("Hello?").await;
    assert_eq!((heard.end().status.clone(), heard.text().as_str()), (TurnStatus::Done, ""));
    let [(code, message)] = heard.notices().try_into().unwrap();
    assert_eq!(code, NoticeCode::Empty);
    assert!(message.contains("without any text"), "{message}");
}

#[tokio::test]
async fn a_truncated_answer_is_reported() {
    let script = vec![text("Once upon"), finished(FinishReason::Length)];
    let world = ConversationHarness::new(vec![script], vec![]).await;
    let heard = world.say("Tell me a story.").await;
    assert_eq!(
        (heard.end().status.clone(), heard.end().finish.clone()),
        (TurnStatus::Done, Some(FinishReason::Length))
    );
    let [(code, message)] = heard.notices().try_into().unwrap();
    assert_eq!(code, NoticeCode::Truncated);
    assert!(message.contains("max_output_tokens"), "{message}");
    assert_eq!(world.memory.messages_of("s")[1].text(), "Once upon");
}
