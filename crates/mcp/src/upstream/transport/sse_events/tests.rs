use super::*;

const STREAM: &str = "\u{feff}: a comment\n\
    id: 1\nretry: 2500\ndata:\n\n\
    event: endpoint\r\ndata: /messages?x=1\r\n\r\n\
    data: {\"a\":\r\rdata\n\n\
    data: one\ndata:two\nid: 7\n\nignored: x\n\ndata: cut";

fn event(kind: Option<&str>, data: &str, id: Option<&str>, retry: Option<u64>) -> McpSseEvent {
    McpSseEvent {
        kind: kind.map(str::to_owned),
        data: data.as_bytes().to_vec(),
        id: id.map(str::to_owned),
        retry,
    }
}

#[test]
fn reads_events_however_they_are_cut() {
    let expected = [
        event(None, "", Some("1"), Some(2500)),
        event(Some("endpoint"), "/messages?x=1", None, None),
        event(None, "{\"a\":", None, None),
        event(None, "", None, None),
        event(None, "one\ntwo", Some("7"), None),
    ];
    for size in [1, 2, 3, 7, 1000] {
        let mut events = McpSseParser::new(1000);
        let mut got = Vec::new();
        for piece in STREAM.as_bytes().chunks(size) {
            events.push(piece);
            while let Some(event) = events.next().unwrap() {
                got.push(event);
            }
        }
        assert_eq!(got, expected, "in pieces of {size}");
    }
}

#[test]
fn what_is_too_long_is_refused() {
    let mut events = McpSseParser::new(10);
    events.push(b"data: 0123456789abc");
    assert_eq!(events.next(), Err(SseEventTooLong));
    let mut events = McpSseParser::new(16);
    events.push(b"data: 01234\n");
    assert_eq!(events.next(), Ok(None));
    events.push(b"data: 56789\n");
    assert_eq!(events.next(), Err(SseEventTooLong), "lines add up");
}
