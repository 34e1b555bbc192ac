use parking_lot::Mutex;

use super::*;

/// Records what it gets.
#[derive(Default)]
struct RecordingHandler(Mutex<Vec<String>>);

impl MessageHandler for RecordingHandler {
    fn handle_message(&self, message: IncomingMessage<'_>, _: MessageOrigin<'_>) {
        let IncomingMessage::Result(id, result) = message else { panic!("{message:?}") };
        self.0.lock().push(format!("{id} {}", result.get().replace(['\n', ' '], "")));
    }

    fn handle_unreadable(&self, message: &UnreadableMessage, _: &str, _: &[u8]) {
        self.0.lock().push(format!("{:?} {}", message.answered_request, message.reason));
    }

    fn log_anomaly(&self, _: &str) {}
}

#[track_caller]
fn assert_read(lines: &[&str], expected: &[&str]) {
    let handler = RecordingHandler::default();
    let mut messages = LineMessages::new(200);
    for line in lines {
        messages.take_line(&handler, line.as_bytes());
    }
    assert_eq!(*handler.0.lock(), expected, "{lines:?}");
}

#[test]
fn a_message_over_several_lines_is_read() {
    let lines = ["{", r#"  "jsonrpc": "2.0","#, r#"  "id": 7,"#, r#"  "result": {"a": "}{"}"#, "}"];
    assert_read(&lines, &[r#"7 {"a":"}{"}"#]);
    assert_read(&[r#"{"id":1,"result":{}} {"id":2,"#, r#""result":[]}"#], &["1 {}", "2 []"]);
}

#[test]
fn a_message_that_is_not_finished_ends_its_request_at_the_next_message() {
    let next = r#"{"id":8,"result":{}}"#;
    assert_read(&[r#"{"id":7,"result":{"a":"#, next], &["Some(7) it was not finished", "8 {}"]);
    let broken = r#"{"id":7,"result":{"a":"line one"#;
    assert_read(&[broken], &["Some(7) it has a line break within a string"]);
}

#[test]
fn a_message_over_several_lines_has_the_usual_limit() {
    let long = format!(r#""{}","#, "x".repeat(150));
    assert_read(&[r#"{"id":7,"result":["#, &long, &long], &["Some(7) it is longer than 200 bytes"]);
}
