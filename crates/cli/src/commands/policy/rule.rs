//! `toolway policy add`: a rule from flags, from JSON or TOML, or from both.

use clap::{Args, ValueEnum};
use serde_json::json;
use toolway_api::policy::PutRuleRequest;
use toolway_core::policy::definition::{Effect, RuleCondition, RuleDefinition};
use toolway_types::RawJson;

use super::rule_text;
use crate::client::ConnectArgs;
use crate::context::CliContext;
use crate::error::{CliError, CliResult};
use crate::principals::resolve_patterns;
use crate::print::escape;

/// Flags of `policy add`.
#[derive(Debug, Args)]
pub(crate) struct AddRuleArgs {
    /// Name of the rule
    name: String,
    /// What becomes of the calls that it is for
    #[arg(long, value_enum, value_name = "EFFECT")]
    effect: EffectFlag,
    #[command(flatten)]
    when: WhenArgs,
    /// With --effect ask: the caller may answer for its own call, and not only the owner
    #[arg(long)]
    caller_may_answer: bool,
    /// Calls that one principal may make in a minute, all tools of the rule together
    #[arg(long, value_name = "N")]
    calls_per_minute: Option<u32>,
    /// Calls that one principal may make in a minute of each tool of the rule
    #[arg(long, value_name = "N")]
    calls_per_minute_per_tool: Option<u32>,
    /// Calls that one principal may have in flight, all tools of the rule together
    #[arg(long, value_name = "N")]
    in_flight: Option<u32>,
    /// How many of the rules made here come before it; without it, it comes last, or stays where it is
    #[arg(long, value_name = "N")]
    before: Option<u16>,
    #[command(flatten)]
    connect: ConnectArgs,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
enum EffectFlag {
    /// It runs
    Allow,
    /// It does not run, and the tool is not listed
    Deny,
    /// A person is asked first
    Ask,
}

/// Which calls the rule is for; all of them, where nothing is said.
#[derive(Debug, Default, Args)]
struct WhenArgs {
    /// All of it at once, as JSON or TOML: '{"tools": ["pixel-8/*"]}' or 'tools = ["pixel-8/*"]'
    #[arg(long, value_name = "JSON|TOML")]
    when: Option<String>,
    /// Whose calls: owner, a token's id or label, or a pattern of ids; may be said more than once
    #[arg(long, value_name = "PRINCIPAL")]
    principal: Vec<String>,
    /// Calls by this role: owner, client, companion; may be said more than once
    #[arg(long, value_name = "ROLE")]
    role: Vec<String>,
    /// Calls in the name of this agent, or of agents that fit a pattern; may be said more than once
    #[arg(long, value_name = "AGENT")]
    agent: Vec<String>,
    /// Tools, as a pattern over source/tool: pixel-8/*, */read_*; may be said more than once
    #[arg(long, value_name = "TOOL-PATTERN")]
    tool: Vec<String>,
    /// Tools that only read, or all others
    #[arg(long, value_name = "BOOL")]
    read_only: Option<bool>,
    /// Tools that may destroy something, or all others
    #[arg(long, value_name = "BOOL")]
    destructive: Option<bool>,
    /// Tools that reach beyond their source, or all others
    #[arg(long, value_name = "BOOL")]
    open_world: Option<bool>,
}

impl WhenArgs {
    /// What was given at once, with the flags added to it.
    fn to_condition(&self) -> CliResult<RuleCondition> {
        let mut when = self.when.as_deref().map(parse_condition).transpose()?.unwrap_or_default();
        when.principals.extend_from_slice(&self.principal);
        when.roles.extend_from_slice(&self.role);
        when.agents.extend_from_slice(&self.agent);
        when.tools.extend_from_slice(&self.tool);
        when.read_only = self.read_only.or(when.read_only);
        when.destructive = self.destructive.or(when.destructive);
        when.open_world = self.open_world.or(when.open_world);
        Ok(when)
    }
}

/// A selector as JSON, as TOML lines, or as an inline table of TOML.
fn parse_condition(text: &str) -> CliResult<RuleCondition> {
    let wrong = |why: String| {
        CliError::usage(format!("--when: {why}"))
            .with_hint("write it as '{\"tools\": [\"pixel-8/*\"]}' or as 'tools = [\"pixel-8/*\"]'; docs/policy.md says what it may hold")
    };
    let text = text.trim();
    if let Ok(value) = serde_json::from_str::<serde_json::Value>(text) {
        if !value.is_object() {
            return Err(wrong("it is JSON, but not an object".to_owned()));
        }
        return serde_json::from_value(value).map_err(|error| wrong(error.to_string()));
    }
    #[derive(serde::Deserialize)]
    struct WhenClause {
        when: RuleCondition,
    }
    let read = if text.starts_with('{') {
        toml::from_str::<WhenClause>(&format!("when = {text}")).map(|inline| inline.when)
    } else {
        toml::from_str(text)
    };
    read.map_err(|error| wrong(error.message().to_owned()))
}

/// Makes or changes the rule.
pub(super) async fn add(args: &AddRuleArgs, context: &CliContext) -> CliResult {
    let mut when = args.when.to_condition()?;
    let client = context.client(&args.connect)?;
    when.principals = resolve_patterns(&when.principals, &client).await?;
    let rule = RuleDefinition {
        name: None,
        when,
        effect: match args.effect {
            EffectFlag::Allow => Effect::Allow,
            EffectFlag::Deny => Effect::Deny,
            EffectFlag::Ask => Effect::Ask,
        },
        caller_may_answer: args.caller_may_answer,
        calls_per_minute: args.calls_per_minute,
        calls_per_minute_per_tool: args.calls_per_minute_per_tool,
        in_flight: args.in_flight,
    };
    let raw = RawJson::from_value(&rule).map_err(|error| CliError::new(error.to_string()))?;
    let body = PutRuleRequest { rule: raw.clone(), before: args.before };
    let is_new = client.put(&["api", "policy", "rules", &args.name], &body).await?;
    if context.printer.json {
        return context.printer.json_value(&json!({"name": args.name, "new": is_new, "rule": raw}));
    }
    let done = if is_new { "holds now" } else { "is changed" };
    context.printer.line(&escape::line(&format!(
        "the rule {} {done}: {} {}",
        args.name,
        rule_text::effect_text(&rule),
        rule_text::condition_text(&rule.when)
    )))
}

#[cfg(test)]
mod tests;
