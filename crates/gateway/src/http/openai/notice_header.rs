//! The response header `Toolway-Notice`. OpenAI's format has no place for notices, and clients ignore unknown headers.

use http::{HeaderMap, HeaderName, HeaderValue};
use toolway_agent::event::TurnEvent;

/// Name of the header.
const NOTICE: HeaderName = HeaderName::from_static("toolway-notice");
/// Maximum number of notices in headers.
const MAX_NOTICES: usize = 8;
/// Maximum length of a notice in a header, in characters.
const MAX_CHARS: usize = 500;

/// Notices of a turn, as header values.
#[derive(Debug, Default)]
pub(super) struct NoticeHeaders(Vec<HeaderValue>);

impl NoticeHeaders {
    /// Records the event if it is a notice.
    pub(super) fn record_event(&mut self, event: &TurnEvent) {
        let TurnEvent::Notice { code, message } = event else { return };
        if self.0.len() >= MAX_NOTICES {
            return;
        }
        // Many clients read only visible ASCII.
        let visible = |c: char| if matches!(c, ' '..='~') { c } else { '?' };
        let text: String = message.chars().take(MAX_CHARS).map(visible).collect();
        self.0.extend(HeaderValue::try_from(format!("{}: {text}", code.as_str())));
    }

    /// Adds the notices to the headers of a response.
    pub(super) fn add_to(self, headers: &mut HeaderMap) {
        for notice in self.0 {
            headers.append(NOTICE, notice);
        }
    }
}
