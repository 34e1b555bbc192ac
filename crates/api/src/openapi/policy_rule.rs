//! A policy rule.

use std::borrow::Cow;

use utoipa::openapi::RefOr;
use utoipa::openapi::schema::{ArrayBuilder, ObjectBuilder, Schema, Type};
use utoipa::{PartialSchema, ToSchema};

use super::builder::{closed, nullable, one_of};

/// Schema of a policy rule without its name.
#[derive(Debug)]
pub struct PolicyRuleSchema;

impl PartialSchema for PolicyRuleSchema {
    fn schema() -> RefOr<Schema> {
        let rule = closed()
            .description(Some("A policy rule; docs/policy.md describes the fields."))
            .property("when", when())
            .property("effect", one_of(&["allow", "deny", "ask"]))
            .required("effect")
            .property(
                "caller_may_answer",
                ObjectBuilder::new().schema_type(Type::Boolean).description(Some(
                    "With `ask`: callers may answer for their own calls. Otherwise only the owner may.",
                )),
            )
            .property("calls_per_minute", count("Maximum number of calls of one principal per minute."))
            .property(
                "calls_per_minute_per_tool",
                count("Maximum number of calls of one principal per minute and tool."),
            )
            .property("in_flight", count("Maximum number of concurrent calls of one principal."));
        RefOr::T(rule.into())
    }
}

impl ToSchema for PolicyRuleSchema {
    fn name() -> Cow<'static, str> {
        "PolicyRule".into()
    }
}

fn when() -> ObjectBuilder {
    let patterns = |description: &str| {
        let pattern = ObjectBuilder::new().schema_type(Type::String).min_length(Some(1));
        ArrayBuilder::new().items(pattern).description(Some(description.to_owned()))
    };
    closed()
        .description(Some("The matching calls. A missing or empty field matches all."))
        .property("principals", patterns("Ids of tokens, or `owner`; patterns."))
        .property("roles", ArrayBuilder::new().items(one_of(&["owner", "client", "device", "companion"])))
        .property("agents", patterns("Agents; patterns."))
        .property("tools", patterns("Tools, as patterns for `source/tool`."))
        .property(
            "read_only",
            nullable(Type::Boolean, "Whether the tool is read-only, according to a trusted source."),
        )
        .property("destructive", nullable(Type::Boolean, "Whether the tool may destroy data."))
        .property(
            "open_world",
            nullable(Type::Boolean, "Whether the tool reaches systems outside of its source."),
        )
}

fn count(description: &str) -> ObjectBuilder {
    let most = f64::from(u32::MAX);
    nullable(Type::Integer, description).minimum(Some(1.0)).maximum(Some(most))
}
