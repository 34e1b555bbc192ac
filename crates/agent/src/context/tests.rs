use std::sync::Arc;

use super::*;
use proptest::prelude::*;
use toolway_models::{MessagePart, MessageRole, ToolCall, ToolResult};
use toolway_types::{CallId, ContentPart, Outcome, ToolOutput};

fn entry(seq: u64, role: MessageRole, parts: Vec<MessagePart>) -> TranscriptEntry {
    TranscriptEntry {
        seq,
        turn: "t".to_owned(),
        message: ModelMessage { role, parts },
        is_cut: false,
        created_ms: 0,
        summary_through: None,
        summarized_tools: Vec::new(),
    }
}

fn id(number: u64) -> CallId {
    let mut bytes = [0; 16];
    bytes[8..].copy_from_slice(&number.to_be_bytes());
    CallId::from_bytes(bytes)
}

/// Builds a conversation message by message.
#[derive(Debug, Default)]
struct HistoryBuilder(Vec<TranscriptEntry>);

impl HistoryBuilder {
    fn next(&self) -> u64 {
        self.0.len() as u64 + 1
    }

    fn user(mut self, bytes: usize) -> Self {
        let seq = self.next();
        self.0.push(entry(seq, MessageRole::User, vec![MessagePart::text("u".repeat(bytes))]));
        self
    }

    fn answer(mut self, bytes: usize) -> Self {
        let seq = self.next();
        self.0.push(entry(seq, MessageRole::Assistant, vec![MessagePart::text("a".repeat(bytes))]));
        self
    }

    /// Adds a call and its result.
    fn round(mut self, bytes: usize) -> Self {
        let seq = self.next();
        let call = ToolCall {
            id: id(seq),
            name: "t".to_owned(),
            arguments: "{}".to_owned(),
            is_cut: false,
            opaque: None,
        };
        let outcome = Arc::new(Outcome::Success(ToolOutput::text("r".repeat(bytes))));
        let result = ToolResult::new(id(seq), "t".to_owned(), outcome);
        self.0.push(entry(seq, MessageRole::Assistant, vec![MessagePart::ToolCall(call)]));
        self.0.push(entry(seq + 1, MessageRole::Tool, vec![MessagePart::ToolResult(result)]));
        self
    }

    fn summary(mut self, through: u64) -> Self {
        let seq = self.next();
        let mut summary = entry(seq, MessageRole::User, vec![MessagePart::text("in short")]);
        summary.summary_through = Some(through);
        self.0.push(summary);
        self
    }

    fn plan(&self, context_tokens: u64) -> ContextPlan {
        self.plan_with(Some(context_tokens), &ContextSettings { reserve: 0, ..ContextSettings::default() })
    }

    fn plan_with(&self, context_tokens: Option<u64>, settings: &ContextSettings) -> ContextPlan {
        let input = ContextPlanInput {
            entries: &self.0,
            system_bytes: 0,
            tools_bytes: 0,
            context_tokens,
            max_output: None,
        };
        plan(input, settings, &TokenCounter::default())
    }

    fn messages(&self) -> Vec<ModelMessage> {
        self.0.iter().map(|entry| entry.message.clone()).collect()
    }
}

/// Returns which results are shortened, in order.
fn left_out(messages: &[ModelMessage]) -> Vec<bool> {
    let result = |part: &MessagePart| match part {
        MessagePart::ToolResult(result) => match &*result.outcome {
            Outcome::Success(output) => Some(output.joined_text().starts_with("[Result left out")),
            Outcome::Error(_) => Some(false),
        },
        _ => None,
    };
    messages.iter().flat_map(|message| &message.parts).filter_map(result).collect()
}

#[test]
fn a_conversation_that_fits_is_sent_unchanged() {
    let talk = HistoryBuilder::default().user(100).round(2000).answer(100);
    let plan = talk.plan(10_000);
    assert_eq!(plan.messages, talk.messages());
    assert_eq!((plan.warning, plan.compacted, plan.summary_request, plan.fits), (None, None, None, true));
    // Calculated by hand: (100+32) + (3+32) + (2001+32) + (100+32) bytes, each message in quarters.
    assert_eq!(plan.tokens, 33 + 9 + 509 + 33);
}

#[test]
fn with_an_unknown_context_size_everything_is_sent() {
    let talk = HistoryBuilder::default().user(100).round(1_000_000).answer(100);
    let plan = talk.plan_with(None, &ContextSettings::default());
    assert_eq!((plan.messages, plan.fits), (talk.messages(), true));
    assert!(plan.tokens > 250_000);
}

