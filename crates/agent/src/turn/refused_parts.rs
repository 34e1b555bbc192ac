//! Parts of a conversation that a model's provider refuses. A provider refuses the whole request for one bad part, and
//! the part stays in the conversation, so no later request would succeed either. A refused part is described in words
//! for this model, and the request is made once more.
//!
//! Providers do not name the part in a common way. Suspicious parts are pictures, very long texts, and data that the
//! provider expects back. The newest ones are suspected first: the earlier ones were part of an answered request.

use std::collections::{HashSet, VecDeque};
use std::hash::{BuildHasher, RandomState};
use std::sync::Arc;

use parking_lot::Mutex;
use toolway_models::{MessagePart, MessageRole, ModelError, ModelErrorKind, ModelMessage, OpaqueState};
use toolway_types::picture::{describe_picture, media_type_of};
use toolway_types::{ContentPart, JsonObject, Outcome, RawJson};

/// Length of a text above which it is suspicious, in bytes.
const LONG_TEXT: usize = 256 << 10;
/// Length of the start of a refused text that stays, in bytes.
const KEPT_TEXT: usize = 8 << 10;
/// Maximum number of remembered parts of all models.
const MAX_REMEMBERED: usize = 4_096;
/// Statuses with which providers refuse the content of a request.
const REFUSING_STATUSES: [u16; 4] = [400, 413, 415, 422];
/// Words in messages about pictures.
const PICTURE_WORDS: [&str; 7] = ["image", "picture", "media", "base64", "mime", "vision", "multimodal"];
/// Words in messages about data that the provider expects back.
const OPAQUE_WORDS: [&str; 4] = ["signature", "thinking", "reasoning", "encrypted"];

/// Key of a part: a hash of its content.
type PartKey = u64;

/// Parts that models refused earlier, until the gateway restarts. Then a refused part costs one more request.
#[derive(Debug, Default)]
pub(crate) struct RefusedParts {
    hasher: RandomState,
    /// Models and parts, the newest last.
    remembered: Mutex<VecDeque<(Arc<str>, PartKey)>>,
}

/// The parts that are replaced in a turn.
#[derive(Debug, Default)]
pub(super) struct TurnReplacements {
    keys: HashSet<PartKey>,
    /// The first refusal. It is reported if the request is refused without the parts too.
    first_error: Option<ModelError>,
    has_tried_all: bool,
}

/// Kinds of parts that a refusal can be about.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct SuspectKinds {
    pictures: bool,
    long_texts: bool,
    opaque: bool,
}

impl SuspectKinds {
    fn of_error(error: &ModelError) -> Self {
        let message = error.message.to_ascii_lowercase();
        let says = |words: &[&str]| words.iter().any(|word| message.contains(word));
        let is_size = error.status == Some(413) || says(&["too large", "too long", "maximum"]);
        match (says(&PICTURE_WORDS), says(&OPAQUE_WORDS), is_size) {
            (true, ..) => Self { pictures: true, long_texts: false, opaque: false },
            (_, true, _) => Self { pictures: false, long_texts: false, opaque: true },
            (_, _, true) => Self { pictures: true, long_texts: true, opaque: false },
            _ => Self { pictures: true, long_texts: true, opaque: true },
        }
    }
}

impl RefusedParts {
    /// Replaces the parts that this model refused, in this turn or earlier. Returns descriptions of the replaced ones.
    pub(super) fn replace(
        &self,
        turn: &TurnReplacements,
        model: &str,
        messages: &mut [ModelMessage],
    ) -> Vec<String> {
        let known: HashSet<PartKey> = {
            let remembered = self.remembered.lock();
            remembered.iter().filter(|(of, _)| **of == *model).map(|(_, key)| *key).collect()
        };
        if known.is_empty() && turn.keys.is_empty() {
            return Vec::new();
        }
        let is_refused = |key: &PartKey| known.contains(key) || turn.keys.contains(key);
        let mut replaced = Vec::new();
        for part in messages.iter_mut().flat_map(|message| &mut message.parts) {
            self.replace_in_part(part, &is_refused, &mut replaced);
        }
        replaced
    }

    /// Remembers the parts that were replaced in a turn, because the request succeeded without them.
    pub(super) fn remember(&self, turn: &mut TurnReplacements, model: &str) {
        turn.first_error = None;
        if turn.keys.is_empty() {
            return;
        }
        let model: Arc<str> = model.into();
        let mut remembered = self.remembered.lock();
        for key in &turn.keys {
            if !remembered.iter().any(|(of, known)| *known == *key && *of == model) {
                remembered.push_back((Arc::clone(&model), *key));
            }
        }
        let excess = remembered.len().saturating_sub(MAX_REMEMBERED);
        remembered.drain(..excess);
    }

    /// Decides after a refusal whether the request is made again without suspicious parts. The next request replaces
    /// them. `messages` are those of the refused request.
    pub(super) fn suspect(
        &self,
        turn: &mut TurnReplacements,
        error: &ModelError,
        messages: &[ModelMessage],
    ) -> bool {
        let is_about_content = error.kind == ModelErrorKind::InvalidRequest
            && error.status.is_some_and(|status| REFUSING_STATUSES.contains(&status));
        if !is_about_content || turn.has_tried_all {
            return false;
        }
        let kinds = SuspectKinds::of_error(turn.first_error.as_ref().unwrap_or(error));
        let answered = messages.iter().rposition(|message| message.role == MessageRole::Assistant);
        let newest = messages.get(answered.map_or(0, |at| at + 1)..).unwrap_or_default();
        let mut keys = HashSet::new();
        // The newest ones were suspected before if there was a refusal before.
        if turn.first_error.is_none() {
            keys = self.keys_of(newest, kinds);
        }
        if keys.is_empty() {
            turn.has_tried_all = true;
            keys = self.keys_of(messages, kinds);
        }
        if keys.is_empty() {
            return false;
        }
        turn.first_error.get_or_insert_with(|| error.clone());
        turn.keys.extend(keys);
        true
    }

