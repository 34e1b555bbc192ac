use std::sync::Arc;

use serde_json::{Value, json};
use tokio::sync::oneshot;
use toolway_types::PrincipalId;

use super::*;
use crate::client_link::InputRequestError;
use crate::server::principal_quota::PrincipalQuota;

type Answers = oneshot::Receiver<Result<InputResponses, InputRequestError>>;

fn form(message: &str) -> InputRequest {
    let schema = json!({"type": "object", "properties": {}});
    let params = json!({"mode": "form", "message": message, "requestedSchema": schema});
    serde_json::from_value(json!({"method": "elicitation/create", "params": params})).unwrap()
}

fn answers<const N: usize>(answers: [(&str, &str); N]) -> InputResponses {
    answers.into_iter().map(|(key, answer)| (key.to_owned(), Value::from(answer))).collect()
}

/// Asks questions with these keys together. `None` if the task has too many.
fn ask(questions: &mut TaskQuestions, keys: &[&str]) -> Option<Answers> {
    let (sender, receiver) = oneshot::channel();
    let requests = keys.iter().map(|key| ((*key).to_owned(), form(key))).collect();
    let permit = Arc::<PrincipalQuota>::default().acquire(&PrincipalId::from("ada"), 0).unwrap();
    questions.add(requests, PendingAnswer::Answers(sender), permit).ok().map(|()| receiver)
}

fn open(questions: &mut TaskQuestions) -> Vec<String> {
    questions.open_requests().into_keys().map(str::to_owned).collect()
}

#[test]
fn questions_of_two_askers_are_open_at_once_under_keys_of_their_own() {
    let mut questions = TaskQuestions::default();
    let _first = ask(&mut questions, &["question"]).unwrap();
    let _second = ask(&mut questions, &["question"]).unwrap();
    assert_eq!(open(&mut questions), ["question", "question-2"]);
    let [first] = questions.answer(answers([("question", "a")])).try_into().ok().unwrap();
    assert_eq!(first.answers, answers([("question", "a")]));
    assert_eq!(open(&mut questions), ["question-2"]);
    let [second] = questions.answer(answers([("question-2", "b")])).try_into().ok().unwrap();
    assert_eq!(second.answers, answers([("question", "b")]), "each asker gets its own key back");
    assert!(open(&mut questions).is_empty());
}

#[test]
fn both_answers_can_come_in_one_update() {
    let mut questions = TaskQuestions::default();
    let _first = ask(&mut questions, &["question"]).unwrap();
    let _second = ask(&mut questions, &["question"]).unwrap();
    let answered = questions.answer(answers([("question", "a"), ("question-2", "b"), ("other", "c")]));
    assert_eq!(answered.len(), 2);
    assert!(open(&mut questions).is_empty());
}

#[test]
fn questions_of_one_asker_are_complete_when_all_have_answers() {
    let mut questions = TaskQuestions::default();
    let _asker = ask(&mut questions, &["name", "sure"]).unwrap();
    assert!(questions.answer(answers([("sure", "yes")])).is_empty());
    assert_eq!(open(&mut questions), ["name"]);
    // An answer counts once.
    assert!(questions.answer(answers([("sure", "no")])).is_empty());
    let [group] = questions.answer(answers([("name", "Ada")])).try_into().ok().unwrap();
    assert_eq!(group.answers, answers([("name", "Ada"), ("sure", "yes")]));
}

#[test]
fn an_old_answer_never_fits_a_later_question() {
    let mut questions = TaskQuestions::default();
    let _first = ask(&mut questions, &["question"]).unwrap();
    assert_eq!(questions.answer(answers([("question", "a")])).len(), 1);
    let _second = ask(&mut questions, &["question"]).unwrap();
    assert!(questions.answer(answers([("question", "a")])).is_empty(), "a replay");
    assert_eq!(open(&mut questions), ["question-2"]);
}

#[test]
fn a_question_without_an_asker_is_not_shown_any_more() {
    let mut questions = TaskQuestions::default();
    let first = ask(&mut questions, &["question"]).unwrap();
    let _second = ask(&mut questions, &["question"]).unwrap();
    drop(first);
    assert_eq!(open(&mut questions), ["question-2"]);
    assert!(questions.answer(answers([("question", "late")])).is_empty());
}

#[test]
fn the_number_of_questions_is_bounded_at_once_and_in_total() {
    let mut questions = TaskQuestions::default();
    let askers: Vec<_> = (0..MAX_OPEN).map(|_| ask(&mut questions, &["question"]).unwrap()).collect();
    assert!(ask(&mut questions, &["question"]).is_none());
    drop(askers);
    for _ in MAX_OPEN..MAX_ASKED {
        drop(ask(&mut questions, &["question"]).unwrap());
    }
    assert!(ask(&mut questions, &["question"]).is_none());
}