#[test]
fn a_nearly_full_context_causes_a_warning() {
    let talk = HistoryBuilder::default().user(3300);
    assert_eq!(talk.plan(1042).warning, None);
    let plan = talk.plan(1000);
    assert_eq!(plan.warning.as_deref(), Some("the conversation takes about 83 % of what the model can read"));
    assert_eq!((plan.messages, plan.compacted), (talk.messages(), None));
}

#[test]
fn old_results_are_shortened_first() {
    // Six rounds of a thousand tokens each; at 5,000 they exceed four fifths with the fourth.
    let mut talk = HistoryBuilder::default().user(10);
    for _ in 0..6 {
        talk = talk.round(4000);
    }
    let plan = talk.plan(5000);
    // The fourth shortened the first; the sixth shortens all but the newest three.
    assert_eq!(left_out(&plan.messages), [true, true, true, false, false, false]);
    assert_eq!(plan.compacted.as_deref(), Some("3 older tool results were omitted to make room"));
    assert_eq!((plan.summary_request, plan.fits), (None, true));
    // Each is replaced by a note about it.
    let MessagePart::ToolResult(note) = &plan.messages[2].parts[0] else { panic!("no result") };
    let Outcome::Success(output) = &*note.outcome else { panic!("no success") };
    let text = output.joined_text();
    assert!(
        text.contains("4001 bytes") && text.contains(&format!("`toolway calls show {}`", id(2))),
        "{text}"
    );
    assert_eq!(note.call_id, id(2));
}

#[test]
fn shortened_results_stay_shortened_and_no_more_than_needed() {
    let mut talk = HistoryBuilder::default().user(10);
    let mut before: Vec<ModelMessage> = Vec::new();
    let mut changes = 0;
    for round in 1..=40 {
        talk = talk.round(4000);
        let plan = talk.plan(20_000);
        assert!(plan.tokens <= 20_000 && plan.fits, "{round}: {}", plan.tokens);
        assert_eq!(plan.summary_request, None);
        // A provider's cache stays valid if the earlier messages are the same.
        if !plan.messages.starts_with(&before) {
            changes += 1;
        }
        before = plan.messages;
    }
    // Sixteen rounds fill the context; after that, thirteen are shortened at a time.
    assert!((1..=3).contains(&changes), "{changes}");
}

#[test]
fn small_results_and_errors_are_not_shortened() {
    let mut talk = HistoryBuilder::default().user(10);
    for _ in 0..10 {
        talk = talk.round(500);
    }
    let plan = talk.plan(1700);
    assert_eq!(left_out(&plan.messages), [false; 10]);
    assert!(plan.warning.is_some() && plan.compacted.is_none());
}

#[test]
fn images_count_and_are_omitted_with_their_results() {
    let mut talk = HistoryBuilder::default().user(10).round(0).round(0).round(0).round(0);
    for entry in &mut talk.0 {
        if let MessagePart::ToolResult(result) = &mut entry.message.parts[0] {
            let picture = ContentPart::Image { data: "x".repeat(100_000), mime_type: "image/png".to_owned() };
            result.outcome = Arc::new(Outcome::Success(ToolOutput::new(vec![picture], None)));
        }
    }
    let plan = talk.plan(7000);
    assert_eq!(left_out(&plan.messages), [true, false, false, false]);
    assert!((4800..5100).contains(&plan.tokens), "{}", plan.tokens);
    let MessagePart::ToolResult(note) = &plan.messages[2].parts[0] else { panic!("no result") };
    let Outcome::Success(output) = &*note.outcome else { panic!("no success") };
    assert!(output.joined_text().contains("1 bytes and a picture"), "{}", output.joined_text());
}

#[test]
fn the_oldest_messages_are_summarised_next() {
    // Twenty exchanges of two hundred tokens and a question.
    let mut talk = HistoryBuilder::default();
    for _ in 0..20 {
        talk = talk.user(380).answer(380);
    }
    let talk = talk.user(380);
    let plan = talk.plan(10_000);
    assert_eq!((plan.summary_request, plan.fits), (None, true));
    let plan = talk.plan(4000);
    let summarise = plan.summary_request.unwrap();
    // The rest takes half of the context including a summary of 1,500 tokens: 500 tokens, four messages of
    // 103. The first of these is an answer, so it begins with the next one.
    assert_eq!(summarise.through, 38);
    assert_eq!(plan.messages.len(), 1 + 3);
    assert!(plan.messages[0].text().contains("left out"));
    assert_eq!(plan.messages[1..], talk.messages()[38..]);
    assert_eq!(plan.compacted.as_deref(), Some("38 older messages were omitted to make room"));
    // The summary can read four fifths of the context: thirty messages, and a note that there were more.
    assert_eq!(summarise.messages.len(), 30 + 1);
    assert!(plan.fits);
}

