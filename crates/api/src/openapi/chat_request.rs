//! The body of `POST /api/chat`.

use std::borrow::Cow;

use utoipa::openapi::RefOr;
use utoipa::openapi::schema::{ArrayBuilder, ObjectBuilder, OneOfBuilder, Schema, Type};
use utoipa::{PartialSchema, ToSchema};

use super::builder::{closed, nullable, one_of, or_null, text};
use super::text::ShortTextSchema;
use crate::chat::{MAX_ATTACHMENTS, MAX_CONTENT};

/// Schema of [`ChatRequest`](crate::chat::ChatRequest): a text, or images without a text, or `regenerate`.
#[derive(Debug)]
pub struct ChatRequestSchema;

impl PartialSchema for ChatRequestSchema {
    fn schema() -> RefOr<Schema> {
        let content =
            text("The message; not only white space.").max_length(Some(MAX_CONTENT)).pattern(Some(r"\S"));
        let not_again =
            || flag("Does not answer the last message again.").enum_values(Some([Some(false), None]));
        let with_text = base()
            .property("content", content)
            .required("content")
            .property("attachments", attachments(0).schema_type(or_null(Type::Array)))
            .property("regenerate", not_again());
        let no_text = ObjectBuilder::new().schema_type(or_null(Type::String)).pattern(Some(r"^\s*$"));
        let without = base()
            .property("attachments", attachments(1))
            .required("attachments")
            .property("content", no_text.max_length(Some(MAX_CONTENT)))
            .property("regenerate", not_again());
        let again = base()
            .property("regenerate", flag("Answers the last message again.").enum_values(Some([true])))
            .required("regenerate")
            .property("content", ObjectBuilder::new().schema_type(Type::Null))
            .property("attachments", attachments(0).max_items(Some(0)).schema_type(or_null(Type::Array)));
        RefOr::T(OneOfBuilder::new().item(with_text).item(without).item(again).into())
    }
}

impl ToSchema for ChatRequestSchema {
    fn name() -> Cow<'static, str> {
        "ChatRequest".into()
    }
}

fn base() -> ObjectBuilder {
    let short = |description: &str| match ShortTextSchema::schema() {
        RefOr::T(Schema::Object(text)) => {
            ObjectBuilder::from(text).schema_type(or_null(Type::String)).description(Some(description))
        }
        _ => ObjectBuilder::new(),
    };
    closed()
        .property(
            "session_id",
            short("The session. An unknown id starts a session with this id; default: a new session."),
        )
        .property("agent", short("The agent; default: the session's agent, or `default` in a new session."))
        .property("debug", flag("Requests the event `debug_prompt`."))
        .property("stream", flag("False for one response at the end instead of events."))
        .property(
            "interactive",
            flag(
                "Somebody can answer questions about the agent's calls. They come as events `approval_requested` and \
                 `approval_resolved`; answer them with `POST /api/approvals/{id}`.",
            ),
        )
}

fn flag(description: &str) -> ObjectBuilder {
    nullable(Type::Boolean, description)
}

fn attachments(least: usize) -> ArrayBuilder {
    let part = |kind: &str| {
        ObjectBuilder::new().schema_type(Type::Object).property("type", one_of(&[kind])).required("type")
    };
    let attached_text = part("text")
        .property("text", text("Not only white space.").max_length(Some(MAX_CONTENT)).pattern(Some(r"\S")))
        .required("text");
    let image = part("image")
        .property("data", text("Base64.").pattern(Some("^([A-Za-z0-9+/]{4})+$")))
        .required("data")
        .property("mimeType", one_of(&["image/png", "image/jpeg", "image/gif", "image/webp"]))
        .required("mimeType");
    ArrayBuilder::new()
        .items(OneOfBuilder::new().item(attached_text).item(image))
        .min_items(Some(least))
        .max_items(Some(MAX_ATTACHMENTS))
        .description(Some("Images and texts, as content blocks of MCP. Texts may also come as `resource`."))
}
