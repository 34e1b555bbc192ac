use std::sync::Arc;

use super::*;
use crate::error::ModelErrorKind;
use crate::event::FinishReason;
use crate::provider_kind::ProviderKind;
use crate::request::{ModelOptions, ModelRequest, ToolChoice};
use crate::transport::SseEvent;

/// A decoder that records its input and ends at `end`.
struct RecordingDecoder(DecoderState);

impl RecordingDecoder {
    fn new() -> Self {
        Self(DecoderState::new(
            &Arc::new(config()),
            &ModelRequest {
                model: "m".into(),
                system: String::new(),
                messages: Vec::new(),
                tools: Arc::default(),
                tool_choice: ToolChoice::Auto,
                output: None,
                options: ModelOptions::default(),
            },
        ))
    }
}

impl ResponseDecoder for RecordingDecoder {
    fn state(&self) -> &DecoderState {
        &self.0
    }

    fn decode_event(
        &mut self,
        event: &SseEvent<'_>,
        out: &mut ModelEventQueue,
    ) -> Result<(), AttemptFailure> {
        match &*event.data {
            "end" => self.0.end(FinishReason::Stop, out),
            data => out.push_back(ModelEvent::Text(data.to_owned())),
        }
        Ok(())
    }

    fn decode_whole(&mut self, body: &str, out: &mut ModelEventQueue) -> Result<(), AttemptFailure> {
        self.0.progress = ResponseProgress::Done;
        out.push_back(ModelEvent::Text(format!("whole {body}")));
        Ok(())
    }

    fn finish(&mut self, out: &mut ModelEventQueue) -> Result<(), AttemptFailure> {
        if self.0.progress != ResponseProgress::Done {
            self.0.end(FinishReason::Stop, out);
        }
        Ok(())
    }
}

fn config() -> ProviderConfig {
    ProviderConfig::new("p", ProviderKind::Openai, "http://localhost".parse().unwrap())
}

/// Reads a body in pieces of several sizes, and checks that the result is always the same.
#[track_caller]
fn read_response(body: &[u8]) -> (Vec<ModelEvent>, Option<ModelErrorKind>) {
    let in_pieces = |size: usize| {
        let (events, error) = read_all(&config(), Box::new(RecordingDecoder::new()), body.chunks(size));
        (Vec::from(events), error.map(|error| error.kind))
    };
    let whole = in_pieces(body.len().max(1));
    for size in [1, 2, 3, 5] {
        assert_eq!(in_pieces(size), whole, "in pieces of {size}");
    }
    whole
}

fn text_event(text: &str) -> ModelEvent {
    ModelEvent::Text(text.to_owned())
}

#[test]
fn the_first_character_decides_the_format() {
    let finished = ModelEvent::Finished(FinishReason::Stop);
    assert_eq!(read_response(b"data: a\n\n"), (vec![text_event("a"), finished.clone()], None));
    assert_eq!(read_response(b"\n \n: x\ndata: a\n\n"), (vec![text_event("a"), finished.clone()], None));
    assert_eq!(read_response("\u{FEFF}data: a\n\n".as_bytes()), (vec![text_event("a"), finished], None));
    assert_eq!(read_response(b" {\"a\":1}"), (vec![text_event("whole  {\"a\":1}")], None));
    assert_eq!(read_response("\u{FEFF}[1]".as_bytes()), (vec![text_event("whole [1]")], None));
    assert_eq!(read_response(b"  <html>"), (Vec::new(), Some(ModelErrorKind::Protocol)));
    assert_eq!(
        read_response(&[b"<html>".as_slice(), &[b'x'; 5000]].concat()),
        (Vec::new(), Some(ModelErrorKind::Protocol))
    );
}

#[test]
fn an_empty_or_partial_body_is_truncated() {
    for body in ["", " \n", "\u{FEFF}"] {
        assert_eq!(read_response(body.as_bytes()), (Vec::new(), Some(ModelErrorKind::Network)), "{body:?}");
    }
    assert_eq!(read_response(b"{\"a\":").1, Some(ModelErrorKind::Network));
}

#[test]
fn nothing_is_read_beyond_the_end() {
    assert_eq!(
        read_response(b"data: end\n\ndata: more\n\n"),
        (vec![ModelEvent::Finished(FinishReason::Stop)], None)
    );
}

#[test]
fn a_complete_last_event_without_an_end_is_read() {
    let finished = ModelEvent::Finished(FinishReason::Stop);
    assert_eq!(
        read_response(b"data: a\n\ndata: b\n"),
        (vec![text_event("a"), text_event("b"), finished], None)
    );
    assert_eq!(
        read_response(b"data: a\n\ndata: end"),
        (vec![text_event("a"), ModelEvent::Finished(FinishReason::Stop)], None)
    );
}

#[test]
fn the_size_of_a_response_is_limited() {
    let megabyte = vec![b'x'; 1 << 20];
    let events = std::iter::once(b"data: ".as_slice()).chain(std::iter::repeat_n(megabyte.as_slice(), 40));
    let (_, error) = read_all(&config(), Box::new(RecordingDecoder::new()), events);
    assert_eq!(error.unwrap().message, format!("an event has more than {MAX_EVENT_BYTES} bytes"));
    let whole = std::iter::once(b"{".as_slice()).chain(std::iter::repeat_n(megabyte.as_slice(), 40));
    let (_, error) = read_all(&config(), Box::new(RecordingDecoder::new()), whole);
    assert_eq!(error.unwrap().message, format!("the response has more than {MAX_EVENT_BYTES} bytes"));
    let comment = [b": ".as_slice(), &megabyte, b"\n"].concat();
    let (_, error) =
        read_all(&config(), Box::new(RecordingDecoder::new()), std::iter::repeat_n(comment.as_slice(), 80));
    assert_eq!(error.unwrap().message, format!("the response has more than {MAX_RESPONSE_BYTES} bytes"));
}