    fn keys_of(&self, messages: &[ModelMessage], kinds: SuspectKinds) -> HashSet<PartKey> {
        let mut keys = HashSet::new();
        for part in messages.iter().flat_map(|message| &message.parts) {
            match part {
                MessagePart::Image { data, .. } if kinds.pictures => {
                    keys.insert(self.key(data));
                }
                MessagePart::Text { text, .. } if kinds.long_texts && text.len() > LONG_TEXT => {
                    keys.insert(self.key(text));
                }
                MessagePart::Text { opaque: Some(opaque), .. }
                | MessagePart::Thinking { opaque: Some(opaque), .. }
                    if kinds.opaque =>
                {
                    keys.insert(self.key(opaque.data.get()));
                }
                MessagePart::ToolResult(result) => {
                    let Outcome::Success(output) = &*result.outcome else { continue };
                    for content in &output.content {
                        match content {
                            ContentPart::Image { data, .. } if kinds.pictures => {
                                keys.insert(self.key(data));
                            }
                            ContentPart::Text { text } if kinds.long_texts && text.len() > LONG_TEXT => {
                                keys.insert(self.key(text));
                            }
                            _ => {}
                        }
                    }
                }
                _ => {}
            }
        }
        keys
    }

    fn replace_in_part(
        &self,
        part: &mut MessagePart,
        is_refused: &dyn Fn(&PartKey) -> bool,
        replaced: &mut Vec<String>,
    ) {
        match part {
            MessagePart::Image { data, mime_type } if is_refused(&self.key(data)) => {
                let (note, what) = describe_refused_picture(data, mime_type);
                *part = MessagePart::text(note);
                replaced.push(what);
            }
            MessagePart::Text { text, .. } if text.len() > LONG_TEXT && is_refused(&self.key(text)) => {
                replaced.push(format!("a text of {} bytes", text.len()));
                shorten(text);
            }
            MessagePart::Text { opaque, .. } | MessagePart::Thinking { opaque, .. }
                if opaque.as_ref().is_some_and(|opaque| is_refused(&self.key(opaque.data.get()))) =>
            {
                *opaque = opaque.take().and_then(without_signature);
                replaced.push("data of an earlier answer".to_owned());
            }
            MessagePart::ToolResult(result) => {
                let Outcome::Success(output) = &*result.outcome else { return };
                let is_bad = |content: &ContentPart| match content {
                    ContentPart::Image { data, .. } => is_refused(&self.key(data)),
                    ContentPart::Text { text } => text.len() > LONG_TEXT && is_refused(&self.key(text)),
                    _ => false,
                };
                if !output.content.iter().any(is_bad) {
                    return;
                }
                let mut output = output.clone();
                for content in output.content.iter_mut().filter(|content| is_bad(content)) {
                    match content {
                        ContentPart::Image { data, mime_type } => {
                            let (note, what) = describe_refused_picture(data, mime_type);
                            *content = ContentPart::text(note);
                            replaced.push(what);
                        }
                        ContentPart::Text { text } => {
                            replaced.push(format!("a text of {} bytes", text.len()));
                            shorten(text);
                        }
                        _ => {}
                    }
                }
                // Beside a structured value, a model reads no texts.
                if let Some(value) = output.structured.take() {
                    output.content.insert(0, ContentPart::text(value.get()));
                }
                result.outcome = Arc::new(Outcome::Success(output));
            }
            _ => {}
        }
    }

    fn key(&self, content: &str) -> PartKey {
        self.hasher.hash_one(content)
    }
}

impl TurnReplacements {
    /// Returns the first refusal of the request, if it was made again and is refused still.
    pub(super) fn take_first_error(&mut self) -> Option<ModelError> {
        self.first_error.take()
    }
}

/// Returns a text in place of a refused picture, and a short description.
fn describe_refused_picture(data: &str, declared: &str) -> (String, String) {
    let media_type = media_type_of(data, declared);
    let kind = describe_picture(media_type, data);
    let note = format!("[A picture ({kind}), which this model's provider refuses.]");
    (note, format!("a picture ({kind})"))
}

fn shorten(text: &mut String) {
    let bytes = text.len();
    text.truncate(text.floor_char_boundary(KEPT_TEXT));
    text.push_str(&format!(
        "\n[the text has {bytes} bytes, and this model's provider refuses it; only its start is here]"
    ));
}

/// Returns the data without everything but the provider's id of a call.
fn without_signature(opaque: OpaqueState) -> Option<OpaqueState> {
    let fields: JsonObject = opaque.data.to().ok()?;
    let id = fields.get("id")?.clone();
    let fields = JsonObject::from_iter([("id".to_owned(), id)]);
    Some(OpaqueState { data: RawJson::from(&fields.into()), ..opaque })
}
