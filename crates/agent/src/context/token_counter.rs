//! Estimates token counts from sizes in bytes. Counts that the model provider reports calibrate the estimate.

use toolway_models::{MessagePart, ModelMessage, ToolResult};
use toolway_types::{ContentPart, Outcome};

/// Approximate number of bytes per token.
const BYTES_PER_TOKEN: f64 = 4.0;
/// Approximate number of tokens of an image, whatever the provider.
const IMAGE_TOKENS: u64 = 1600;
/// Overhead of a message or part, in bytes.
const PART_BYTES: usize = 16;
/// Relative deviation of a report above which the calibration changes. Smaller deviations are ignored, so
/// that estimates stay the same between requests.
const TOLERANCE: f64 = 0.1;
/// Minimum estimated size of a request that is used for calibration, in tokens.
const MIN_CALIBRATION_TOKENS: u64 = 200;
/// Range of the calibration factor.
const MIN_FACTOR: f64 = 0.25;
const MAX_FACTOR: f64 = 4.0;

/// Estimates the number of tokens of texts and messages.
#[derive(Debug, Clone, PartialEq)]
pub struct TokenCounter {
    /// Reported tokens divided by uncalibrated estimated tokens.
    factor: f64,
    is_calibrated: bool,
}

impl Default for TokenCounter {
    fn default() -> Self {
        Self { factor: 1.0, is_calibrated: false }
    }
}

/// Size of content, from which the number of tokens is estimated.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(super) struct ContentSize {
    pub(super) bytes: usize,
    pub(super) images: u64,
}

impl TokenCounter {
    /// Calibrates with a request's estimated and reported number of tokens.
    #[allow(clippy::cast_precision_loss, reason = "no request has that many tokens")]
    pub fn calibrate(&mut self, estimated: u64, actual: u64) {
        if estimated < MIN_CALIBRATION_TOKENS || actual == 0 {
            return;
        }
        let ratio = actual as f64 / estimated as f64;
        if !self.is_calibrated || (ratio - 1.0).abs() > TOLERANCE {
            self.factor = (self.factor * ratio).clamp(MIN_FACTOR, MAX_FACTOR);
        }
        self.is_calibrated = true;
    }

    /// Returns true if a report has calibrated the estimate.
    pub(super) fn is_calibrated(&self) -> bool {
        self.is_calibrated
    }

    /// Estimates the number of tokens of a text with this number of bytes.
    #[must_use]
    #[allow(
        clippy::cast_possible_truncation,
        clippy::cast_sign_loss,
        clippy::cast_precision_loss,
        reason = "no text is long enough for a relevant error"
    )]
    pub fn tokens(&self, bytes: usize) -> u64 {
        (bytes as f64 / BYTES_PER_TOKEN * self.factor).ceil() as u64
    }

    pub(super) fn size_tokens(&self, size: ContentSize) -> u64 {
        self.tokens(size.bytes).saturating_add(size.images.saturating_mul(IMAGE_TOKENS))
    }

    /// Estimates the number of tokens of a message.
    pub(super) fn message_tokens(&self, message: &ModelMessage) -> u64 {
        self.size_tokens(
            message
                .parts
                .iter()
                .map(part_size)
                .fold(ContentSize { bytes: PART_BYTES, images: 0 }, ContentSize::plus),
        )
    }
}

impl ContentSize {
    pub(super) fn plus(self, other: Self) -> Self {
        Self { bytes: self.bytes.saturating_add(other.bytes), images: self.images + other.images }
    }
}

/// Returns the size of a part.
pub(super) fn part_size(part: &MessagePart) -> ContentSize {
    let opaque = match part {
        MessagePart::Text { opaque, .. } | MessagePart::Thinking { opaque, .. } => opaque.as_ref(),
        MessagePart::ToolCall(call) => call.opaque.as_ref(),
        MessagePart::Image { .. } | MessagePart::ToolResult(_) => None,
    };
    let own = match part {
        MessagePart::Text { text, .. } | MessagePart::Thinking { text, .. } => {
            ContentSize { bytes: text.len(), images: 0 }
        }
        MessagePart::Image { .. } => ContentSize { bytes: 0, images: 1 },
        MessagePart::ToolCall(call) => {
            ContentSize { bytes: call.name.len() + call.arguments.len(), images: 0 }
        }
        MessagePart::ToolResult(result) => result_size(result),
    };
    let overhead = PART_BYTES + opaque.map_or(0, |opaque| opaque.data.get().len());
    own.plus(ContentSize { bytes: overhead, images: 0 })
}

/// Returns the size of a result, as it is sent to the model.
pub(super) fn result_size(result: &ToolResult) -> ContentSize {
    let bytes = |bytes| ContentSize { bytes, images: 0 };
    let own = match &*result.outcome {
        Outcome::Success(output) => {
            let content = output.content.iter().map(|part| match part {
                ContentPart::Image { .. } => ContentSize { bytes: 0, images: 1 },
                // Providers without audio get a note instead.
                ContentPart::Audio { .. } => bytes(PART_BYTES),
                other => bytes(other.size()),
            });
            let structured = output.structured.as_ref().map_or(0, |value| value.get().len());
            content.fold(bytes(structured), ContentSize::plus)
        }
        Outcome::Error(error) => bytes(error.message.len() + error.hint.as_ref().map_or(0, String::len)),
    };
    own.plus(bytes(result.name.len()))
}
