//! Describes an agent's definition to programs.

use std::borrow::Cow;

use utoipa::openapi::RefOr;
use utoipa::openapi::schema::{AdditionalProperties, ArrayBuilder, ObjectBuilder, Schema, SchemaType, Type};
use utoipa::{PartialSchema, ToSchema};

/// Describes an agent's name.
pub(super) struct AgentNameSchema;

impl PartialSchema for AgentNameSchema {
    fn schema() -> RefOr<Schema> {
        let text = ObjectBuilder::new().schema_type(Type::String).pattern(Some("^[a-z][a-z0-9_-]{0,63}$"));
        RefOr::T(text.into())
    }
}

impl ToSchema for AgentNameSchema {
    fn name() -> Cow<'static, str> {
        "AgentName".into()
    }
}

/// Describes [`AgentDefinition`](toolway_agent::definition::AgentDefinition), whose name stands in the path.
pub(super) struct AgentDefinitionSchema;

impl PartialSchema for AgentDefinitionSchema {
    fn schema() -> RefOr<Schema> {
        let form = closed()
            .description(Some("An agent; docs/agents.md says what its fields are."))
            .property("description", text("What it is for, for people: at most 4 KiB."))
            .property("prompt", text("What its model is told before anything else: at most 256 KiB."))
            .property(
                "model",
                maybe_text("The model that answers, as `NAME/ID`.", "^[!-.0-~]{1,64}(/[!-~]{1,128})?$"),
            )
            .property("options", options())
            .property("tools", tools())
            .property(
                "approval",
                maybe(Type::String, "Which of its calls wait for approval: `never`, `writes` or `always`.")
                    .enum_values(Some([Some("never"), Some("writes"), Some("always"), None])),
            )
            .property("limits", limits())
            .property(
                "max_tools",
                maybe(Type::Integer, "Most tools that its model is told of at once.")
                    .minimum(Some(1.0))
                    .maximum(Some(100_000.0)),
            );
        RefOr::T(form.into())
    }
}

impl ToSchema for AgentDefinitionSchema {
    fn name() -> Cow<'static, str> {
        "AgentDefinition".into()
    }
}

/// An object with no other fields than those that are described.
fn closed() -> ObjectBuilder {
    ObjectBuilder::new()
        .schema_type(Type::Object)
        .additional_properties(Some(AdditionalProperties::<Schema>::FreeForm(false)))
}

fn text(words: &str) -> ObjectBuilder {
    ObjectBuilder::new().schema_type(Type::String).description(Some(words))
}

/// A field that may be null as well as left out.
fn maybe(kind: Type, words: &str) -> ObjectBuilder {
    ObjectBuilder::new().schema_type(SchemaType::from_iter([kind, Type::Null])).description(Some(words))
}

fn maybe_text(words: &str, pattern: &str) -> ObjectBuilder {
    maybe(Type::String, words).pattern(Some(pattern))
}

fn tools() -> ArrayBuilder {
    let pattern = ObjectBuilder::new()
        .schema_type(Type::String)
        .pattern(Some(r"^[a-z*][a-z0-9-]{0,23}/[A-Za-z0-9_*-]{1,64}$"))
        .description(Some(
            "A pattern over `source/tool`; one that begins with `!` takes tools out of those that stand before it.",
        ));
    ArrayBuilder::new()
        .items(pattern)
        .max_items(Some(1000))
        .description(Some("The tools it may use; `*/*` where nothing is said."))
}

fn options() -> ObjectBuilder {
    let number = |words: &str| maybe(Type::Number, words).minimum(Some(0.0)).maximum(Some(100.0));
    closed()
        .description(Some("How its model is to answer."))
        .property(
            "max_output_tokens",
            maybe(Type::Integer, "Most tokens that it may write.").minimum(Some(1.0)).maximum(Some(1e12)),
        )
        .property("temperature", number("How much chance there is in its choice of words."))
        .property("top_p", number("From how much of the likely words it chooses."))
        .property(
            "stop",
            ArrayBuilder::new()
                .items(ObjectBuilder::new().schema_type(Type::String).min_length(Some(1)))
                .max_items(Some(16))
                .description(Some("Texts at which it stops.")),
        )
        .property(
            "seed",
            maybe(Type::Integer, "A number that makes its chance repeatable.")
                .minimum(Some(-1e15))
                .maximum(Some(1e15)),
        )
        .property(
            "reasoning",
            maybe(Type::String, "How much it may think: `none`, `low`, `medium` or `high`.")
                .enum_values(Some([Some("none"), Some("low"), Some("medium"), Some("high"), None])),
        )
        .property(
            "parallel_tool_calls",
            maybe(Type::Boolean, "Whether it may call several tools in one answer."),
        )
        .property(
            "extra",
            ObjectBuilder::new().schema_type(Type::Object).description(Some(
                "Fields of the provider's own, which are put into the request as they are.",
            )),
        )
}

fn limits() -> ObjectBuilder {
    let more_than_0 = |words: &str| maybe(Type::Number, words).minimum(Some(0.001)).maximum(Some(1e9));
    closed()
        .description(Some("What ends a turn of it."))
        .property(
            "rounds",
            maybe(Type::Integer, "So many requests to the model.")
                .minimum(Some(1.0))
                .maximum(Some(f64::from(u32::MAX))),
        )
        .property("cost", more_than_0("So much money, in the currency of the price table."))
        .property("seconds", more_than_0("So many seconds, those spent waiting for persons not counted."))
}