#[test]
fn a_summary_replaces_the_messages_that_it_covers() {
    let mut talk = HistoryBuilder::default();
    for _ in 0..20 {
        talk = talk.user(380).answer(380);
    }
    let talk = talk.user(380).summary(36);
    let plan = talk.plan(4000);
    assert_eq!((plan.summary_request, plan.compacted, plan.fits), (None, None, true));
    let mut expected = vec![talk.0[41].message.clone()];
    expected.extend_from_slice(&talk.messages()[36..41]);
    assert_eq!(plan.messages, expected);
    // It is also part of the next summary.
    let mut talk = talk;
    for _ in 0..20 {
        talk = talk.answer(380).user(380);
    }
    let summarise = talk.plan(4000).summary_request.unwrap();
    assert_eq!(summarise.messages[0].text(), "in short");
    assert!(summarise.through > 36);
}

#[test]
fn a_long_turn_is_summarised_but_keeps_the_persons_message() {
    // One message of the person, and then more rounds than fit even with shortened results.
    let mut talk = HistoryBuilder::default().user(400);
    for _ in 0..60 {
        talk = talk.round(1200);
    }
    let plan = talk.plan(4000);
    let summarise = plan.summary_request.unwrap();
    assert_eq!(summarise.through % 2, 1, "between a call and its result: {}", summarise.through);
    assert_eq!(plan.messages[1], talk.0[0].message);
    assert_eq!(plan.messages[2].role, MessageRole::Assistant);
    assert!(plan.fits && plan.tokens <= 4000, "{}", plan.tokens);
    // The newest three rounds are complete.
    let left = left_out(&plan.messages);
    assert_eq!(left[left.len() - 3..], [false; 3]);
    // After the summary, the person's message follows it.
    let through = summarise.through;
    let after = talk.summary(through).plan(4000);
    assert_eq!(after.summary_request, None);
    assert_eq!(after.messages[0].text(), "in short");
    assert_eq!(after.messages[1].text(), "u".repeat(400));
}

#[test]
fn the_newest_results_are_shortened_if_nothing_else_helps() {
    let talk = HistoryBuilder::default().user(100).round(40_000);
    let plan = talk.plan(4000);
    assert_eq!((plan.summary_request, plan.fits), (None, true));
    assert_eq!(left_out(&plan.messages), [true]);
    // A question that is too long on its own does not fit.
    let plan = HistoryBuilder::default().user(40_000).plan(4000);
    assert_eq!((plan.summary_request, plan.fits), (None, false));
    assert_eq!(plan.messages.len(), 1);
}

#[test]
fn the_input_of_a_summary_fits_the_model() {
    let mut talk = HistoryBuilder::default();
    for _ in 0..200 {
        talk = talk.user(3000).answer(3000);
    }
    let talk = talk.user(10);
    let summarise = talk.plan(8000).summary_request.unwrap();
    let counter = TokenCounter::default();
    let tokens: u64 = summarise.messages.iter().map(|message| counter.message_tokens(message)).sum();
    assert!(tokens <= 6400, "{tokens}");
    assert!(summarise.messages[0].text().contains("left out"));
    // It includes the newest of the omitted messages.
    let at = usize::try_from(summarise.through).unwrap() - 1;
    assert_eq!(summarise.messages.last(), Some(&talk.0[at].message));
}

#[test]
fn tokens_are_reserved_for_the_answer() {
    let settings = ContextSettings { reserve: 1000, ..ContextSettings::default() };
    assert_eq!(history_budget(10_000, None, &settings), 9000);
    assert_eq!(history_budget(2000, None, &settings), 1500);
    assert_eq!(history_budget(10_000, Some(4000), &settings), 6000);
    assert_eq!(history_budget(10_000, Some(100_000), &settings), 5000);
    assert_eq!(history_budget(0, None, &settings), 0);
}

