use proptest::prelude::*;

use super::*;

/// The events of a stream that comes in pieces of this size, as name and data.
fn events(stream: &[u8], piece: usize) -> Vec<(String, String)> {
    let mut parser = SseParser::default();
    let mut all = Vec::new();
    for bytes in stream.chunks(piece) {
        parser.push(bytes);
        while let Some(event) = parser.next_event().unwrap() {
            all.push((event.name.into_owned(), event.data.into_owned()));
        }
    }
    all
}

#[track_caller]
fn check(stream: &str, expected: &[(&str, &str)]) {
    for piece in 1..=stream.len().max(1) {
        let events = events(stream.as_bytes(), piece);
        let events: Vec<_> = events.iter().map(|(name, data)| (name.as_str(), data.as_str())).collect();
        assert_eq!(events, expected, "in pieces of {piece}");
    }
}

#[test]
fn the_examples_of_the_specification_are_parsed() {
    // WHATWG HTML, 9.2.6, "Interpreting an event stream".
    check("data: YHOO\ndata: +2\ndata: 10\n\n", &[("", "YHOO\n+2\n10")]);
    check(
        ": test stream\n\ndata: first event\nid: 1\n\ndata:second event\nid\n\ndata:  third event\n\n",
        &[("", "first event"), ("", "second event"), ("", " third event")],
    );
    check("data\n\ndata\ndata\n\ndata:", &[("", ""), ("", "\n")]);
    check("data:test\n\ndata: test\n\n", &[("", "test"), ("", "test")]);
    check("event: add\ndata: 1\n\nevent: remove\ndata: 2\n\n", &[("add", "1"), ("remove", "2")]);
}

#[test]
fn lines_end_in_lf_cr_or_both() {
    for end in ["\n", "\r", "\r\n"] {
        check(&format!("data: a{end}data: b{end}{end}data: c{end}{end}"), &[("", "a\nb"), ("", "c")]);
    }
    check("data: a\r\rdata: b\n\r\n", &[("", "a"), ("", "b")]);
}

#[test]
fn an_event_without_data_is_skipped_with_its_name() {
    check("event: ping\n\ndata: x\n\n", &[("", "x")]);
    check("\n\n\n", &[]);
    check(":comment\n:\n\n", &[]);
    check("retry: 10\nid: 7\nfoo: bar\nfoo\n\n", &[]);
}

#[test]
fn a_byte_order_mark_is_skipped_only_at_the_beginning() {
    check("\u{FEFF}data: a\n\n", &[("", "a")]);
    check("\n\u{FEFF}data: a\n\n", &[]);
    check("data: a\n\u{FEFF}data: b\n\n", &[("", "a")]);
}

#[test]
fn characters_may_be_split_and_invalid_utf8_is_replaced() {
    check("data: zwölf €uro 🦀\n\n", &[("", "zwölf €uro 🦀")]);
    assert_eq!(events(b"data: a\xFFb\n\n", 3), [(String::new(), "a\u{FFFD}b".to_owned())]);
}

#[test]
fn an_unfinished_event_is_available_at_the_end() {
    let mut parser = SseParser::default();
    parser.push(b"data: a\n\nevent: x\ndata: b\ndata: c");
    assert_eq!(parser.next_event().unwrap().unwrap().data, "a");
    assert_eq!(parser.next_event().unwrap(), None);
    let last = parser.last_event().unwrap();
    assert_eq!((&*last.name, &*last.data), ("x", "b\nc"));
    assert_eq!(parser.last_event(), None);
}

#[test]
fn the_size_of_an_event_is_bounded() {
    let long = "x".repeat(100);
    // One line without end, one long line, many lines.
    for stream in [format!("data: {long}"), format!("data: {long}\n\n"), "data: xxxxxxxx\n".repeat(10)] {
        let mut parser = SseParser::with_limit(64);
        parser.push(stream.as_bytes());
        assert_eq!(parser.next_event(), Err(EventTooLong(64)), "{stream}");
    }
    let mut parser = SseParser::with_limit(64);
    for _ in 0..1000 {
        parser.push(b": a comment, and many of them\ndata: short\n\n");
        assert_eq!(parser.next_event().unwrap().unwrap().data, "short");
    }
    assert!(parser.buffer.capacity() <= MAX_KEPT_CAPACITY);
}

