use super::*;

/// Reads an answer that comes in pieces of `size` bytes.
#[track_caller]
fn read(answer: &str, size: usize) -> HttpAnswerReader {
    let mut reading = HttpAnswerReader::default();
    let pieces: Vec<&[u8]> = answer.as_bytes().chunks(size).collect();
    let (last, before) = pieces.split_last().unwrap();
    for piece in before {
        reading.buffer.extend_from_slice(piece);
        assert_eq!(reading.advance(), Ok(false));
    }
    reading.buffer.extend_from_slice(last);
    assert_eq!(reading.advance(), Ok(true));
    reading
}

#[test]
fn a_body_with_a_length_is_read_however_it_comes() {
    let answer = "HTTP/1.1 200 OK\r\nContent-Type: application/json\r\nMcp-Session-Id: a-1\r\ncontent-length: 7\r\n\r\n{\"a\":1}";
    for size in [1, 2, 3, 50, 1000] {
        let reading = read(answer, size);
        let HttpAnswer { status, session, body } = reading.answer();
        assert_eq!((*status, session.as_deref(), body.as_slice()), (200, Some("a-1"), &b"{\"a\":1}"[..]));
    }
}

#[test]
fn chunks_are_put_together() {
    let answer =
        "HTTP/1.1 200 OK\r\ntransfer-encoding: chunked\r\n\r\n5\r\ndata:\r\nA;x=y\r\n 123456789\r\n0\r\n\r\n";
    for size in [1, 2, 7, 1000] {
        assert_eq!(read(answer, size).answer().body, b"data: 123456789");
    }
}

#[test]
fn the_next_answer_begins_where_the_last_one_ended() {
    let first = "HTTP/1.1 202 Accepted\r\ncontent-length: 0\r\n\r\n";
    let mut reading = read(first, 1000);
    reading.start_next();
    assert!(!reading.has_head());
    reading.buffer.extend_from_slice(b"HTTP/1.1 404 Not Found\r\ncontent-length: 2\r\n\r\nno");
    assert_eq!(reading.advance(), Ok(true));
    assert_eq!((reading.answer().status, reading.answer().body.as_slice()), (404, &b"no"[..]));
    assert_eq!(reading.answer().summary(), "404 no");
}

#[test]
fn a_stream_has_a_head_before_it_has_an_end() {
    let mut reading = HttpAnswerReader::default();
    reading.buffer.extend_from_slice(b"HTTP/1.1 200 OK\r\ntransfer-encoding: chunked\r\n\r\n");
    assert_eq!(reading.advance(), Ok(false));
    assert!(reading.has_head());
}

#[test]
fn what_is_not_understood_is_refused() {
    for answer in ["SSH-2.0-x\r\n\r\n", "HTTP/1.1 200 OK\r\ntransfer-encoding: chunked\r\n\r\nsome\r\n"] {
        let mut reading = HttpAnswerReader::default();
        reading.buffer.extend_from_slice(answer.as_bytes());
        assert!(reading.advance().is_err(), "{answer:?}");
    }
}
