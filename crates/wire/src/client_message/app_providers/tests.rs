use super::*;
use crate::{ClientMessage, FrameError};

fn provider(more: &str) -> String {
    format!(
        r#"{{"type":"app_providers","providers":[{{"authority":"a.b","package":"a","label":"A","dialect":"cetp",
            "state":"ready"{more}}}]}}"#
    )
}

#[track_caller]
fn read(frame: &str) -> Vec<AppProvider> {
    match ClientMessage::decode(frame) {
        Ok(ClientMessage::AppProviders(message)) => message.providers,
        other => panic!("{frame}: {other:?}"),
    }
}

#[test]
fn a_complete_provider_survives_decoding_and_encoding() {
    let frame = provider(
        r#","prefix":"a","version":2,"reason":"r","hint":"h",
            "info":{"name":"N","description":"D","scopes":[{"name":"s","description":"d"}]},
            "tools":["a__x","a__y"],
            "notes":[{"kind":"flagged","reason":"odd"},{"kind":"refused","tool":"z","reason":"no schema"}]"#,
    );
    let expected = AppProvider {
        authority: "a.b".into(),
        package: "a".into(),
        label: "A".into(),
        prefix: Some("a".into()),
        dialect: dialect::CETP.into(),
        version: Some(2),
        state: AppProviderState::Ready,
        reason: Some("r".into()),
        hint: Some("h".into()),
        info: Some(AppProviderInfo {
            name: "N".into(),
            description: Some("D".into()),
            scopes: vec![AppProviderScope { name: "s".into(), description: Some("d".into()) }],
        }),
        tools: vec!["a__x".into(), "a__y".into()],
        notes: vec![
            AppProviderNote { kind: AppProviderNoteKind::Flagged, tool: None, reason: "odd".into() },
            AppProviderNote {
                kind: AppProviderNoteKind::Refused,
                tool: Some("z".into()),
                reason: "no schema".into(),
            },
        ],
    };
    assert_eq!(read(&frame), std::slice::from_ref(&expected));
    let message = ClientMessage::from(AppProviders { providers: vec![expected.clone()] });
    assert_eq!(read(&message.encode()), [expected]);
}

#[test]
fn missing_null_and_unknown_fields_are_accepted() {
    let least = read(&provider(""));
    let null =
        r#","prefix":null,"version":null,"reason":null,"hint":null,"info":null,"tools":null,"notes":null"#;
    assert_eq!(read(&provider(null)), least);
    assert_eq!(read(&provider(r#","certificate":{"sha256":"00"},"since":7"#)), least);
    let info = r#","info":{"name":"N","scopes":null,"icon":[]}"#;
    assert_eq!(
        read(&provider(info))[0].info,
        Some(AppProviderInfo { name: "N".into(), ..AppProviderInfo::default() })
    );
}

/// A gateway shows unknown dialects unchanged, so newer devices work with older gateways.
#[test]
fn an_unknown_dialect_is_kept_unchanged() {
    for word in ["mcp-d", "", "CETP\u{1b}[31m", "\u{202e}"] {
        let frame = provider("").replace(r#""cetp""#, &serde_json::to_string(word).unwrap());
        assert_eq!(read(&frame)[0].dialect, word);
    }
}

#[test]
fn every_enum_value_has_its_protocol_name() {
    for (state, word) in [
        (AppProviderState::Ready, "ready"),
        (AppProviderState::AuthorizationRequired, "authorization_required"),
        (AppProviderState::Unavailable, "unavailable"),
        (AppProviderState::Refused, "refused"),
    ] {
        assert_eq!((state.as_str(), serde_json::to_value(state).unwrap()), (word, word.into()));
    }
    for (kind, word) in [(AppProviderNoteKind::Refused, "refused"), (AppProviderNoteKind::Flagged, "flagged")]
    {
        assert_eq!((kind.as_str(), serde_json::to_value(kind).unwrap()), (word, word.into()));
    }
}

#[test]
fn a_field_of_the_wrong_form_is_refused_with_a_reason() {
    for (what, frame) in [
        ("state", provider("").replace(r#""ready""#, r#""sleeping""#)),
        ("no authority", provider("").replace("authority", "authorities")),
        ("two labels", provider(r#","label":"B""#)),
        ("version", provider(r#","version":"one""#)),
        ("version out of bounds", provider(r#","version":1e30"#)),
        ("tools", provider(r#","tools":[1]"#)),
        ("kind", provider(r#","notes":[{"kind":"praised","reason":"r"}]"#)),
        ("no reason", provider(r#","notes":[{"kind":"flagged"}]"#)),
        ("scopes", provider(r#","info":{"name":"N","scopes":{}}"#)),
        ("providers", r#"{"type":"app_providers","providers":{}}"#.to_owned()),
        ("a provider", r#"{"type":"app_providers","providers":["a"]}"#.to_owned()),
    ] {
        match ClientMessage::decode(&frame) {
            Err(FrameError::BadField { kind, .. }) => assert_eq!(kind, "app_providers"),
            other => panic!("{what}: {other:?}"),
        }
    }
    let deep = format!("{}{}", "[".repeat(200), "]".repeat(200));
    let refused = ClientMessage::decode(&provider(&format!(r#","x":{deep}"#)));
    assert!(matches!(refused, Err(FrameError::InvalidJson(_))), "{refused:?}");
}