/// Everything in an event: name, data, id and time to wait.
type WholeEvent = (String, String, Option<String>, Option<u64>);

#[test]
fn events_without_data_are_given_out_where_they_are_wanted() {
    const STREAM: &str = "\u{feff}: a comment\n\
        id: 1\nretry: 2500\ndata:\n\n\
        event: endpoint\r\ndata: /messages?x=1\r\n\r\n\
        data: {\"a\":\r\rdata\n\n\
        data: one\ndata:two\nid: 7\n\nid: 8\n\nretry: 1x\nid: a\0b\nignored: x\n\ndata: cut";
    let event = |name: &str, data: &str, id: Option<&str>, retry: Option<u64>| -> WholeEvent {
        (name.to_owned(), data.to_owned(), id.map(str::to_owned), retry)
    };
    let expected = [
        event("", "", Some("1"), Some(2500)),
        event("endpoint", "/messages?x=1", None, None),
        event("", "{\"a\":", None, None),
        event("", "", None, None),
        event("", "one\ntwo", Some("7"), None),
        event("", "", Some("8"), None),
    ];
    for size in [1, 2, 3, 7, 1000] {
        let mut parser = SseParser::with_limit(1000).including_empty();
        let mut all = Vec::new();
        for piece in STREAM.as_bytes().chunks(size) {
            parser.push(piece);
            while let Some(event) = parser.next_event().unwrap() {
                assert_eq!(event.data.as_bytes(), event.bytes);
                let id = event.id.map(Cow::into_owned);
                all.push((event.name.into_owned(), event.data.into_owned(), id, event.retry));
            }
        }
        assert_eq!(all, expected, "in pieces of {size}");
    }
}

#[test]
fn data_that_is_not_utf8_is_there_byte_for_byte() {
    let mut parser = SseParser::default();
    parser.push(b"data: a\xFFb\n\n");
    assert_eq!(parser.next_event().unwrap().unwrap().bytes, b"a\xFFb");
}

#[test]
fn the_lines_of_an_event_add_up() {
    let mut parser = SseParser::with_limit(10);
    parser.push(b"data: 0123456789abc");
    assert_eq!(parser.next_event(), Err(EventTooLong(10)));
    let mut parser = SseParser::with_limit(16);
    parser.push(b"data: 01234\n");
    assert_eq!(parser.next_event(), Ok(None));
    parser.push(b"data: 56789\n");
    assert_eq!(parser.next_event(), Err(EventTooLong(16)));
}

proptest! {
    #[test]
    fn it_makes_no_difference_where_bytes_are_cut(
        lines in proptest::collection::vec("(data|event|id|:|\u{FEFF}data)?:? ?[a-c€\u{1F980}]{0,4}(\n|\r|\r\n){1,2}", 0..12),
        cuts in proptest::collection::vec(1usize..9, 1..40),
    ) {
        let stream = lines.concat().into_bytes();
        let whole = events(&stream, stream.len().max(1));
        let (mut parser, mut all, mut rest) = (SseParser::default(), Vec::new(), stream.as_slice());
        for cut in cuts.into_iter().cycle() {
            let (piece, after) = rest.split_at(cut.min(rest.len()));
            parser.push(piece);
            while let Some(event) = parser.next_event().unwrap() {
                all.push((event.name.into_owned(), event.data.into_owned()));
            }
            rest = after;
            if rest.is_empty() {
                break;
            }
        }
        prop_assert_eq!(all, whole);
    }

    #[test]
    fn any_bytes_are_read(bytes in proptest::collection::vec(any::<u8>(), 0..200), piece in 1usize..8) {
        events(&bytes, piece);
    }
}
