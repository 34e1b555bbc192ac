use toolway_models::ToolResult;
use toolway_types::{Outcome, ToolOutput};

use super::*;

fn call(name: &str) -> ToolCall {
    ToolCall {
        id: CallId::new(),
        name: name.to_owned(),
        arguments: "{}".to_owned(),
        is_cut: false,
        opaque: None,
    }
}

fn asked(calls: &[&ToolCall]) -> ModelMessage {
    let parts = calls.iter().map(|call| MessagePart::ToolCall((*call).clone())).collect();
    ModelMessage { role: MessageRole::Assistant, parts }
}

fn answered(calls: &[&ToolCall]) -> ModelMessage {
    let result = |call: &&ToolCall| {
        let outcome = std::sync::Arc::new(Outcome::Success(ToolOutput::text("x".repeat(100))));
        MessagePart::ToolResult(ToolResult::new(call.id, call.name.clone(), outcome))
    };
    ModelMessage { role: MessageRole::Tool, parts: calls.iter().map(result).collect() }
}

fn ann() -> PrincipalId {
    PrincipalId::from("ann")
}

#[tokio::test(start_paused = true)]
async fn unknown_calls_are_unchanged() {
    let parked = SuspendedTurns::default();
    let theirs = call("theirs");
    let history =
        vec![ModelMessage::user("Go."), asked(&[&theirs]), answered(&[&theirs]), ModelMessage::user("More.")];
    assert_eq!(parked.restore(&ann(), history.clone()), history);
}

#[tokio::test(start_paused = true)]
async fn two_turns_of_one_conversation_are_both_restored() {
    let parked = SuspendedTurns::default();
    let (theirs, ours) = ([call("a"), call("b")], [call("x"), call("y")]);
    for (theirs, ours) in theirs.iter().zip(&ours) {
        let said = vec![asked(&[ours, theirs]), answered(&[ours])];
        parked.suspend(&ann(), said, std::slice::from_ref(theirs));
    }
    let known = vec![
        ModelMessage::user("Go."),
        asked(&[&theirs[0]]),
        answered(&[&theirs[0]]),
        asked(&[&theirs[1]]),
        answered(&[&theirs[1]]),
    ];
    let restored = parked.restore(&ann(), known);
    let whole = vec![
        ModelMessage::user("Go."),
        asked(&[&ours[0], &theirs[0]]),
        answered(&[&ours[0], &theirs[0]]),
        asked(&[&ours[1], &theirs[1]]),
        answered(&[&ours[1], &theirs[1]]),
    ];
    assert_eq!(restored, whole);
}

#[tokio::test(start_paused = true)]
async fn number_and_size_of_remembered_turns_are_limited() {
    let parked = SuspendedTurns::default();
    let calls: Vec<ToolCall> = (0..=MAX_TURNS).map(|_| call("a")).collect();
    for call in &calls {
        parked.suspend(&ann(), vec![asked(&[call]), ModelMessage::user("x")], std::slice::from_ref(call));
    }
    let is_known = |call: &ToolCall| parked.restore(&ann(), vec![asked(&[call])]).len() == 2;
    assert!(!is_known(&calls[0]), "the oldest went");
    assert!(is_known(&calls[1]) && is_known(&calls[MAX_TURNS]));
    let large = |bytes: usize| vec![ModelMessage::user("x".repeat(bytes))];
    let (one, two, three) = (call("a"), call("b"), call("c"));
    parked.suspend(&ann(), large(MAX_BYTES - 1000), std::slice::from_ref(&one));
    assert!(parked.find(&ann(), one.id).is_some());
    assert!(!is_known(&calls[1]), "what is large takes the room of others");
    parked.suspend(&ann(), large(MAX_BYTES + 1), std::slice::from_ref(&two));
    assert!(parked.find(&ann(), two.id).is_none(), "what is too large is not remembered");
    parked.suspend(&ann(), large(2000), std::slice::from_ref(&three));
    assert!(parked.find(&ann(), one.id).is_none() && parked.find(&ann(), three.id).is_some());
    assert_eq!(parked.0.lock().order.len(), 1);
}
