//! Turns that are aborted.

use std::time::Duration;

use futures_util::FutureExt;
use toolway_models::{FinishReason, MessagePart, MessageRole, ModelEvent};
use toolway_store::{RequestStatus, TurnState};
use toolway_types::{Code, ToolOutput};

use crate::conversations::{AbortStatus, StartTurnError};
use crate::event::{TurnEvent, TurnFailureCode, TurnStatus};
use crate::testkit::{
    ConversationHarness, ScriptGate, ScriptStep, TurnEventLog, answering, client, document, endless,
    finished, owner, settle, text, text_answer, tool, tool_call_answer,
};
use crate::transcript;

/// Stored messages can be sent to any provider unchanged, except for missing results of an unfinished response.
#[track_caller]
fn assert_whole(world: &ConversationHarness) {
    let said = world.memory.messages_of("s");
    assert!(transcript::repair::is_whole(&said), "{said:?}");
}

#[tokio::test]
async fn an_abort_ends_the_request_and_keeps_the_text() {
    let script = vec![text("Once upon a time"), ScriptStep::Hang];
    let world = ConversationHarness::new(vec![script, text_answer("Again?")], vec![]).await;
    let viewer = world.start(world.turn_request("Tell me.")).await;
    settle().await;
    assert_eq!(world.model.dropped_streams(), 0);
    let started = tokio::time::Instant::now();
    let status = world.conversations.abort(&client("ann"), "s");
    assert_eq!(status, AbortStatus::Aborting);
    let heard = TurnEventLog::collect(viewer).await;
    assert!(started.elapsed() < Duration::from_millis(100), "{:?}", started.elapsed());
    assert_eq!(world.model.dropped_streams(), 1, "the request is let go of");
    assert_eq!(
        (heard.end().status.clone(), heard.end().full_response.as_str()),
        (TurnStatus::Aborted, "Once upon a time")
    );
    assert_eq!(heard.end().finish, None);
    let record = &world.memory.records("s")[1];
    assert!(record.is_cut, "it is marked");
    assert_eq!(world.memory.messages_of("s")[1].text(), "Once upon a time");
    assert_eq!(world.memory.endings()[0].state, TurnState::Aborted);
    assert_eq!(world.memory.requests()[0].status, RequestStatus::GivenUp);
    // The conversation continues from there.
    world.say("Go on.").await;
    let texts: Vec<_> = world.model.requests()[1].messages.iter().map(|it| it.text()).collect();
    assert_eq!(texts, ["Tell me.", "Once upon a time", "Go on."]);
    assert_eq!(world.conversations.abort(&client("ann"), "s"), AbortStatus::Idle);
}

#[tokio::test]
async fn an_abort_ends_the_turn_even_if_the_tool_ignores_it_r10() {
    let cancelled = ScriptGate::new();
    let noted = cancelled.clone();
    let stubborn = tool(document("stubborn"), move |_, cx| {
        let noted = noted.clone();
        async move {
            cx.cancelled().await;
            noted.open();
            // It continues to run.
            std::future::pending::<()>().await;
            Ok(ToolOutput::text("never"))
        }
    });
    let script =
        tool_call_answer(&[("phone__scan", "{}"), ("phone__stubborn", "{}"), ("phone__endless", "{}")]);
    let world = ConversationHarness::new(
        vec![script, text_answer("x")],
        vec![answering("scan", "blue"), stubborn, endless("endless")],
    )
    .await;
    let viewer = world.start(world.turn_request("Go.")).await;
    settle().await;
    let started = tokio::time::Instant::now();
    world.conversations.abort(&client("ann"), "s");
    let heard = TurnEventLog::collect(viewer).await;
    assert!(started.elapsed() < Duration::from_millis(100), "{:?}", started.elapsed());
    assert_eq!(heard.end().status, TurnStatus::Aborted);
    // Every call has a result, for viewers and in the store.
    let codes: Vec<_> = heard
        .tool_results()
        .iter()
        .map(|(_, name, outcome)| (name.clone(), outcome.error().map(|it| it.code)))
        .collect();
    assert_eq!(codes.len(), 3);
    assert!(codes.contains(&("phone__scan".to_owned(), None)));
    assert!(codes.contains(&("phone__stubborn".to_owned(), Some(Code::Cancelled))));
    assert!(codes.contains(&("phone__endless".to_owned(), Some(Code::Cancelled))));
    assert_whole(&world);
    assert_eq!(world.memory.messages_of("s").len(), 3);
    assert_eq!(world.engine.in_flight(), 0);
    assert!(world.try_start(world.turn_request("Again.")).await.is_ok(), "the session is free");
}

