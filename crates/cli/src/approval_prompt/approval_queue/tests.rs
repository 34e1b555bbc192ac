use serde_json::{Value, json};
use toolway_api::approvals::{ApprovalDecision, ApprovalScope};

use super::*;

/// Delay after which an answer counts.
const LATER: i64 = 10_000;

fn question(id: &str, more: &Value) -> PendingApproval {
    let mut question = json!({
        "id": id, "kind": "approval", "changed_tool": false, "call_id": "c", "tool": "pixel-8__camera",
        "tool_id": "pixel-8/camera", "principal": "0199", "reason": "the rule \"r\" asks",
        "arguments": {"quality": "low"}, "caller_may_answer": true, "created_ms": 0, "expires_ms": 120_000,
    });
    let (Value::Object(question), Value::Object(more)) = (&mut question, more) else { panic!("objects") };
    question.extend(more.clone());
    serde_json::from_value(Value::Object(question.clone())).unwrap()
}

fn over(id: &str, resolution: &str) -> ApprovalResolved {
    serde_json::from_value(json!({"id": id, "resolution": resolution})).unwrap()
}

fn owner() -> ApprovalQueue {
    ApprovalQueue::new(true, HashMap::from([("0199".to_owned(), "phone".to_owned())]), false)
}

#[track_caller]
fn answered(turn: &QueueOutput) -> (&str, ApprovalDecision, ApprovalScope) {
    let (question, answer) = turn.answer.as_ref().unwrap_or_else(|| panic!("{turn:?}"));
    (&question.id, answer.decision, answer.scope)
}

#[test]
fn an_approval_is_shown_with_all_details() {
    let mut queue = owner();
    let more = json!({"agent": "home", "session_id": "s1", "permission": "files.write"});
    let turn = queue.add_approval(question("q", &more), 0);
    let said = turn.lines.join("\n");
    assert_eq!(
        said,
        "? the rule \"r\" asks\n  tool      pixel-8/camera\n  wants     files.write\n  caller    phone (0199), agent home\n  \
         session   s1\n  arguments {\"quality\":\"low\"}\n  [g]rant once, for this [s]ession, for this agen[t], \
         [a]lways, [d]eny, [n]ever? (2 min 0 s)"
    );
    assert!(queue.is_asking());
}

#[test]
fn a_typed_line_answers_the_shown_approval() {
    let mut queue = owner();
    queue.add_approval(question("one", &json!({})), 0);
    let second = queue.add_approval(question("two", &json!({})), 1);
    assert_eq!(second.lines, ["(1 more approval is pending)"]);
    let turn = queue.handle_line(" G ", LATER);
    assert_eq!(answered(&turn), ("one", ApprovalDecision::Granted, ApprovalScope::Once));
    let (question, answer) = turn.answer.unwrap();
    let next = queue.handle_accepted(&question, &answer, LATER);
    assert_eq!(next.lines[0], "pixel-8/camera: granted once");
    assert_eq!(
        answered(&queue.handle_line("never", 2 * LATER)),
        ("two", ApprovalDecision::DeniedAlways, ApprovalScope::Always)
    );
    assert!(!queue.is_asking());
    assert!(queue.handle_line("g", 3 * LATER).answer.is_none());
}

#[test]
fn an_invalid_answer_asks_again() {
    let mut queue = owner();
    queue.add_approval(question("q", &json!({})), 0);
    // Without a session and an agent, these answers are not offered.
    for line in ["", "yes", "s", "session", "t", "gg"] {
        let turn = queue.handle_line(line, LATER);
        assert!(turn.answer.is_none(), "{line}");
        assert_eq!(turn.lines, ["  [g]rant once, [a]lways, [d]eny, [n]ever? (1 min 50 s)"], "{line}");
    }
}

/// A line typed for one approval must not answer the next one.
#[test]
fn a_line_typed_while_the_approval_changes_is_ignored() {
    let mut queue = owner();
    queue.add_approval(question("one", &json!({})), 0);
    queue.add_approval(question("two", &json!({})), 0);
    let turn = queue.close_approval(&over("one", "expired"), LATER);
    assert_eq!(turn.lines[0], "(pixel-8/camera: nobody answered in time)");
    assert_eq!(turn.lines[1], "? the rule \"r\" asks");
    let turn = queue.handle_line("a", LATER + MIN_ANSWER_DELAY_MS - 1);
    assert!(turn.answer.is_none());
    assert!(turn.lines[0].contains("ignored: "), "{turn:?}");
    assert_eq!(
        answered(&queue.handle_line("a", LATER + MIN_ANSWER_DELAY_MS)),
        ("two", ApprovalDecision::Granted, ApprovalScope::Always)
    );
}

#[test]
fn answers_of_others_are_reported() {
    let mut queue = owner();
    queue.add_approval(question("one", &json!({})), 0);
    queue.add_approval(question("two", &json!({})), 0);
    let over: ApprovalResolved = serde_json::from_value(
        json!({"id": "two", "resolution": "answered", "decision": "denied_always", "scope": "always", "answered_by": "owner"}),
    )
    .unwrap();
    assert_eq!(queue.close_approval(&over, 1).lines, ["(pixel-8/camera: denied for good by owner)"]);
    assert!(queue.close_approval(&over, 1).lines.is_empty(), "of what is not here nothing is said");
    assert!(queue.is_asking(), "the first is still open");
    // The gateway may report the end twice.
    assert!(queue.add_approval(question("one", &json!({})), 2).lines.is_empty());
}

#[test]
fn a_rejected_answer_asks_again() {
    let mut queue = owner();
    queue.add_approval(question("one", &json!({})), 0);
    let (question, _) = queue.handle_line("g", LATER).answer.unwrap();
    let turn = queue.handle_rejected(question, &CliError::new("no connection"), LATER);
    assert_eq!(turn.lines[..2], ["note: no connection", "? the rule \"r\" asks"]);
    let (question, _) = queue.handle_line("d", 2 * LATER).answer.unwrap();
    let gone = CliError::new("no question with this id is open").with_code("approval_not_pending");
    assert_eq!(
        queue.handle_rejected(question, &gone, 2 * LATER).lines,
        ["note: no question with this id is open"]
    );
    assert!(!queue.is_asking());
}

#[test]
fn nothing_is_asked_after_the_end_of_input() {
    let mut queue = owner();
    queue.add_approval(question("one", &json!({})), 0);
    assert!(queue.handle_input_end().lines[0].contains("toolway approvals answer"));
    assert!(!queue.is_asking());
}

/// Arguments, reasons and names are untrusted.
#[test]
fn untrusted_text_in_an_approval_is_escaped() {
    let mut queue = owner();
    let more = json!({
        "tool_id": "x/a\u{1b}[2J", "principal": "p\u{202e}q", "agent": "a\nb", "session_id": "s\u{200b}",
        "reason": "fine\r[g]rant once", "permission": "p\u{7}", "arguments": {"a": "\u{9b}31m"},
    });
    let said = queue.add_approval(question("q", &more), 0).lines.join("");
    assert!(!said.chars().any(toolway_types::name::is_invisible), "{said:?}");
    let long = json!({"arguments": {"a": "x".repeat(10_000)}});
    let said = owner().add_approval(question("q", &long), 0).lines;
    assert!(said.iter().all(|line| line.chars().count() < 2100), "{said:?}");
}