#[test]
fn reported_tokens_calibrate_the_estimate() {
    let mut counter = TokenCounter::default();
    assert_eq!(counter.tokens(4001), 1001);
    counter.calibrate(1000, 1500);
    assert_eq!(counter.tokens(4000), 1500);
    // Small deviations change nothing, so that the next request is counted in the same way.
    counter.calibrate(1500, 1600);
    assert_eq!(counter.tokens(4000), 1500);
    counter.calibrate(1500, 3000);
    assert_eq!(counter.tokens(4000), 3000);
    // Bounded, and not by requests that are too small.
    counter.calibrate(1000, 1_000_000);
    assert_eq!(counter.tokens(4000), 4000);
    counter.calibrate(10, 1);
    counter.calibrate(1000, 0);
    assert_eq!(counter.tokens(4000), 4000);
    // With a calibrated count the request must fit; without, it may exceed the limit slightly.
    let talk = HistoryBuilder::default().user(4800);
    assert!(talk.plan(1000).fits);
    let mut exact = TokenCounter::default();
    exact.calibrate(1000, 1000);
    let input = ContextPlanInput {
        entries: &talk.0,
        system_bytes: 0,
        tools_bytes: 0,
        context_tokens: Some(1000),
        max_output: None,
    };
    assert!(!plan(input, &ContextSettings::default(), &exact).fits);
}

#[test]
fn system_prompt_and_tools_count() {
    let talk = HistoryBuilder::default().user(100);
    let input = ContextPlanInput {
        entries: &talk.0,
        system_bytes: 400,
        tools_bytes: 3600,
        context_tokens: Some(1000),
        max_output: None,
    };
    let settings = ContextSettings { reserve: 0, ..ContextSettings::default() };
    assert_eq!(plan(input, &settings, &TokenCounter::default()).tokens, 1000 + 33);
}

#[test]
fn without_a_summary_first_words_are_kept() {
    let messages = [
        ModelMessage::user("How full\n\n is it?"),
        ModelMessage { role: MessageRole::Tool, parts: vec![] },
        ModelMessage::assistant(format!("87 % {}", "x".repeat(300))),
    ];
    let text = fallback_summary(&messages);
    let expected = format!(
        "{} How the newest of them begin:\nPerson: How full is it?\nAnswer: 87 % {}…",
        summary::LEFT_OUT,
        "x".repeat(195)
    );
    assert_eq!(text, expected);
    let many: Vec<ModelMessage> = (0..100).map(|number| ModelMessage::user(number.to_string())).collect();
    let text = fallback_summary(&many);
    assert!(
        text.contains("Person: 80") && !text.contains("Person: 79") && text.ends_with("Person: 99"),
        "{text}"
    );
}

fn history_strategy() -> impl Strategy<Value = HistoryBuilder> {
    let step = prop_oneof![
        (0..3000_usize).prop_map(|bytes| (0, bytes)),
        (0..3000_usize).prop_map(|bytes| (1, bytes)),
        (0..9000_usize).prop_map(|bytes| (2, bytes)),
    ];
    prop::collection::vec(step, 1..40).prop_map(|steps| {
        steps.into_iter().fold(HistoryBuilder::default().user(20), |talk, (kind, bytes)| match kind {
            0 => talk.user(bytes),
            1 => talk.answer(bytes),
            _ => talk.round(bytes),
        })
    })
}

proptest! {
    #[test]
    fn calls_and_results_stay_together_and_the_persons_message_stays(talk in history_strategy(), context in 500..20_000_u64) {
        let plan = talk.plan(context);
        let last = talk.0.iter().rev().find(|entry| entry.message.role == MessageRole::User).unwrap();
        prop_assert!(plan.messages.contains(&last.message));
        let mut whole = plan.messages.clone();
        let mended = crate::transcript::repair(&mut whole, &|_| None);
        // Except empty texts, which the conversation may contain.
        prop_assert_eq!((mended.unanswered_calls, mended.orphaned_results), (0, 0));
        if let Some(summarise) = &plan.summary_request {
            prop_assert!(summarise.through < talk.next());
            prop_assert!(!summarise.messages.is_empty());
            // With a summary, it is shorter.
            let after = HistoryBuilder(talk.0.clone()).summary(summarise.through).plan(context);
            prop_assert!(after.tokens < talk.plan_with(None, &ContextSettings::default()).tokens);
        } else if plan.fits {
            prop_assert_eq!(plan.messages.len(), talk.0.len());
        }
        prop_assert_eq!(talk.plan(context), plan);
    }
}