/// The engine waits for an answer in transit; the turn does not.
#[tokio::test]
async fn an_abort_does_not_wait_for_a_result_in_transit_r10() {
    let late = tool(document("late"), |_, cx| async move {
        assert!(cx.mark_answered());
        tokio::time::sleep(Duration::from_secs(900)).await;
        Ok(ToolOutput::text("late"))
    });
    let world = ConversationHarness::new(
        vec![tool_call_answer(&[("phone__late", "{}")]), text_answer("x")],
        vec![late],
    )
    .await;
    let viewer = world.start(world.turn_request("Go.")).await;
    settle().await;
    let started = tokio::time::Instant::now();
    world.conversations.abort(&client("ann"), "s");
    let heard = TurnEventLog::collect(viewer).await;
    assert!(started.elapsed() < Duration::from_millis(100), "{:?}", started.elapsed());
    assert_eq!(heard.tool_results()[0].2.error().unwrap().code, Code::Cancelled);
    assert_whole(&world);
}

#[tokio::test]
async fn an_abort_before_the_end_of_an_answer_prevents_its_calls() {
    let mut script = tool_call_answer(&[("phone__scan", "{}")]);
    script.truncate(2);
    script.push(ScriptStep::Hang);
    let world = ConversationHarness::new(vec![script, text_answer("x")], vec![answering("scan", "x")]).await;
    let viewer = world.start(world.turn_request("Go.")).await;
    settle().await;
    world.conversations.abort(&client("ann"), "s");
    let heard = TurnEventLog::collect(viewer).await;
    assert_eq!(heard.end().tool_calls, 0);
    assert!(heard.tool_results().is_empty(), "it never began");
    assert_whole(&world);
    let said = world.memory.messages_of("s");
    let MessagePart::ToolResult(result) = &said[2].parts[0] else { panic!("{said:?}") };
    assert!(result.outcome.error().unwrap().message.starts_with("The call was not made"));
}

#[tokio::test]
async fn an_abort_before_the_answer_keeps_the_question() {
    let world = ConversationHarness::new(vec![vec![ScriptStep::Hang], text_answer("Hello.")], vec![]).await;
    let viewer = world.start(world.turn_request("Hi.")).await;
    settle().await;
    world.conversations.abort(&client("ann"), "s");
    assert_eq!(TurnEventLog::collect(viewer).await.end().status, TurnStatus::Aborted);
    assert_eq!(world.memory.messages_of("s").len(), 1);
    world.say("Hi again.").await;
    let texts: Vec<_> = world.model.requests()[1].messages.iter().map(|it| it.text()).collect();
    assert_eq!(texts, ["Hi.", "Hi again."]);
}

#[tokio::test]
async fn only_its_principal_and_an_owner_may_abort_a_turn() {
    let world = ConversationHarness::new(vec![vec![ScriptStep::Hang]], vec![]).await;
    let viewer = world.start(world.turn_request("Hi.")).await;
    let abort = |who: std::sync::Arc<toolway_types::Principal>| world.conversations.abort(&who, "s");
    assert_eq!(abort(client("bob")), AbortStatus::Idle, "as if the session did not exist");
    assert_eq!(abort(owner()), AbortStatus::Aborting);
    assert_eq!(TurnEventLog::collect(viewer).await.end().status, TurnStatus::Aborted);
    assert_eq!(abort(client("bob")), AbortStatus::Idle, "also if no turn runs");
    assert_eq!(world.conversations.abort(&client("bob"), "nowhere"), AbortStatus::Idle);
}

