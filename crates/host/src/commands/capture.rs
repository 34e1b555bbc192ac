//! What a command writes, up to a bound. What goes beyond is read and thrown away, so that the command does
//! not stand still for it.

use std::collections::VecDeque;

use serde::{Serialize, Serializer};
use tokio::io::{AsyncRead, AsyncReadExt};

/// Which end of a long text is kept.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) enum Keep {
    Start,
    End,
}

/// A bounded text.
#[derive(Debug)]
pub(super) struct Capture {
    bytes: VecDeque<u8>,
    limit: usize,
    keep: Keep,
    dropped: u64,
}

impl Capture {
    pub(super) fn new(limit: usize, keep: Keep) -> Self {
        Self { bytes: VecDeque::new(), limit, keep, dropped: 0 }
    }

    /// Reads to the end. A broken pipe is an end too.
    pub(super) async fn fill(&mut self, source: Option<impl AsyncRead + Unpin>) {
        let Some(mut source) = source else { return };
        let mut piece = [0; 8192];
        while let Ok(length @ 1..) = source.read(&mut piece).await {
            self.add(piece.get(..length).unwrap_or_default());
        }
    }

    fn add(&mut self, piece: &[u8]) {
        let room = self.limit - self.bytes.len();
        let over = piece.len().saturating_sub(room);
        self.dropped += over as u64;
        match self.keep {
            Keep::Start => self.bytes.extend(piece.iter().take(room)),
            Keep::End => {
                self.bytes.extend(piece);
                self.bytes.drain(..over);
            }
        }
    }

    /// Whether something was thrown away.
    pub(super) fn is_cut(&self) -> bool {
        self.dropped > 0
    }

    /// The text, with what is not UTF-8 replaced, and a mark where something was thrown away.
    pub(super) fn text(&self) -> String {
        let (front, back) = self.bytes.as_slices();
        let bytes = [front, back].concat();
        let text = String::from_utf8_lossy(&bytes);
        if !self.is_cut() {
            return text.into_owned();
        }
        let mark = format!("[{} bytes cut]", self.dropped);
        match self.keep {
            Keep::Start => format!("{text}\n{mark}"),
            Keep::End => format!("{mark}\n{text}"),
        }
    }
}

impl Serialize for Capture {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.serialize_str(&self.text())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    async fn captured(keep: Keep, text: &str) -> Capture {
        let mut capture = Capture::new(10, keep);
        capture.fill(Some(text.as_bytes())).await;
        capture
    }

    #[tokio::test]
    async fn long_texts_are_cut_at_one_end_and_marked() {
        let whole = captured(Keep::Start, "0123456789").await;
        assert_eq!((whole.text().as_str(), whole.is_cut()), ("0123456789", false));
        assert_eq!(captured(Keep::Start, "0123456789abc").await.text(), "0123456789\n[3 bytes cut]");
        assert_eq!(captured(Keep::End, "0123456789abc").await.text(), "[3 bytes cut]\n3456789abc");
        let long = "x".repeat(50_000) + "end";
        assert_eq!(captured(Keep::End, &long).await.text(), "[49993 bytes cut]\nxxxxxxxend");
    }

    #[tokio::test]
    async fn what_is_not_text_is_replaced() {
        let mut capture = Capture::new(10, Keep::Start);
        capture.fill(Some(&b"a\xFFb"[..])).await;
        assert_eq!(capture.text(), "a\u{FFFD}b");
    }
}
