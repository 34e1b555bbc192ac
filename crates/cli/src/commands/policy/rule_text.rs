//! Describes rules for people.

use toolway_core::policy::definition::{Effect, RuleCondition, RuleDefinition};

/// Returns the name of an effect.
pub(super) fn effect_verb(effect: Effect) -> &'static str {
    match effect {
        Effect::Allow => "allow",
        Effect::Deny => "deny",
        Effect::Ask => "ask",
    }
}

/// Returns the effect of a rule, including the approver.
pub(super) fn effect_text(rule: &RuleDefinition) -> &'static str {
    match rule.effect {
        Effect::Ask if rule.caller_may_answer => "ask the caller",
        other => effect_verb(other),
    }
}

/// Describes the conditions of a rule.
pub(super) fn condition_text(when: &RuleCondition) -> String {
    let list = |label: &str, values: &[String]| {
        (!values.is_empty()).then(|| format!("{label} {}", values.join(" or ")))
    };
    let mark =
        |value: Option<bool>, yes: &str, no: &str| value.map(|value| if value { yes } else { no }.to_owned());
    let parts: Vec<String> = [
        list("tools", &when.tools),
        mark(when.read_only, "read-only", "not read-only"),
        mark(when.destructive, "destructive", "not destructive"),
        mark(when.open_world, "open-world", "not open-world"),
        list("by", &when.principals),
        list("role", &when.roles),
        list("agent", &when.agents),
    ]
    .into_iter()
    .flatten()
    .collect();
    if parts.is_empty() { "every call".to_owned() } else { parts.join(", ") }
}

/// Describes the limits of a rule.
pub(super) fn limits_text(rule: &RuleDefinition) -> String {
    let limit = |value: Option<u32>, unit: &str| value.map(|value| format!("{value} {unit}"));
    let parts: Vec<String> = [
        limit(rule.calls_per_minute, "per minute"),
        limit(rule.calls_per_minute_per_tool, "per minute and tool"),
        limit(rule.in_flight, "concurrent"),
    ]
    .into_iter()
    .flatten()
    .collect();
    parts.join(", ")
}

#[cfg(test)]
mod tests;
