use serde_json::Value;
use toolway_wire::client_message::app_providers::{AppProviderInfo, AppProviderScope};

use super::*;

fn flagged(reason: impl Into<String>) -> AppProviderNote {
    AppProviderNote { kind: AppProviderNoteKind::Flagged, tool: None, reason: reason.into() }
}

fn app(label: &str) -> AppProvider {
    AppProvider { label: label.to_owned(), ..AppProvider::default() }
}

/// Collects every text in a value.
fn texts(value: &Value) -> Vec<&str> {
    match value {
        Value::String(text) => vec![text],
        Value::Array(items) => items.iter().flat_map(texts).collect(),
        Value::Object(fields) => fields.values().flat_map(texts).collect(),
        _ => Vec::new(),
    }
}

#[test]
fn long_texts_are_shortened_with_an_ellipsis() {
    let long = "ä".repeat(MAX_TEXT + 1);
    let text = || long.clone();
    let provider = AppProvider {
        authority: text(),
        package: text(),
        label: text(),
        prefix: Some(text()),
        dialect: text(),
        reason: Some(text()),
        hint: Some(text()),
        info: Some(AppProviderInfo {
            name: text(),
            description: Some(text()),
            scopes: vec![AppProviderScope { name: text(), description: Some(text()) }],
        }),
        tools: vec![text()],
        notes: vec![AppProviderNote { tool: Some(text()), ..flagged(text()) }],
        ..AppProvider::default()
    };
    let written = serde_json::to_value(truncate_to_limits(vec![provider])).unwrap();
    let expected = format!("{}…", "ä".repeat(1999));
    let (words, cut): (Vec<&str>, Vec<&str>) = texts(&written).into_iter().partition(|text| text.len() < 100);
    assert_eq!(words, ["flagged", "ready"]);
    assert_eq!(cut, [expected.as_str(); 14]);
    // A text of exactly the maximum length stays.
    let fits = app(&"ä".repeat(MAX_TEXT));
    assert_eq!(truncate_to_limits(vec![fits.clone()]), [fits]);
}

#[test]
fn long_lists_are_shortened_with_a_note() {
    let provider = AppProvider {
        tools: (0..5000).map(|number| format!("t{number}")).collect(),
        notes: (0..70).map(|number| flagged(format!("note {number}"))).collect(),
        info: Some(AppProviderInfo {
            scopes: vec![AppProviderScope::default(); 100],
            ..AppProviderInfo::default()
        }),
        ..app("many")
    };
    let cut = truncate_to_limits(vec![provider]).remove(0);
    assert_eq!((cut.tools.len(), cut.tools.last().unwrap().as_str()), (4096, "t4095"));
    assert_eq!(cut.info.unwrap().scopes.len(), 64);
    assert_eq!(cut.notes.len(), 64);
    assert_eq!(cut.notes[0], flagged("904 of its tools are not listed here"));
    assert_eq!(cut.notes[62], flagged("note 61"));
    assert_eq!(cut.notes[63], flagged("8 more notes are not listed here"));
    // A refusal among the omitted notes stays visible.
    let mut notes = vec![flagged("odd"); 64];
    notes.push(AppProviderNote { kind: AppProviderNoteKind::Refused, ..flagged("bad") });
    let cut = truncate_to_limits(vec![AppProvider { notes, ..app("bad") }]).remove(0);
    assert_eq!(cut.notes[63].kind, AppProviderNoteKind::Refused);
    assert_eq!(cut.notes[63].reason, "2 more notes are not listed here");
    // The maximum number of apps.
    assert_eq!(truncate_to_limits(vec![app("a"); 1025]).len(), 1024);
}

#[test]
fn a_frame_is_never_larger_than_the_gateway_accepts() {
    let told = |frame: &str| match ClientMessage::decode(frame).unwrap() {
        ClientMessage::AppProviders(message) => message.providers.len(),
        other => panic!("{other:?}"),
    };
    let apps = vec![AppProvider { notes: vec![flagged("x".repeat(2000)); 64], ..app("large") }; 40];
    let frame = frame(&apps, 16 << 20);
    assert!(frame.len() <= MAX_BYTES);
    assert_eq!(told(&frame), 20, "each takes 130 KB: 40 are more than 4 MiB, half of them are not");
    let small = super::frame(&apps, 200_000);
    assert_eq!(told(&small), 1);
    assert_eq!(told(&super::frame(&apps, 1000)), 0);
}
