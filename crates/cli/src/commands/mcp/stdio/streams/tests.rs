use super::*;

#[track_caller]
fn assert_reads(input: &[u8], limit: usize, expected: &[ClientLine]) {
    let mut input = BufReader::with_capacity(3, input);
    let mut lines = Vec::new();
    while let Some(line) = next_line(&mut input, limit) {
        lines.push(line);
    }
    assert_eq!(lines, expected);
}

fn text(text: &str) -> ClientLine {
    ClientLine::Text(text.to_owned())
}

#[test]
fn lines_are_read_as_they_are() {
    assert_reads(b"{\"a\":1}\n\n  \r\n{\"b\":2}\r\n", 100, &[text("{\"a\":1}\n"), text("{\"b\":2}\r\n")]);
    assert_reads("é\n".as_bytes(), 3, &[text("é\n")]);
}

#[test]
fn a_byte_order_mark_is_skipped_and_a_damaged_character_is_replaced() {
    assert_reads(b"\xef\xbb\xbf{}\n", 100, &[text("{}\n")]);
    assert_reads(b"[\"a\xffb\"]\n{}\n", 100, &[text("[\"a\u{fffd}b\"]\n"), text("{}\n")]);
}

#[test]
fn a_line_that_is_too_long_is_skipped() {
    assert_reads(b"0123456789\n{}\n", 5, &[ClientLine::TooLong, text("{}\n")]);
    assert_reads(b"012345\n{}\n", 5, &[ClientLine::TooLong, text("{}\n")]);
    assert_reads(b"01234\n", 5, &[text("01234\n")]);
}

/// A line without a line end was truncated when its writer ended.
#[test]
fn a_last_line_without_a_line_end_is_ignored() {
    assert_reads(b"{}\n{\"cut\":", 100, &[text("{}\n")]);
    assert_reads(b"0123456789", 5, &[]);
    assert_reads(b"", 5, &[]);
}

#[test]
fn a_message_is_written_as_one_line() {
    assert_eq!(to_single_line("{\"a\":1}".to_owned()), "{\"a\":1}\n");
    assert_eq!(to_single_line("{\n\"a\":\r\n1}".to_owned()), "{ \"a\":  1}\n");
}
