//! Short forms for schemas.

use utoipa::openapi::schema::{AdditionalProperties, ObjectBuilder, Schema, SchemaType, Type};

/// An object without other fields.
pub(super) fn closed() -> ObjectBuilder {
    ObjectBuilder::new()
        .schema_type(Type::Object)
        .additional_properties(Some(AdditionalProperties::<Schema>::FreeForm(false)))
}

/// A text.
pub(super) fn text(description: &str) -> ObjectBuilder {
    ObjectBuilder::new().schema_type(Type::String).description(Some(description))
}

/// One of several texts.
pub(super) fn one_of(names: &[&str]) -> ObjectBuilder {
    ObjectBuilder::new().schema_type(Type::String).enum_values(Some(names.iter().copied()))
}

/// A type, or null.
pub(super) fn or_null(kind: Type) -> SchemaType {
    SchemaType::from_iter([kind, Type::Null])
}

/// A field that may be null.
pub(super) fn nullable(kind: Type, description: &str) -> ObjectBuilder {
    ObjectBuilder::new().schema_type(or_null(kind)).description(Some(description))
}
