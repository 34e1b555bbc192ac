//! How many tokens something takes, about: a quarter of its bytes, set right by what the provider last reported.

use toolway_models::{Message, Part, ToolResult};
use toolway_types::{ContentPart, Outcome};

/// Bytes of a token, about.
const BYTES: f64 = 4.0;
/// What a picture takes at most of the providers.
const IMAGE_TOKENS: u64 = 1600;
/// Bytes that a part takes besides its own.
const PART_BYTES: usize = 16;
/// How far a report must be off for the count to be set right: so that it stays the same from request to request.
const TOLERANCE: f64 = 0.1;
/// Requests below this say little about what a byte takes.
const WORTH_IT: u64 = 200;
/// How far a count can be off.
const LEAST: f64 = 0.25;
const MOST: f64 = 4.0;

/// Counts tokens.
#[derive(Debug, Clone, PartialEq)]
pub struct Counter {
    /// Tokens for each that a quarter of the bytes gives.
    factor: f64,
    is_calibrated: bool,
}

impl Default for Counter {
    fn default() -> Self {
        Self { factor: 1.0, is_calibrated: false }
    }
}

/// What something takes, before it is set right.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(super) struct Size {
    pub(super) bytes: usize,
    pub(super) images: u64,
}

impl Counter {
    /// A request that was estimated to take so many tokens took so many, as its provider reported.
    #[allow(clippy::cast_precision_loss, reason = "no request takes so many")]
    pub fn reported(&mut self, estimated: u64, actual: u64) {
        if estimated < WORTH_IT || actual == 0 {
            return;
        }
        let off = actual as f64 / estimated as f64;
        if !self.is_calibrated || (off - 1.0).abs() > TOLERANCE {
            self.factor = (self.factor * off).clamp(LEAST, MOST);
        }
        self.is_calibrated = true;
    }

    /// Whether a provider has reported anything.
    pub(super) fn is_calibrated(&self) -> bool {
        self.is_calibrated
    }

    /// What a text of so many bytes takes.
    #[must_use]
    #[allow(
        clippy::cast_possible_truncation,
        clippy::cast_sign_loss,
        clippy::cast_precision_loss,
        reason = "no text is so long that it would matter"
    )]
    pub fn tokens(&self, bytes: usize) -> u64 {
        (bytes as f64 / BYTES * self.factor).ceil() as u64
    }

    pub(super) fn of(&self, size: Size) -> u64 {
        self.tokens(size.bytes).saturating_add(size.images.saturating_mul(IMAGE_TOKENS))
    }

    /// What a message takes.
    pub(super) fn message(&self, message: &Message) -> u64 {
        self.of(message.parts.iter().map(size).fold(Size { bytes: PART_BYTES, images: 0 }, Size::plus))
    }
}

impl Size {
    pub(super) fn plus(self, other: Self) -> Self {
        Self { bytes: self.bytes.saturating_add(other.bytes), images: self.images + other.images }
    }
}

/// What a part takes.
pub(super) fn size(part: &Part) -> Size {
    let opaque = match part {
        Part::Text { opaque, .. } | Part::Thinking { opaque, .. } => opaque.as_ref(),
        Part::ToolCall(call) => call.opaque.as_ref(),
        Part::Image { .. } | Part::ToolResult(_) => None,
    };
    let own = match part {
        Part::Text { text, .. } | Part::Thinking { text, .. } => Size { bytes: text.len(), images: 0 },
        Part::Image { .. } => Size { bytes: 0, images: 1 },
        Part::ToolCall(call) => Size { bytes: call.name.len() + call.arguments.len(), images: 0 },
        Part::ToolResult(result) => result_size(result),
    };
    let besides = PART_BYTES + opaque.map_or(0, |opaque| opaque.data.get().len());
    own.plus(Size { bytes: besides, images: 0 })
}

/// What a result takes as a model is told it.
pub(super) fn result_size(result: &ToolResult) -> Size {
    let bytes = |bytes| Size { bytes, images: 0 };
    let own = match &*result.outcome {
        Outcome::Success(output) => {
            let content = output.content.iter().map(|part| match part {
                ContentPart::Image { .. } => Size { bytes: 0, images: 1 },
                // Told in words where the provider does not take it.
                ContentPart::Audio { .. } => bytes(PART_BYTES),
                other => bytes(other.size()),
            });
            let structured = output.structured.as_ref().map_or(0, |value| value.get().len());
            content.fold(bytes(structured), Size::plus)
        }
        Outcome::Error(error) => bytes(error.message.len() + error.hint.as_ref().map_or(0, String::len)),
    };
    own.plus(bytes(result.name.len()))
}
