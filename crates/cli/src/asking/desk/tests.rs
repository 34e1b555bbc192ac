use serde_json::{Value, json};

use super::*;
use crate::asking::question::{Decision, Scope};

/// Long enough after a question to have read it.
const LATER: i64 = 10_000;

fn question(id: &str, more: &Value) -> Question {
    let mut question = json!({
        "id": id, "kind": "approval", "changed_tool": false, "call_id": "c", "tool": "pixel-8__camera",
        "tool_id": "pixel-8/camera", "principal": "0199", "reason": "the rule \"r\" asks",
        "arguments": {"quality": "low"}, "caller_may_answer": true, "asked_ms": 0, "expires_ms": 120_000,
    });
    let (Value::Object(question), Value::Object(more)) = (&mut question, more) else { panic!("objects") };
    question.extend(more.clone());
    serde_json::from_value(Value::Object(question.clone())).unwrap()
}

fn over(id: &str, how: &str) -> Over {
    serde_json::from_value(json!({"id": id, "how": how})).unwrap()
}

fn owner() -> Desk {
    Desk::new(true, HashMap::from([("0199".to_owned(), "phone".to_owned())]), false)
}

#[track_caller]
fn answered(turn: &Turn) -> (&str, Decision, Scope) {
    let (question, answer) = turn.answer.as_ref().unwrap_or_else(|| panic!("{turn:?}"));
    (&question.id, answer.decision, answer.scope)
}

#[test]
fn a_question_is_shown_with_all_that_it_is_about() {
    let mut desk = owner();
    let more = json!({"agent": "home", "session": "s1", "permission": "files.write"});
    let turn = desk.asked(question("q", &more), 0);
    let said = turn.say.join("\n");
    assert_eq!(
        said,
        "? the rule \"r\" asks\n  tool      pixel-8/camera\n  wants     files.write\n  caller    phone (0199), agent home\n  \
         session   s1\n  arguments {\"quality\":\"low\"}\n  [g]rant once, for this [s]ession, for this agen[t], \
         [a]lways, [d]eny, [n]ever? (2 min 0 s)"
    );
    assert!(desk.is_asking());
}

#[test]
fn what_is_typed_answers_the_question_that_is_shown() {
    let mut desk = owner();
    desk.asked(question("one", &json!({})), 0);
    let second = desk.asked(question("two", &json!({})), 1);
    assert_eq!(second.say, ["(another question waits)"]);
    let turn = desk.typed(" G ", LATER);
    assert_eq!(answered(&turn), ("one", Decision::Granted, Scope::Once));
    let (question, answer) = turn.answer.unwrap();
    let next = desk.taken(&question, &answer, LATER);
    assert_eq!(next.say[0], "pixel-8/camera: granted once");
    assert_eq!(answered(&desk.typed("never", 2 * LATER)), ("two", Decision::DeniedAlways, Scope::Always));
    assert!(!desk.is_asking());
    assert!(desk.typed("g", 3 * LATER).answer.is_none());
}

#[test]
fn what_is_not_an_answer_asks_again() {
    let mut desk = owner();
    desk.asked(question("q", &json!({})), 0);
    // There is no session and no agent to grant it for.
    for line in ["", "yes", "s", "session", "t", "gg"] {
        let turn = desk.typed(line, LATER);
        assert!(turn.answer.is_none(), "{line}");
        assert_eq!(turn.say, ["  [g]rant once, [a]lways, [d]eny, [n]ever? (1 min 50 s)"], "{line}");
    }
}

/// Whoever types in answer to one question must not thereby answer another.
#[test]
fn a_line_that_comes_as_the_question_changes_is_not_taken() {
    let mut desk = owner();
    desk.asked(question("one", &json!({})), 0);
    desk.asked(question("two", &json!({})), 0);
    let turn = desk.over(&over("one", "expired"), LATER);
    assert_eq!(turn.say[0], "(pixel-8/camera: nobody answered in time)");
    assert_eq!(turn.say[1], "? the rule \"r\" asks");
    let turn = desk.typed("a", LATER + TOO_SOON_MS - 1);
    assert!(turn.answer.is_none());
    assert!(turn.say[0].contains("was not taken"), "{turn:?}");
    assert_eq!(answered(&desk.typed("a", LATER + TOO_SOON_MS)), ("two", Decision::Granted, Scope::Always));
}

#[test]
fn what_others_answer_is_said() {
    let mut desk = owner();
    desk.asked(question("one", &json!({})), 0);
    desk.asked(question("two", &json!({})), 0);
    let over: Over = serde_json::from_value(
        json!({"id": "two", "how": "answered", "decision": "denied_always", "scope": "always", "by": "owner"}),
    )
    .unwrap();
    assert_eq!(desk.over(&over, 1).say, ["(pixel-8/camera: denied for good by owner)"]);
    assert!(desk.over(&over, 1).say.is_empty(), "of what is not here nothing is said");
    assert!(desk.is_asking(), "the first is still open");
    // It may be told of twice.
    assert!(desk.asked(question("one", &json!({})), 2).say.is_empty());
}

#[test]
fn an_answer_that_is_refused_is_asked_for_again() {
    let mut desk = owner();
    desk.asked(question("one", &json!({})), 0);
    let (question, _) = desk.typed("g", LATER).answer.unwrap();
    let turn = desk.refused(question, &Failure::new("no connection"), LATER);
    assert_eq!(turn.say[..2], ["note: no connection", "? the rule \"r\" asks"]);
    let (question, _) = desk.typed("d", 2 * LATER).answer.unwrap();
    let gone = Failure::new("no question with this id is open").code("question_not_open");
    assert_eq!(desk.refused(question, &gone, 2 * LATER).say, ["note: no question with this id is open"]);
    assert!(!desk.is_asking());
}

#[test]
fn without_input_nothing_is_awaited() {
    let mut desk = owner();
    desk.asked(question("one", &json!({})), 0);
    assert!(desk.input_ended().say[0].contains("toolway approvals answer"));
    assert!(!desk.is_asking());
}

/// Arguments, reasons and names are others' words.
#[test]
fn nothing_in_a_question_can_pretend_to_be_more_than_it_is() {
    let mut desk = owner();
    let more = json!({
        "tool_id": "x/a\u{1b}[2J", "principal": "p\u{202e}q", "agent": "a\nb", "session": "s\u{200b}",
        "reason": "fine\r[g]rant once", "permission": "p\u{7}", "arguments": {"a": "\u{9b}31m"},
    });
    let said = desk.asked(question("q", &more), 0).say.join("");
    assert!(!said.chars().any(toolway_types::name::is_invisible), "{said:?}");
    let long = json!({"arguments": {"a": "x".repeat(10_000)}});
    let said = owner().asked(question("q", &long), 0).say;
    assert!(said.iter().all(|line| line.chars().count() < 2100), "{said:?}");
}
