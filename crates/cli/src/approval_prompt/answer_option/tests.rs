use serde_json::{Value, json};

use super::*;

fn question(session: bool, agent: bool, changed_tool: bool) -> PendingApproval {
    serde_json::from_value(json!({
        "id": "q", "changed_tool": changed_tool, "tool_id": "x/y", "principal": "p", "reason": "r",
        "agent": if agent { json!("home") } else { Value::Null },
        "session_id": if session { json!("s") } else { Value::Null },
        "arguments": {}, "created_ms": 0, "expires_ms": 1,
    }))
    .unwrap()
}

fn letters(question: &PendingApproval, is_owner: bool) -> String {
    answer_options(question, is_owner).iter().map(|offer| offer.key).collect()
}

/// The gateway rejects answers for an agent or forever from anyone but owners.
#[test]
fn answers_depend_on_the_role() {
    assert_eq!(letters(&question(true, true, false), true), "gstadn");
    assert_eq!(letters(&question(false, false, false), true), "gadn");
    assert_eq!(letters(&question(true, true, false), false), "gsdn");
    assert_eq!(letters(&question(false, true, false), false), "gd");
    assert_eq!(letters(&question(true, true, true), true), "gad");
}

#[test]
fn never_has_the_longest_scope_allowed() {
    let answer =
        |is_owner| match_answer(&answer_options(&question(true, false, false), is_owner), "n").unwrap();
    assert_eq!(answer(true).scope, ApprovalScope::Always);
    assert_eq!(answer(false).scope, ApprovalScope::Session);
}

#[test]
fn letters_and_words_are_accepted() {
    let offers = answer_options(&question(true, true, false), true);
    for (typed, answer) in [("g", ONCE), ("Grant", ONCE), ("s\n", SESSION), ("AGENT", AGENT), ("deny", DENY)]
    {
        assert_eq!(match_answer(&offers, typed), Some(answer.answer), "{typed}");
    }
    for typed in ["", "x", "gr", "g d"] {
        assert_eq!(match_answer(&offers, typed), None, "{typed}");
    }
}
