//! Finds pictures in the text of a result and passes them on as pictures. Some tools can return nothing but text: a phone
//! app of protocol version 1 sends a photo as base64. As text it would fill a model's context without being seen.

use std::sync::Arc;

use serde_json::Value;
use toolway_types::picture::{EncodedPicture, describe_picture};
use toolway_types::{ContentPart, Outcome, RawJson, ToolOutput};

/// Maximum number of pictures that are taken from one result. Further ones stay as text.
const MAX_PICTURES: usize = 8;
/// Texts that occur in every JSON text with a picture: starts of pictures in base64, and of data URLs.
const MARKS: [&str; 7] = ["iVBORw0", "/9j/", r"\/9j\/", "_9j_", "R0lGOD", "UklGR", ";base64,"];

/// Takes pictures out of texts and of string fields of JSON. Descriptions replace them in the text.
pub(super) fn extract_pictures(outcome: &Arc<Outcome>) -> Arc<Outcome> {
    let Outcome::Success(output) = &**outcome else { return Arc::clone(outcome) };
    let mut found = FoundPictures::default();
    let structured = output.structured.as_ref().map(|value| found.take_from_json(value.get()));
    let content: Vec<ContentPart> = output.content.iter().map(|part| found.take_from_part(part)).collect();
    if found.count == 0 {
        return Arc::clone(outcome);
    }
    let structured = match structured {
        Some(Some(changed)) => Some(RawJson::from(&changed)),
        Some(None) => output.structured.clone(),
        None => None,
    };
    let content = content.into_iter().chain(found.beside_text).collect();
    Arc::new(Outcome::Success(ToolOutput::new(content, structured)))
}

#[derive(Default)]
struct FoundPictures {
    count: usize,
    /// Pictures of JSON fields, whose text describes them. A text that was nothing but a picture becomes the picture
    /// itself.
    beside_text: Vec<ContentPart>,
}

impl FoundPictures {
    fn take_from_part(&mut self, part: &ContentPart) -> ContentPart {
        match part {
            ContentPart::Text { text } => match self.recognise(text) {
                Some(picture) => image_part(picture),
                None => match self.take_from_json(text) {
                    Some(changed) => ContentPart::text(changed.to_string()),
                    None => part.clone(),
                },
            },
            ContentPart::Resource { resource } => {
                let blob = resource.get("blob").and_then(Value::as_str);
                blob.and_then(|blob| self.recognise(blob)).map_or_else(|| part.clone(), image_part)
            }
            ContentPart::Image { .. } | ContentPart::Audio { .. } | ContentPart::ResourceLink { .. } => {
                part.clone()
            }
        }
    }

    /// Takes pictures from the strings of a JSON object, array or string; `None` if it has none.
    fn take_from_json(&mut self, text: &str) -> Option<Value> {
        if !text.trim_start().starts_with(['{', '[', '"']) || !MARKS.iter().any(|mark| text.contains(mark)) {
            return None;
        }
        let mut value: Value = serde_json::from_str(text).ok()?;
        let before = self.count;
        self.take_from_value(&mut value);
        (self.count > before).then_some(value)
    }

    fn take_from_value(&mut self, value: &mut Value) {
        match value {
            Value::String(text) => {
                if let Some(picture) = self.recognise(text) {
                    let kind = describe_picture(picture.format.media_type(), &picture.data);
                    *text = format!("[picture {} of this result: {kind}]", self.count);
                    self.beside_text.push(image_part(picture));
                }
            }
            Value::Array(items) => items.iter_mut().for_each(|item| self.take_from_value(item)),
            Value::Object(fields) => fields.values_mut().for_each(|field| self.take_from_value(field)),
            _ => {}
        }
    }

    fn recognise(&mut self, text: &str) -> Option<EncodedPicture> {
        if self.count >= MAX_PICTURES {
            return None;
        }
        let picture = EncodedPicture::recognise(text)?;
        self.count += 1;
        Some(picture)
    }
}

fn image_part(picture: EncodedPicture) -> ContentPart {
    ContentPart::Image { mime_type: picture.format.media_type().to_owned(), data: picture.data }
}

#[cfg(test)]
mod tests;
