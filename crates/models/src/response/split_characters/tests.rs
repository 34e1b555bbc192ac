use super::*;

/// Passes events through a joiner, and returns the data of those that come out.
fn join(events: &[&[u8]]) -> Vec<String> {
    let (mut joiner, mut out) = (SplitCharacterJoiner::default(), Vec::new());
    let mut each = |event: &SseEvent<'_>| {
        out.push(event.data.clone().into_owned());
        Ok::<_, ()>(())
    };
    for data in events {
        let event = SseEvent {
            name: Cow::Borrowed(if *data == b"{}" { "ping" } else { "" }),
            data: String::from_utf8_lossy(data),
            bytes: data,
            id: None,
            retry: None,
        };
        joiner.push(&event, &mut each).unwrap();
    }
    joiner.finish(&mut each).unwrap();
    out
}

#[track_caller]
fn assert_joined(events: &[&[u8]], expected: &[&str]) {
    assert_eq!(join(events), expected);
}

#[test]
fn a_surrogate_pair_that_was_cut_is_joined() {
    assert_joined(
        &[br#"{"d":{"content":"hi \ud83d"}}"#, br#"{"d":{"content":"\ude00 there"}}"#],
        &[r#"{"d":{"content":"hi \ud83d\ude00"}}"#, r#"{"d":{"content":" there"}}"#],
    );
    // In two texts of the same events, and in three events in a row.
    assert_joined(
        &[br#"[{"a":"\ud83d","b":"x\ud83c"}]"#, br#"[{"b":"\udf88","a":"\ude00"}]"#],
        &[r#"[{"a":"\ud83d\ude00","b":"x\ud83c\udf88"}]"#, r#"[{"b":"","a":""}]"#],
    );
    assert_joined(
        &[br#"["\ud83d"]"#, br#"["\ude00\ud83c"]"#, br#"["\udf88"]"#],
        &[r#"["\ud83d\ude00"]"#, r#"["\ud83c\udf88"]"#, r#"[""]"#],
    );
}

#[test]
fn a_utf8_character_that_was_cut_is_joined() {
    assert_joined(
        &[b"{\"t\":\"hi \xF0\x9F\"}", b"{\"t\":\"\x98\x80!\"}"],
        &["{\"t\":\"hi 😀\"}", "{\"t\":\"!\"}"],
    );
    assert_joined(&[b"{\"t\":\"caf\xC3\"}", b"{\"t\":\"\xA9\"}"], &["{\"t\":\"café\"}", "{\"t\":\"\"}"]);
}

#[test]
fn a_half_without_its_other_half_becomes_a_replacement() {
    assert_joined(&[br#"{"t":"hi \ud83d"}"#, br#"{"t":"x"}"#], &[r#"{"t":"hi \ufffd"}"#, r#"{"t":"x"}"#]);
    assert_joined(&[br#"{"t":"hi \ud83d"}"#], &[r#"{"t":"hi \ufffd"}"#]);
    assert_joined(&[br#"{"t":"\ude00 there"}"#], &[r#"{"t":"\ufffd there"}"#]);
    assert_joined(&[b"{\"t\":\"caf\xE9 x\"}"], &["{\"t\":\"caf\u{FFFD} x\"}"]);
    // The other half is in another text.
    assert_joined(&[br#"{"a":"\ud83d"}"#, br#"{"b":"\ude00"}"#], &[r#"{"a":"\ufffd"}"#, r#"{"b":"\ufffd"}"#]);
    // The backslash is escaped, so this is no half.
    assert_joined(&[br#"{"t":"\\ud83d","x":"\ud83d."}"#], &[r#"{"t":"\\ud83d","x":"\ufffd."}"#]);
}

#[test]
fn other_events_pass_unchanged_and_a_ping_does_not_separate() {
    assert_joined(&[b"[DONE]", br#"{"t":"\ud83d\ude00"}"#], &["[DONE]", r#"{"t":"\ud83d\ude00"}"#]);
    assert_joined(
        &[br#"{"t":"\ud83d"}"#, b"{}", br#"{"t":"\ude00"}"#],
        &["{}", r#"{"t":"\ud83d\ude00"}"#, r#"{"t":""}"#],
    );
    assert_joined(&[b"\xFF not JSON \""], &["\u{FFFD} not JSON \""]);
    assert_joined(
        &[&[b"[".repeat(500).as_slice(), br#""\ud83d""#].concat()],
        &[&format!("{}\"\\ufffd\"", "[".repeat(500))],
    );
}
