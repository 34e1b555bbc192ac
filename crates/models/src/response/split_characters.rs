//! Joins characters that a server has cut in two: the first half ends a text of one event, the second half begins the
//! same text of the next event. Halves are escapes of a surrogate pair, or bytes of one UTF-8 character. A half without
//! its other half becomes U+FFFD.

mod text_values;

use std::borrow::Cow;

use toolway_types::foreign_json::{self, lone_surrogates};

use crate::transport::SseEvent;
use text_values::{TextValue, text_values};

/// Passes on the events of a stream. It holds an event back while one of its characters is incomplete, until the next
/// event arrives.
#[derive(Debug, Default)]
pub(crate) struct SplitCharacterJoiner {
    held: Option<HeldEvent>,
}

#[derive(Debug)]
struct HeldEvent {
    name: String,
    data: Vec<u8>,
    /// Its texts that end in half a character.
    cut_texts: Vec<TextValue>,
}

impl SplitCharacterJoiner {
    /// Takes an event, and passes on the events that are complete.
    ///
    /// # Errors
    /// The first error of `each`.
    pub(crate) fn push<E>(
        &mut self,
        event: &SseEvent<'_>,
        mut each: impl FnMut(&SseEvent<'_>) -> Result<(), E>,
    ) -> Result<(), E> {
        let is_whole =
            matches!(event.data, Cow::Borrowed(_)) && lone_surrogates(event.bytes).next().is_none();
        if self.held.is_none() && is_whole {
            return each(event);
        }
        // It comes between any two events.
        if event.name == "ping" {
            return each(event);
        }
        let mut data = event.bytes.to_vec();
        if let Some(held) = self.held.take() {
            held.join(&mut data).emit(&mut each)?;
        }
        let cut_texts: Vec<_> =
            text_values(&data).into_iter().filter(|text| text.ends_in_half(&data)).collect();
        let event = HeldEvent { name: event.name.clone().into_owned(), data, cut_texts };
        if event.cut_texts.is_empty() {
            return event.emit(&mut each);
        }
        self.held = Some(event);
        Ok(())
    }

    /// Passes on the event that is held back, because no more events arrive.
    ///
    /// # Errors
    /// The error of `each`.
    pub(crate) fn finish<E>(
        &mut self,
        mut each: impl FnMut(&SseEvent<'_>) -> Result<(), E>,
    ) -> Result<(), E> {
        self.held.take().map_or(Ok(()), |held| held.emit(&mut each))
    }
}

impl HeldEvent {
    /// Moves the second halves of this event's characters from the next event to this one.
    fn join(mut self, next: &mut Vec<u8>) -> Self {
        let mut moved: Vec<(usize, std::ops::Range<usize>)> = Vec::new();
        for value in text_values(next) {
            let Some(cut) = self.cut_texts.iter().find(|cut| cut.path == value.path) else { continue };
            if let Some(length) = cut.rest_in(&self.data, &value, next) {
                moved.push((cut.end, value.start..value.start + length));
            }
        }
        // From the back, so that the other positions stay valid.
        moved.sort_by_key(|(at, _)| std::cmp::Reverse(*at));
        for (at, range) in &moved {
            if let Some(rest) = next.get(range.clone()) {
                self.data.splice(*at..*at, rest.iter().copied());
            }
        }
        moved.sort_by_key(|(_, range)| std::cmp::Reverse(range.start));
        for (_, range) in moved {
            next.drain(range);
        }
        self
    }

    fn emit<E>(self, each: &mut impl FnMut(&SseEvent<'_>) -> Result<(), E>) -> Result<(), E> {
        let data = foreign_json::repair(&self.data);
        let bytes = data.as_bytes();
        let name = Cow::Borrowed(self.name.as_str());
        each(&SseEvent { name, data: Cow::Borrowed(&data), bytes, id: None, retry: None })
    }
}

#[cfg(test)]
mod tests;