#[tokio::test]
async fn a_turn_continues_without_viewers() {
    let gate = ScriptGate::new();
    let script = vec![text("a"), ScriptStep::Wait(gate.clone()), text("b"), finished(FinishReason::Stop)];
    let world = ConversationHarness::new(vec![script], vec![]).await;
    drop(world.start(world.turn_request("Go.")).await);
    gate.reached().await;
    gate.open();
    settle().await;
    assert_eq!(world.memory.messages_of("s")[1].text(), "ab");
    assert_eq!(world.memory.endings()[0].state, TurnState::Done);
}

#[tokio::test]
async fn a_shutdown_waits_for_turns_and_then_ends_them() {
    let gate = ScriptGate::new();
    let quick = vec![text("quick"), ScriptStep::Wait(gate.clone()), finished(FinishReason::Stop)];
    let world = ConversationHarness::new(vec![quick, vec![text("slow"), ScriptStep::Hang]], vec![]).await;
    let first = world.start(world.turn_request("Go.")).await;
    gate.reached().await;
    let second =
        world.start(crate::turn::TurnRequest { session: "t".into(), ..world.turn_request("Go.") }).await;
    settle().await;
    let conversations = world.conversations.clone();
    let started = tokio::time::Instant::now();
    let stopping = tokio::spawn(async move { conversations.shut_down(Duration::from_secs(5)).await });
    settle().await;
    assert!(matches!(world.try_start(world.turn_request("More.")).await, Err(StartTurnError::ShuttingDown)));
    gate.open();
    let first = TurnEventLog::collect(first).await;
    assert_eq!(first.end().status, TurnStatus::Done);
    let second = TurnEventLog::collect(second).await;
    stopping.await.unwrap();
    assert!(started.elapsed() >= Duration::from_secs(5) && started.elapsed() < Duration::from_millis(5100));
    let TurnStatus::Failed(failure) = &second.end().status else { panic!("{second:?}") };
    assert_eq!((failure.code, second.end().full_response.as_str()), (TurnFailureCode::ShuttingDown, "slow"));
    assert_eq!(world.memory.running_turns(), 0);
}

#[tokio::test]
async fn an_abort_does_not_wait_for_a_question() {
    let script = tool_call_answer(&[("phone__scan", "{}")]);
    let world = ConversationHarness::new(vec![script, text_answer("x")], vec![answering("scan", "x")]).await;
    let asks: toolway_core::policy::definition::ApprovalSettings =
        serde_json::from_str(r#"{"default":"always"}"#).unwrap();
    let policy = toolway_core::Policy::compile(&Default::default(), &asks, &Default::default()).unwrap();
    world.engine.set_policy(policy);
    let _watching = world.engine.questions().watch();
    let viewer = world.start(world.turn_request("Go.")).await;
    settle().await;
    assert_eq!(world.engine.questions().len(), 1);
    let started = tokio::time::Instant::now();
    world.conversations.abort(&client("ann"), "s");
    let heard = TurnEventLog::collect(viewer).await;
    assert!(started.elapsed() < Duration::from_millis(100));
    assert_eq!(heard.end().status, TurnStatus::Aborted);
    assert!(world.engine.questions().is_empty());
    assert_whole(&world);
}

#[tokio::test]
async fn no_events_follow_the_end() {
    let script = vec![
        text("a"),
        ScriptStep::Say(ModelEvent::Part(MessagePart::text("a"))),
        finished(FinishReason::Stop),
        text("late"),
    ];
    let world = ConversationHarness::new(vec![script], vec![]).await;
    let heard = world.say("Go.").await;
    assert!(matches!(heard.events.last(), Some(TurnEvent::Ended(_))));
    assert_eq!(heard.text(), "a");
    assert_eq!(world.memory.messages_of("s").last().unwrap().role, MessageRole::Assistant);
}

/// A turn starts even if its connection closes while the message is being stored.
#[tokio::test]
async fn a_turn_runs_even_if_its_connection_closes_at_once() {
    let world = ConversationHarness::new(vec![text_answer("Hello.")], vec![]).await;
    {
        let mut starting = Box::pin(world.try_start(world.turn_request("Hi.")));
        assert!((&mut starting).now_or_never().is_none());
    }
    settle().await;
    assert_eq!(world.memory.messages_of("s").len(), 2);
    assert_eq!(world.memory.running_turns(), 0);
    assert!(world.try_start(world.turn_request("Hi.")).await.is_ok());
}
