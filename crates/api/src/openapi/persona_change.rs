//! The change of an agent by an app of version 1.

use std::borrow::Cow;

use utoipa::openapi::RefOr;
use utoipa::openapi::schema::{ArrayBuilder, ObjectBuilder, Schema, SchemaType, Type};
use utoipa::{PartialSchema, ToSchema};

use super::builder::{nullable, or_null};

/// Schema of the body of `PUT /api/personas/{name}`.
#[derive(Debug)]
pub struct PersonaChangeSchema;

impl PartialSchema for PersonaChangeSchema {
    fn schema() -> RefOr<Schema> {
        let model =
            nullable(Type::String, "The model, as `NAME/ID` or as an id of the first model provider.")
                .pattern(Some("^([!-.0-~]{1,64}(/[!-~]{1,128})?)?$"));
        let form = ObjectBuilder::new()
            .schema_type(Type::Object)
            .description(Some("A missing field changes nothing. Other fields are ignored."))
            .property("system_prompt", nullable(Type::String, "The system prompt: at most 256 KiB."))
            .property("allowed_tools", tools("The only tools of the agent. None: all."))
            .property("denied_tools", tools("Tools that the agent does not have."))
            .property("model", model);
        RefOr::T(form.into())
    }
}

impl ToSchema for PersonaChangeSchema {
    fn name() -> Cow<'static, str> {
        "PersonaChange".into()
    }
}

fn tools(description: &str) -> ArrayBuilder {
    let kind: SchemaType = or_null(Type::Array);
    let name = ObjectBuilder::new().schema_type(Type::String);
    ArrayBuilder::new().schema_type(kind).items(name).max_items(Some(500)).description(Some(description))
}
