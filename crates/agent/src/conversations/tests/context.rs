//! Conversations that exceed their model's context.

use toolway_models::{FinishReason, ModelError, ModelErrorKind};

use crate::event::{NoticeCode, TurnFailureCode, TurnStatus};
use crate::models::ModelFacts;
use crate::testkit::{
    ConversationHarness, ConversationHarnessBuilder, ModelScript, ScriptStep, ScriptedProvider, answering,
    finished, text,
};

/// A model with a context of 40,000 tokens: without the reserve for an answer 31,808, of four bytes each.
/// Three long answers are more than 95 % of that and two are less than 80 %.
async fn reader(scripts: Vec<ModelScript>) -> ConversationHarness {
    let mut parts =
        ConversationHarnessBuilder::new(ScriptedProvider::new(scripts), vec![answering("scan", "x")]);
    parts.facts = ModelFacts { context_tokens: Some(40_000), ..ModelFacts::default() };
    parts.build().await
}

/// An answer without reported tokens.
fn answer(words: &str) -> ModelScript {
    vec![text(words), finished(FinishReason::Stop)]
}

fn long(about: &str) -> ModelScript {
    answer(&format!("{about} {}", "x".repeat(40_600)))
}

#[tokio::test]
async fn the_oldest_messages_are_summarised_and_the_summary_is_stored() {
    let scripts = vec![
        long("one"),
        long("two"),
        long("three"),
        answer("They counted."),
        answer("Four."),
        answer("Five."),
    ];
    let world = reader(scripts).await;
    for question in ["One?", "Two?", "Three?"] {
        assert_eq!(world.say(question).await.end().status, TurnStatus::Done);
    }
    let heard = world.say("Four?").await;
    assert_eq!(heard.text(), "Four.", "nobody is shown the summary as an answer");
    assert_eq!(heard.end().rounds, 1);
    assert!(heard.notices().iter().any(|(code, message)| *code == NoticeCode::ContextCompacted
        && message.contains("summarised for the model")));
    let seen = world.model.requests();
    assert_eq!(seen.len(), 5);
    assert!(seen[3].system.starts_with("You shorten conversations") && seen[3].tools.is_empty());
    assert!(seen[3].messages.iter().any(|it| it.text().starts_with("one ")));
    let texts: Vec<_> = seen[4].messages.iter().map(|it| it.text()).collect();
    assert!(texts[0].ends_with("They counted."), "{texts:?}");
    assert_eq!(texts.last().unwrap(), "Four?");
    assert!(!texts.iter().any(|text| text.starts_with("one ")));
    assert_eq!(world.memory.requests().len(), 5, "what it took is written down");
    // Readers of the session lose nothing, and the next turn uses the same summary.
    assert!(world.memory.messages_of("s").iter().any(|it| it.text().starts_with("one ")));
    assert_eq!(world.say("Five?").await.text(), "Five.");
    let texts: Vec<_> = world.model.requests()[5].messages.iter().map(|it| it.text()).collect();
    assert!(texts[0].ends_with("They counted."), "{texts:?}");
    assert_eq!(world.model.requests().len(), 6);
}

#[tokio::test]
async fn without_a_summary_the_conversation_continues() {
    let fails = vec![ScriptStep::Fail(ModelError::new(ModelErrorKind::Overloaded, "fake", "no"))];
    let world = reader(vec![long("one"), long("two"), long("three"), fails, answer("Four.")]).await;
    for question in ["One?", "Two?", "Three?"] {
        world.say(question).await;
    }
    let heard = world.say("Four?").await;
    assert_eq!((heard.end().status.clone(), heard.text().as_str()), (TurnStatus::Done, "Four."));
    assert!(heard.notices().iter().any(|(_, message)| message.contains("returned no summary")));
    let first = world.model.requests()[4].messages[0].text();
    assert!(first.contains("One?") && first.contains("one xxx"), "how the messages begin: {first}");
}

#[tokio::test]
async fn a_nearly_full_context_is_reported_once_per_turn() {
    let world = reader(vec![long("one"), long("two"), answer("Three.")]).await;
    world.say("One?").await;
    assert!(world.say("Two?").await.notices().is_empty());
    let heard = world.say(&format!("Three? {}", "x".repeat(28_000))).await;
    let warned: Vec<_> = heard.notices().into_iter().map(|(code, _)| code).collect();
    assert_eq!(warned, [NoticeCode::ContextNearlyFull]);
}

#[tokio::test]
async fn a_question_that_exceeds_the_context_is_not_sent() {
    let world = reader(vec![answer("x")]).await;
    let heard = world.say(&"x".repeat(240_000)).await;
    let TurnStatus::Failed(failure) = &heard.end().status else { panic!("{heard:?}") };
    assert_eq!(failure.code, TurnFailureCode::ContextTooLong);
    assert!(world.model.requests().is_empty());
}

#[tokio::test]
async fn an_abort_ends_a_summary_too() {
    let world = reader(vec![long("one"), long("two"), long("three"), vec![ScriptStep::Hang]]).await;
    for question in ["One?", "Two?", "Three?"] {
        world.say(question).await;
    }
    let viewer = world.start(world.turn_request("Four?")).await;
    crate::testkit::settle().await;
    let started = tokio::time::Instant::now();
    world.conversations.abort(&crate::testkit::client("ann"), "s");
    assert_eq!(crate::testkit::TurnEventLog::collect(viewer).await.end().status, TurnStatus::Aborted);
    assert!(started.elapsed().as_millis() < 100);
}
