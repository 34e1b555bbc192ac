//! The definition of an agent.

use std::borrow::Cow;

use utoipa::openapi::RefOr;
use utoipa::openapi::schema::{ArrayBuilder, ObjectBuilder, Schema, Type};
use utoipa::{PartialSchema, ToSchema};

use super::builder::{closed, nullable, text};

/// Schema of an agent's name.
#[derive(Debug)]
pub struct AgentNameSchema;

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

/// Schema of an agent's definition. Its name is in the path.
#[derive(Debug)]
pub struct AgentDefinitionSchema;

impl PartialSchema for AgentDefinitionSchema {
    fn schema() -> RefOr<Schema> {
        let form = closed()
            .description(Some("An agent; docs/agents.md describes the fields."))
            .property("description", text("The agent's purpose, for people: at most 4 KiB."))
            .property("prompt", text("The system prompt: at most 256 KiB."))
            .property("model", nullable_text("The model, as `NAME/ID`.", "^[!-.0-~]{1,64}(/[!-~]{1,128})?$"))
            .property("options", options())
            .property("tools", tools())
            .property(
                "approval",
                nullable(Type::String, "The calls that need approval: `never`, `writes` or `always`.")
                    .enum_values(Some([Some("never"), Some("writes"), Some("always"), None])),
            )
            .property("limits", limits())
            .property(
                "max_tools",
                nullable(Type::Integer, "Maximum number of tools in a model request.")
                    .minimum(Some(1.0))
                    .maximum(Some(100_000.0)),
            )
            .property(
                "time_zone",
                nullable_text(
                    "Time zone for tools if the client gives none, as a name of the IANA database.",
                    "^[A-Za-z][A-Za-z0-9_+/-]{0,99}$",
                ),
            );
        RefOr::T(form.into())
    }
}

impl ToSchema for AgentDefinitionSchema {
    fn name() -> Cow<'static, str> {
        "AgentDefinition".into()
    }
}

fn nullable_text(description: &str, pattern: &str) -> ObjectBuilder {
    nullable(Type::String, description).pattern(Some(pattern))
}

fn tools() -> ArrayBuilder {
    let pattern = ObjectBuilder::new()
        .schema_type(Type::String)
        .pattern(Some(r"^[a-z*][a-z0-9-]{0,23}/[A-Za-z0-9_*-]{1,64}$"))
        .description(Some(
            "A pattern for `source/tool`. A pattern with `!` excludes tools that earlier patterns match.",
        ));
    ArrayBuilder::new()
        .items(pattern)
        .max_items(Some(1000))
        .description(Some("The tools it may use; default: `*/*`."))
}

fn options() -> ObjectBuilder {
    let number =
        |description: &str| nullable(Type::Number, description).minimum(Some(0.0)).maximum(Some(100.0));
    closed()
        .description(Some("Options of the model request."))
        .property(
            "max_output_tokens",
            nullable(Type::Integer, "Maximum number of output tokens.")
                .minimum(Some(1.0))
                .maximum(Some(1e12)),
        )
        .property("temperature", number("Sampling temperature."))
        .property("top_p", number("Nucleus sampling."))
        .property(
            "stop",
            ArrayBuilder::new()
                .items(ObjectBuilder::new().schema_type(Type::String).min_length(Some(1)))
                .max_items(Some(16))
                .description(Some("Stop sequences.")),
        )
        .property(
            "seed",
            nullable(Type::Integer, "Seed for repeatable sampling.").minimum(Some(-1e15)).maximum(Some(1e15)),
        )
        .property(
            "reasoning",
            nullable(Type::String, "Reasoning effort: `none`, `low`, `medium` or `high`.")
                .enum_values(Some([Some("none"), Some("low"), Some("medium"), Some("high"), None])),
        )
        .property(
            "parallel_tool_calls",
            nullable(Type::Boolean, "Whether it may call several tools in one response."),
        )
        .property(
            "extra",
            ObjectBuilder::new()
                .schema_type(Type::Object)
                .description(Some("Provider-specific fields, added to the request unchanged.")),
        )
}

fn limits() -> ObjectBuilder {
    let more_than_0 =
        |description: &str| nullable(Type::Number, description).minimum(Some(0.001)).maximum(Some(1e9));
    closed()
        .description(Some("Limits of a turn."))
        .property(
            "rounds",
            nullable(Type::Integer, "Maximum number of model requests.")
                .minimum(Some(1.0))
                .maximum(Some(f64::from(u32::MAX))),
        )
        .property("cost", more_than_0("Maximum cost, in the currency of the price table."))
        .property("seconds", more_than_0("Maximum duration in seconds, without the time waiting for people."))
}
