//! Bounded capture of a command's output. Output beyond the bound is read and discarded, so that the command
//! does not block on a full pipe.

use std::collections::VecDeque;

use tokio::io::{AsyncRead, AsyncReadExt};

/// The part of a long text that is kept.
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

    /// Reads to the end. A broken pipe also counts as the end.
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

    /// True if output was discarded.
    #[must_use]
    pub fn is_truncated(&self) -> bool {
        self.dropped > 0
    }

    /// The captured text, with invalid UTF-8 replaced, and with a mark if output was discarded.
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
