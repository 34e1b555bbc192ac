use super::*;

#[test]
fn a_state_counts_once_and_for_what_it_was_given_for() {
    let states = RequestStates::default();
    let progress = AnsweredSoFar { answers: [("name".to_owned(), serde_json::json!(1))].into() };
    let state = states.store("tool", progress.clone());
    assert!(states.take("other", &state).is_err());
    assert!(states.take("tool", &format!("{state}-TAMPERED")).is_err());
    assert_eq!(states.take("tool", &state).unwrap(), progress);
    assert!(states.take("tool", &state).is_err());
}
