//! What a command writes, up to a bound. What goes beyond is read and thrown away, so that the command does
//! not stand still for it.

use std::collections::VecDeque;

use tokio::io::{AsyncRead, AsyncReadExt};

/// Which end of a long text is kept.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum CaptureEnd {
    /// The start.
    Start,
    /// The end.
    End,
}

/// A bounded text.
#[derive(Debug)]
pub struct OutputCapture {
    bytes: VecDeque<u8>,
    limit: usize,
    kept_end: CaptureEnd,
    dropped: u64,
}

impl OutputCapture {
    pub(crate) fn new(limit: usize, keep: CaptureEnd) -> Self {
        Self { bytes: VecDeque::new(), limit, kept_end: keep, dropped: 0 }
    }

    /// Reads to the end. A broken pipe is an end too.
    pub(crate) async fn read_from(&mut self, source: Option<impl AsyncRead + Unpin>) {
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
        match self.kept_end {
            CaptureEnd::Start => self.bytes.extend(piece.iter().take(room)),
            CaptureEnd::End => {
                self.bytes.extend(piece);
                self.bytes.drain(..over);
            }
        }
    }

    /// Whether something was thrown away.
    #[must_use]
    pub fn is_truncated(&self) -> bool {
        self.dropped > 0
    }

    /// The text, with what is not UTF-8 replaced, and a mark where something was thrown away.
    #[must_use]
    pub fn text(&self) -> String {
        let (front, back) = self.bytes.as_slices();
        let bytes = [front, back].concat();
        let text = String::from_utf8_lossy(&bytes);
        if !self.is_truncated() {
            return text.into_owned();
        }
        let mark = format!("[{} bytes cut]", self.dropped);
        match self.kept_end {
            CaptureEnd::Start => format!("{text}\n{mark}"),
            CaptureEnd::End => format!("{mark}\n{text}"),
        }
    }
}

#[cfg(test)]
mod tests;
