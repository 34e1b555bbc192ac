//! Descriptions, for programs, of what no derive describes: rules, patterns over tools' ids, whose calls a grant is
//! for.

use std::borrow::Cow;

use utoipa::openapi::RefOr;
use utoipa::openapi::schema::{
    AdditionalProperties, ArrayBuilder, Object, ObjectBuilder, OneOfBuilder, Schema, SchemaType, Type,
};
use utoipa::{PartialSchema, ToSchema};

use super::token_input::{MAX_TEXT, visible_pattern};

/// Describes a pattern over `source/tool`.
pub(super) struct ToolPatternSchema;

impl PartialSchema for ToolPatternSchema {
    fn schema() -> RefOr<Schema> {
        let text =
            ObjectBuilder::new().schema_type(Type::String).min_length(Some(1)).max_length(Some(MAX_TEXT));
        let words = "A pattern over `source/tool`: `*` stands for any text, `?` for one character, `{a,b}` for one of \
                     several, `[a-z]` for one of a range. Without control and invisible characters.";
        RefOr::T(text.pattern(Some(visible_pattern("/"))).description(Some(words)).into())
    }
}

impl ToSchema for ToolPatternSchema {
    fn name() -> Cow<'static, str> {
        "ToolPattern".into()
    }
}

/// Describes a policy rule: [`RuleDefinition`](toolway_core::policy::definition::RuleDefinition) without its name.
pub(super) struct PolicyRuleSchema;

impl PartialSchema for PolicyRuleSchema {
    fn schema() -> RefOr<Schema> {
        let rule = closed()
            .description(Some("What becomes of some calls; docs/policy.md says how rules are written."))
            .property("when", when())
            .property("effect", words(&["allow", "deny", "ask"]))
            .required("effect")
            .property(
                "caller_may_answer",
                ObjectBuilder::new().schema_type(Type::Boolean).description(Some(
                    "With `ask`: whether a caller may answer for its own call. Otherwise only an owner may.",
                )),
            )
            .property("calls_per_minute", count("Calls that one principal may make in a minute."))
            .property(
                "calls_per_minute_per_tool",
                count("Calls that one principal may make in a minute of each tool."),
            )
            .property("in_flight", count("Calls that one principal may have in flight."));
        RefOr::T(rule.into())
    }
}

impl ToSchema for PolicyRuleSchema {
    fn name() -> Cow<'static, str> {
        "Rule".into()
    }
}

/// An object with no other fields than those that are described.
fn closed() -> ObjectBuilder {
    ObjectBuilder::new()
        .schema_type(Type::Object)
        .additional_properties(Some(AdditionalProperties::<Schema>::FreeForm(false)))
}

fn when() -> ObjectBuilder {
    let patterns = |words: &str| {
        let pattern = ObjectBuilder::new().schema_type(Type::String).min_length(Some(1));
        ArrayBuilder::new().items(pattern).description(Some(words.to_owned()))
    };
    closed()
        .description(Some("Which calls it is for. What is left out, or empty, is for all."))
        .property("principals", patterns("Ids of tokens, or `owner`; patterns."))
        .property("roles", ArrayBuilder::new().items(words(&["owner", "client", "device", "companion"])))
        .property("agents", patterns("Agents; patterns."))
        .property("tools", patterns("Tools, as patterns over `source/tool`."))
        .property(
            "read_only",
            maybe(Type::Boolean, "Whether the tool only reads, as a source that is trusted says."),
        )
        .property("destructive", maybe(Type::Boolean, "Whether the tool may destroy something."))
        .property("open_world", maybe(Type::Boolean, "Whether the tool reaches beyond its source."))
}

fn words(words: &[&str]) -> Object {
    ObjectBuilder::new().schema_type(Type::String).enum_values(Some(words.iter().copied())).build()
}

/// A field that may be null as well as left out.
fn maybe(kind: Type, words: &str) -> ObjectBuilder {
    ObjectBuilder::new().schema_type(SchemaType::from_iter([kind, Type::Null])).description(Some(words))
}

fn count(words: &str) -> ObjectBuilder {
    let most = f64::from(u32::MAX);
    maybe(Type::Integer, words).minimum(Some(1.0)).maximum(Some(most))
}

/// Describes a body with the optional fields `one` and `other` as what it is: never with both.
pub(super) fn one_or_other(whole: RefOr<Schema>, one: &str, other: &str) -> RefOr<Schema> {
    let RefOr::T(Schema::Object(whole)) = whole else { return whole };
    let without = |name: &str| {
        let mut form = whole.clone();
        let none = ObjectBuilder::new().schema_type(Type::Null);
        form.properties.insert(name.to_owned(), RefOr::T(none.into()));
        form
    };
    let mut with_other = without(one);
    with_other.properties.insert(other.to_owned(), super::token_input::ShortTextSchema::schema());
    with_other.required.push(other.to_owned());
    RefOr::T(OneOfBuilder::new().item(without(other)).item(with_other).into())
}

#[cfg(test)]
mod tests;
