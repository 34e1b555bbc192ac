use super::*;

#[test]
fn keeps_the_last_lines_and_cuts_long_ones() {
    let log = ServerLog::default();
    for number in 0..MAX_LINES + 3 {
        log.add(format!("line {number}").as_bytes());
    }
    let lines = log.lines();
    assert_eq!((lines.len(), lines[0].as_str()), (MAX_LINES, "line 3"));
    log.add(&[b'x'; 5000]);
    assert_eq!(log.last().unwrap().len(), MAX_LINE_BYTES + '…'.len_utf8());
}

#[test]
fn what_cannot_be_seen_is_escaped() {
    let log = ServerLog::default();
    log.add("\u{1b}[31mred\u{202e}\ttab \u{9f}\r\n".as_bytes());
    log.add(b"\xff\xfe");
    assert_eq!(log.lines(), ["\\u{1b}[31mred\\u{202e}\ttab \\u{9f}", "\u{fffd}\u{fffd}"]);
    log.add(b"  ");
    assert_eq!(log.last().unwrap(), "\u{fffd}\u{fffd}", "the last that says something");
}
