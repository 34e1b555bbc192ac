use super::*;
use crate::client::GatewayEvent;

const PAPER: MarkdownLayout = MarkdownLayout { width: 60, colour: false };

/// Renders a turn event by event.
struct TurnViewFixture {
    view: TurnRenderer,
    shown: Vec<String>,
}

impl TurnViewFixture {
    fn new(detail: DetailOptions) -> Self {
        Self { view: TurnRenderer::new(detail, PAPER), shown: Vec::new() }
    }

    #[track_caller]
    fn feed_event(&mut self, kind: &str, data: &str) -> &mut Self {
        let event = GatewayEvent { kind: kind.to_owned(), data: data.to_owned() };
        self.shown.extend(self.view.apply_event(TurnEvent::parse(&event).unwrap().unwrap()));
        self
    }

    fn output(&self) -> String {
        self.shown.join("\n")
    }
}

fn compact() -> TurnViewFixture {
    TurnViewFixture::new(DetailOptions::default())
}

#[test]
fn text_and_tool_calls_are_separated() {
    let mut turn = compact();
    turn.feed_event(
        "session_start",
        r#"{"session_id":"s","agent":"default","resumed":false,"message_count":0}"#,
    );
    assert_eq!(turn.view.live_rows(), ["…"]);
    turn.feed_event("thinking", r#"{"content":"hm"}"#);
    assert_eq!(turn.view.live_rows(), ["thinking…"]);
    turn.feed_event("chunk", r#"{"content":"Let me "}"#).feed_event("chunk", r#"{"content":"look."}"#);
    assert_eq!(turn.view.live_rows(), ["Let me look."]);
    turn.feed_event("tool_call", r#"{"id":"1","name":"get_current_time","args":{"timezone":"UTC"}}"#);
    turn.feed_event("tool_call", r#"{"id":"2","name":"pixel-8__camera","args":{}}"#);
    turn.feed_event(
        "tool_progress",
        r#"{"id":"2","name":"pixel-8__camera","progress":1,"total":4,"message":"focus"}"#,
    );
    assert_eq!(
        turn.view.live_rows(),
        [r#"… get_current_time {"timezone":"UTC"}"#, "… pixel-8__camera  25 %  focus"]
    );
    turn.feed_event(
        "tool_result",
        r#"{"id":"1","name":"get_current_time","duration_ms":12.0,"status":"success","result":"12:00"}"#,
    );
    turn.feed_event(
        "tool_result",
        r#"{"id":"2","name":"pixel-8__camera","duration_ms":30000,"status":"error","code":"timeout","message":"it took too long"}"#,
    );
    turn.feed_event("chunk", r#"{"content":"It is **noon**."}"#);
    turn.feed_event(
        "done",
        r#"{"full_response":"…","usage":{"input":1200,"output":30,"cached":null,"reasoning":null},"cost":0.0021,"currency":"USD"}"#,
    );
    assert_eq!(
        turn.output(),
        "Let me look.\n\n✓ get_current_time {\"timezone\":\"UTC\"}  12 ms\n✗ pixel-8__camera  30.0 s  it took too long \
         (timeout)\n\nIt is **noon**.\n1,200 tokens in, 30 out, 0.0021 USD"
    );
    assert_eq!(turn.view.live_rows(), [] as [&str; 0]);
}

#[test]
fn details_are_shown_on_request() {
    let mut turn = TurnViewFixture::new(DetailOptions { tools: true, thinking: true });
    turn.feed_event("thinking", r#"{"content":"First\nthen"}"#).feed_event("chunk", r#"{"content":"Yes."}"#);
    turn.feed_event("tool_call", r#"{"id":"1","name":"t","args":{"a":1}}"#);
    turn.feed_event(
        "tool_result",
        r#"{"id":"1","name":"t","duration_ms":1,"status":"success","result":{"b":[2]}}"#,
    );
    turn.feed_event("done", r#"{"full_response":"Yes.","usage":null,"cost":null}"#);
    assert_eq!(
        turn.output(),
        "First\nthen\n\nYes.\n\n→ t\n    {\n      \"a\": 1\n    }\n✓ t  1.0 ms\n    {\n      \"b\": [\n        2\n      ]\n    }"
    );
}

#[test]
fn discarded_text_is_marked() {
    let mut turn = compact();
    turn.feed_event("chunk", r#"{"content":"Wro"}"#)
        .feed_event("chunk_reset", "{}")
        .feed_event("chunk", r#"{"content":"Right"}"#);
    turn.feed_event("aborted", r#"{}"#);
    assert_eq!(turn.output(), "Wro\n(the model starts over; ignore the text above)\nRight\n(stopped)");
}

#[test]
fn control_characters_never_reach_the_terminal() {
    for detail in [DetailOptions::default(), DetailOptions { tools: true, thinking: true }] {
        let mut turn = TurnViewFixture::new(detail);
        for (kind, data) in [
            ("chunk", r#"{"content":"\u001b[2J\n\n# \u001b]0;x\u0007\n\n"}"#),
            ("thinking", r#"{"content":"\u001b[2J\n\u009b1m"}"#),
            ("notice", r#"{"code":"budget","message":"\u001b[2J\n"}"#),
            ("tool_call", r#"{"id":"1","name":"\u001b[2J","args":{"a":"\u202e"}}"#),
            ("tool_call", r#"{"id":"2","name":"t\u001b","args":{"a":"\u202e"}}"#),
            ("tool_progress", r#"{"id":"2","name":"x","progress":0.5,"message":"\u001b[1m"}"#),
            ("tool_result", r#"{"id":"1","name":"\u001b[2J","status":"success","result":"\u001b[2J\r"}"#),
        ] {
            turn.feed_event(kind, data);
            turn.shown.extend(turn.view.live_rows());
        }
        turn.feed_event(
            "tool_result",
            r#"{"id":"2","name":"\u001b","status":"error","code":"\u001b","message":"\u001b"}"#,
        );
        turn.feed_event("done", r#"{"cost":1,"currency":"\u001b"}"#);
        for line in &turn.shown {
            assert!(!line.chars().any(toolway_types::name::is_invisible), "{line:?}");
        }
    }
}

#[test]
fn long_results_are_shortened() {
    let mut turn = TurnViewFixture::new(DetailOptions { tools: true, thinking: false });
    let text = "line\\n".repeat(100);
    turn.feed_event(
        "tool_result",
        &format!(r#"{{"id":"1","name":"t","status":"success","result":"{text}"}}"#),
    );
    assert_eq!(turn.shown.len(), 1 + MAX_RESULT_LINES + 1);
    assert!(turn.output().ends_with("(40 more lines; see `toolway calls show`)"));
    let mut turn = compact();
    let long = "x".repeat(500);
    turn.feed_event("tool_call", &format!(r#"{{"id":"1","name":"t","args":{{"a":"{long}"}}}}"#));
    assert_eq!(turn.view.live_rows()[0].chars().count(), "… t ".chars().count() + MAX_ARGUMENTS_CHARS);
}
