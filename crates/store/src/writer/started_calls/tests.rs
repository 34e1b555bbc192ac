use toolway_core::caller::EntryPoint;
use toolway_types::Role;

use super::*;
use crate::tests::support::{call, json};

#[test]
fn a_start_is_read_back_as_it_was() {
    let full = OpenedCall {
        name: "odd \"name\"\u{0}".into(),
        principal: PrincipalId::from("t-1"),
        role: Role::Companion,
        via: EntryPoint::Mcp,
        agent: Some("home".into()),
        session: Some("s-1".into()),
        turn: Some("s-1/4".into()),
        arguments: Some(json(r#"{"b": 1.0, "a":[12345678901234567890123]}"#)),
        ..call("phone/battery")
    };
    let calls = [
        full,
        OpenedCall { tool: None, arguments: None, ..call("a/b") },
        OpenedCall { arguments: Some(json("null")), ..call("a/b") },
    ]
    .map(Arc::new);
    let text = encode(&calls.iter().collect::<Vec<_>>(), 1000);
    let read = decode(&text);
    assert_eq!(format!("{read:?}"), format!("{calls:?}"));
    // Texts of about the same number of calls have the same size.
    assert_eq!((text.len(), encode(&[&calls[0]], 1000).len()), (4000, 4000));
}

#[test]
fn long_arguments_are_truncated() {
    let long = format!(r#"{{"a":"{}"}}"#, "x".repeat(3000));
    let call = Arc::new(OpenedCall { arguments: Some(json(&long)), ..call("a/b") });
    let read = decode(&encode(&[&call], 1000));
    assert_eq!(read[0].arguments.as_ref().unwrap().to_value()["total_bytes"], long.len());
}

#[test]
fn an_unreadable_start_does_not_prevent_the_others() {
    assert!(decode("[[").is_empty());
    let call = Arc::new(call("a/b"));
    let text = encode(&[&call, &call], 1000);
    let unknown_role = text.replacen(",0,0,", ",9,0,", 1);
    assert_ne!(text, unknown_role);
    assert_eq!(decode(&unknown_role).len(), 1);
}
