use super::*;
use crate::error::ModelErrorKind;
use crate::event::FinishReason;
use crate::provider::ProviderKind;

/// Notes what it is given; over at `end`.
#[derive(Default)]
struct Notes {
    is_over: bool,
}

impl Decoder for Notes {
    fn event(&mut self, event: &SseEvent<'_>, out: &mut Events) -> Result<(), Failure> {
        self.is_over = event.data == "end";
        out.push_back(match self.is_over {
            true => ModelEvent::Finished(FinishReason::Stop),
            false => ModelEvent::Text(event.data.to_string()),
        });
        Ok(())
    }

    fn whole(&mut self, body: &str, out: &mut Events) -> Result<(), Failure> {
        self.is_over = true;
        out.push_back(ModelEvent::Text(format!("whole {body}")));
        Ok(())
    }

    fn end(&mut self, out: &mut Events) -> Result<(), Failure> {
        self.is_over = true;
        out.push_back(ModelEvent::Finished(FinishReason::Stop));
        Ok(())
    }

    fn progress(&self) -> Progress {
        if self.is_over { Progress::Over } else { Progress::Going }
    }
}

fn config() -> ProviderConfig {
    ProviderConfig::new("p", ProviderKind::Openai, "http://localhost".parse().unwrap())
}

/// What a body comes to, the same in whichever pieces.
#[track_caller]
fn read(body: &[u8]) -> (Vec<ModelEvent>, Option<ModelErrorKind>) {
    let in_pieces = |size: usize| {
        let (events, error) = read_all(&config(), Box::new(Notes::default()), body.chunks(size));
        (Vec::from(events), error.map(|error| error.kind))
    };
    let whole = in_pieces(body.len().max(1));
    for size in [1, 2, 3, 5] {
        assert_eq!(in_pieces(size), whole, "in pieces of {size}");
    }
    whole
}

fn text(text: &str) -> ModelEvent {
    ModelEvent::Text(text.to_owned())
}

#[test]
fn the_form_shows_in_the_first_character() {
    let finished = ModelEvent::Finished(FinishReason::Stop);
    assert_eq!(read(b"data: a\n\n"), (vec![text("a"), finished.clone()], None));
    assert_eq!(read(b"\n \n: x\ndata: a\n\n"), (vec![text("a"), finished.clone()], None));
    assert_eq!(read("\u{FEFF}data: a\n\n".as_bytes()), (vec![text("a"), finished], None));
    assert_eq!(read(b" {\"a\":1}"), (vec![text("whole  {\"a\":1}")], None));
    assert_eq!(read("\u{FEFF}[1]".as_bytes()), (vec![text("whole [1]")], None));
    assert_eq!(read(b"  <html>"), (Vec::new(), Some(ModelErrorKind::Protocol)));
    assert_eq!(
        read(&[b"<html>".as_slice(), &[b'x'; 5000]].concat()),
        (Vec::new(), Some(ModelErrorKind::Protocol))
    );
}

#[test]
fn nothing_and_half_a_text_are_cut_off() {
    for body in ["", " \n", "\u{FEFF}"] {
        assert_eq!(read(body.as_bytes()), (Vec::new(), Some(ModelErrorKind::Network)), "{body:?}");
    }
    assert_eq!(read(b"{\"a\":").1, Some(ModelErrorKind::Network));
}

#[test]
fn nothing_is_read_beyond_the_end() {
    assert_eq!(read(b"data: end\n\ndata: more\n\n"), (vec![ModelEvent::Finished(FinishReason::Stop)], None));
}

#[test]
fn an_event_that_the_end_cut_short_is_taken_where_it_is_whole() {
    let finished = ModelEvent::Finished(FinishReason::Stop);
    assert_eq!(read(b"data: a\n\ndata: b\n"), (vec![text("a"), text("b"), finished], None));
    assert_eq!(
        read(b"data: a\n\ndata: end"),
        (vec![text("a"), ModelEvent::Finished(FinishReason::Stop)], None)
    );
}

#[test]
fn the_size_of_an_answer_is_bounded() {
    let megabyte = vec![b'x'; 1 << 20];
    let events = std::iter::once(b"data: ".as_slice()).chain(std::iter::repeat_n(megabyte.as_slice(), 40));
    let (_, error) = read_all(&config(), Box::new(Notes::default()), events);
    assert_eq!(error.unwrap().message, format!("an event has more than {MAX_EVENT} bytes"));
    let whole = std::iter::once(b"{".as_slice()).chain(std::iter::repeat_n(megabyte.as_slice(), 40));
    let (_, error) = read_all(&config(), Box::new(Notes::default()), whole);
    assert_eq!(error.unwrap().message, format!("the answer has more than {MAX_EVENT} bytes"));
    let comment = [b": ".as_slice(), &megabyte, b"\n"].concat();
    let (_, error) =
        read_all(&config(), Box::new(Notes::default()), std::iter::repeat_n(comment.as_slice(), 80));
    assert_eq!(error.unwrap().message, format!("the answer has more than {MAX_ANSWER} bytes"));
}
