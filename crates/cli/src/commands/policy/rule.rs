//! `toolway policy add`: creates a rule from flags, from JSON or TOML, or from both.

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
    /// Effect on matching calls
    #[arg(long, value_enum, value_name = "EFFECT")]
    effect: EffectFlag,
    #[command(flatten)]
    when: WhenArgs,
    /// With --effect ask: the caller may approve its own calls, not only the owner
    #[arg(long)]
    caller_may_answer: bool,
    /// Maximum calls per minute and principal, for all tools of the rule together
    #[arg(long, value_name = "N")]
    calls_per_minute: Option<u32>,
    /// Maximum calls per minute and principal, for each tool of the rule
    #[arg(long, value_name = "N")]
    calls_per_minute_per_tool: Option<u32>,
    /// Maximum concurrent calls per principal, for all tools of the rule together
    #[arg(long, value_name = "N")]
    in_flight: Option<u32>,
    /// Number of stored rules before this one (default: all for a new rule, unchanged for an existing one)
    #[arg(long, value_name = "N")]
    before: Option<u16>,
    #[command(flatten)]
    connect: ConnectArgs,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
enum EffectFlag {
    /// Run the call
    Allow,
    /// Deny the call and hide the tool
    Deny,
    /// Ask for approval first
    Ask,
}

/// Conditions of the rule. Without any, it matches all calls.
#[derive(Debug, Default, Args)]
struct WhenArgs {
    /// All conditions as JSON or TOML: '{"tools": ["pixel-8/*"]}' or 'tools = ["pixel-8/*"]'
    #[arg(long, value_name = "JSON|TOML")]
    when: Option<String>,
    /// Caller: owner, a token's id or label, or a pattern of ids; repeat the flag for more
    #[arg(long, value_name = "PRINCIPAL")]
    principal: Vec<String>,
    /// Role of the caller: owner, client or companion; repeat the flag for more
    #[arg(long, value_name = "ROLE")]
    role: Vec<String>,
    /// Agent that makes the call, or a pattern; repeat the flag for more
    #[arg(long, value_name = "AGENT")]
    agent: Vec<String>,
    /// Tool, as a SOURCE/TOOL pattern such as 'pixel-8/*' or '*/read_*'; repeat the flag for more
    #[arg(long, value_name = "TOOL-PATTERN")]
    tool: Vec<String>,
    /// Read-only tools (true), or all others (false)
    #[arg(long, value_name = "BOOL")]
    read_only: Option<bool>,
    /// Destructive tools (true), or all others (false)
    #[arg(long, value_name = "BOOL")]
    destructive: Option<bool>,
    /// Tools that reach beyond their source (true), or all others (false)
    #[arg(long, value_name = "BOOL")]
    open_world: Option<bool>,
}

impl WhenArgs {
    /// Returns the conditions of `--when`, extended by the other flags.
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

/// Parses conditions from JSON, TOML lines, or an inline TOML table.
fn parse_condition(text: &str) -> CliResult<RuleCondition> {
    let wrong = |why: String| {
        CliError::usage(format!("--when: {why}")).with_hint(
            "for example '{\"tools\": [\"pixel-8/*\"]}' or 'tools = [\"pixel-8/*\"]'; see docs/policy.md",
        )
    };
    let text = text.trim();
    if let Ok(value) = serde_json::from_str::<serde_json::Value>(text) {
        if !value.is_object() {
            return Err(wrong("it must be a JSON object".to_owned()));
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

/// Creates or changes the rule.
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
    let done = if is_new { "added" } else { "changed" };
    context.printer.line(&escape::line(&format!(
        "{done} the rule {}: {} {}",
        args.name,
        rule_text::effect_text(&rule),
        rule_text::condition_text(&rule.when)
    )))
}

#[cfg(test)]
mod tests;
