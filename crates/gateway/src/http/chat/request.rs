//! What a turn over HTTP is asked for with.

use std::borrow::Cow;

use serde::Deserialize;
use toolway_agent::turn::TurnInput;
use toolway_types::ContentPart;
use utoipa::openapi::RefOr;
use utoipa::openapi::schema::{ArrayBuilder, ObjectBuilder, OneOfBuilder, Schema, SchemaType, Type};
use utoipa::{PartialSchema, ToSchema};

use crate::chat::input::{self, MAX_ATTACHMENTS, MAX_TEXT};
use crate::http::ApiError;
use crate::http::token_input::{ShortTextSchema, read_text};

/// What is said, and to whom.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct ChatRequestBody {
    session_id: Option<String>,
    agent: Option<String>,
    content: Option<String>,
    attachments: Option<Vec<ContentPart>>,
    regenerate: Option<bool>,
    debug: Option<bool>,
    stream: Option<bool>,
    ask: Option<bool>,
}

/// What was asked for.
#[derive(Debug)]
pub(super) struct ChatTurnRequest {
    pub(super) session_id: Option<String>,
    pub(super) agent: Option<String>,
    pub(super) input: TurnInput,
    pub(super) debug: bool,
    pub(super) stream: bool,
    pub(super) ask: bool,
}

impl ChatRequestBody {
    /// What it asks for. Looks through pictures, so it may take some milliseconds.
    pub(super) fn read(self) -> Result<ChatTurnRequest, ApiError> {
        let text = |field: &str, given: Option<String>| given.map(|it| read_text(field, it)).transpose();
        let attachments = self.attachments.unwrap_or_default();
        let input = match (self.regenerate.unwrap_or_default(), self.content) {
            (false, content) => {
                TurnInput::Message(input::message_parts(content.unwrap_or_default(), &attachments)?)
            }
            (true, None) if attachments.is_empty() => TurnInput::Regenerate,
            (true, _) => {
                let words = "regenerate answers the last message again, so it takes no content";
                return Err(ApiError::malformed(words).with_hint("leave content and attachments out"));
            }
        };
        Ok(ChatTurnRequest {
            // What programs write where they read a missing field as a word.
            session_id: text("session_id", self.session_id.filter(|id| id != "null"))?,
            agent: text("agent", self.agent)?,
            input,
            debug: self.debug.unwrap_or_default(),
            stream: self.stream.unwrap_or(true),
            ask: self.ask.unwrap_or_default(),
        })
    }
}

/// Describes [`ChatBody`] as what it is: a text, or pictures without one, or the wish for another answer.
pub(super) struct ChatRequestSchema;

impl PartialSchema for ChatRequestSchema {
    fn schema() -> RefOr<Schema> {
        let text = ObjectBuilder::new()
            .schema_type(Type::String)
            .max_length(Some(MAX_TEXT))
            .pattern(Some(r"\S"))
            .description(Some("What is said; not only white space."));
        let not_again =
            || flag("The last message is not answered again.").enum_values(Some([Some(false), None]));
        let with_text = base_schema()
            .property("content", text)
            .required("content")
            .property("attachments", attachments(0).schema_type(or_null(Type::Array)))
            .property("regenerate", not_again());
        let no_text = ObjectBuilder::new().schema_type(or_null(Type::String)).pattern(Some(r"^\s*$"));
        let without = base_schema()
            .property("attachments", attachments(1))
            .required("attachments")
            .property("content", no_text.max_length(Some(MAX_TEXT)))
            .property("regenerate", not_again());
        let again = base_schema()
            .property("regenerate", flag("The last message is answered again.").enum_values(Some([true])))
            .required("regenerate")
            .property("content", ObjectBuilder::new().schema_type(Type::Null))
            .property("attachments", attachments(0).max_items(Some(0)).schema_type(or_null(Type::Array)));
        RefOr::T(OneOfBuilder::new().item(with_text).item(without).item(again).into())
    }
}

impl ToSchema for ChatRequestSchema {
    fn name() -> Cow<'static, str> {
        "ChatBody".into()
    }
}

fn base_schema() -> ObjectBuilder {
    let short = |words: &str| match ShortTextSchema::schema() {
        RefOr::T(Schema::Object(text)) => {
            ObjectBuilder::from(text).schema_type(or_null(Type::String)).description(Some(words))
        }
        _ => ObjectBuilder::new(),
    };
    ObjectBuilder::new()
        .schema_type(Type::Object)
        .additional_properties(Some(utoipa::openapi::schema::AdditionalProperties::<Schema>::FreeForm(false)))
        .property("session_id", short("The session to go on with; a new one is begun where there is none."))
        .property("agent", short("The agent to talk to; the session's own where nothing is said."))
        .property("debug", flag("Whether the event `debug_prompt` is wanted: what is sent to the model."))
        .property("stream", flag("False for one answer at the end of the turn in place of events."))
        .property(
            "ask",
            flag(
                "Whether somebody is there to answer questions, which then come as events `asked` and `over` and are \
                 answered at `/api/approvals/{id}`.",
            ),
        )
}

/// A field that may be null as well as left out.
fn or_null(kind: Type) -> SchemaType {
    SchemaType::from_iter([kind, Type::Null])
}

fn flag(words: &str) -> ObjectBuilder {
    ObjectBuilder::new().schema_type(or_null(Type::Boolean)).description(Some(words))
}

fn attachments(least: usize) -> ArrayBuilder {
    let kind = |word: &str| ObjectBuilder::new().schema_type(Type::String).enum_values(Some([word]));
    let text = ObjectBuilder::new()
        .schema_type(Type::Object)
        .property("type", kind("text"))
        .required("type")
        .property(
            "text",
            ObjectBuilder::new()
                .schema_type(Type::String)
                .max_length(Some(MAX_TEXT))
                .pattern(Some(r"\S"))
                .description(Some("Not only white space.")),
        )
        .required("text");
    let image = ObjectBuilder::new()
        .schema_type(Type::Object)
        .property("type", kind("image"))
        .required("type")
        .property(
            "data",
            ObjectBuilder::new()
                .schema_type(Type::String)
                .pattern(Some("^([A-Za-z0-9+/]{4})+$"))
                .description(Some("Base64.")),
        )
        .required("data")
        .property(
            "mimeType",
            ObjectBuilder::new().schema_type(Type::String).enum_values(Some([
                "image/png",
                "image/jpeg",
                "image/gif",
                "image/webp",
            ])),
        )
        .required("mimeType");
    ArrayBuilder::new()
        .items(OneOfBuilder::new().item(text).item(image))
        .min_items(Some(least))
        .max_items(Some(MAX_ATTACHMENTS))
        .description(Some("Pictures and texts, as MCP's content blocks. Texts may also come as `resource`."))
}

#[cfg(test)]
mod tests;
