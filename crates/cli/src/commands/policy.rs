//! `toolway policy`: manages the rules that allow, deny or ask.

mod rule;
mod rule_text;

use clap::{Args, Subcommand};
use reqwest::Method;
use serde_json::json;
use toolway_api::policy::{
    PermissionDecision, PolicyRuleView, PolicyView, TestPolicyRequest, TestPolicyResponse,
};
use toolway_core::policy::definition::{Effect, RuleDefinition};

use crate::client::{ConnectArgs, GatewayClient, parse_response};
use crate::context::CliContext;
use crate::error::CliResult;
use crate::principals::find_principal_id;
use crate::print::escape;
use crate::print::style::Style;
use crate::print::table::{LabeledValues, TableCell, TableColumn, TextTable};

/// Subcommands of `toolway policy`.
#[derive(Debug, Subcommand)]
pub(crate) enum PolicyCommand {
    /// List the active rules in the order of evaluation
    #[command(after_help = "Example:\n  toolway policy list")]
    List(ListPolicyArgs),
    /// Show which rule applies to a call, and why
    #[command(after_help = "Example:\n  toolway policy test pixel-8__camera --principal owner")]
    Test(TestPolicyArgs),
    /// Add or change a rule; rules of the settings file come first
    #[command(
        after_help = "Examples:\n  toolway policy add no-deletes --effect deny --tool '*/delete_*'\n  toolway policy add ask-phone --effect ask --tool 'pixel-8/*' --read-only false"
    )]
    Add(rule::AddRuleArgs),
    /// Remove a rule
    #[command(after_help = "Example:\n  toolway policy remove no-deletes")]
    Remove(RemoveRuleArgs),
}

/// Flags of `policy list`.
#[derive(Debug, Args)]
pub(crate) struct ListPolicyArgs {
    #[command(flatten)]
    connect: ConnectArgs,
}

/// Flags of `policy test`.
#[derive(Debug, Args)]
pub(crate) struct TestPolicyArgs {
    /// Name of the tool, as `tools list` shows it
    name: String,
    /// Caller: owner, a token's id, or its label
    #[arg(long, value_name = "PRINCIPAL")]
    principal: String,
    /// Agent that makes the call
    #[arg(long, value_name = "AGENT")]
    agent: Option<String>,
    #[command(flatten)]
    connect: ConnectArgs,
}

/// Flags of `policy remove`.
#[derive(Debug, Args)]
pub(crate) struct RemoveRuleArgs {
    /// Name of the rule, as `policy list` shows it
    name: String,
    #[command(flatten)]
    connect: ConnectArgs,
}

/// Describes the location of a rule.
fn location_text(rule: &PolicyRuleView) -> String {
    let origin = &rule.origin;
    match (&origin.path, origin.line, origin.kind.as_str()) {
        (Some(path), Some(line), _) => format!("{path}, line {line}"),
        (Some(path), None, _) => path.clone(),
        (None, _, "database") => "database".to_owned(),
        (None, _, kind) => kind.to_owned(),
    }
}

/// Parses the name of an effect.
fn parse_effect(name: &str) -> CliResult<Effect> {
    parse_response(&json!(name).to_string())
}

/// Runs the command.
pub(crate) async fn run(command: PolicyCommand, context: &CliContext) -> CliResult {
    match command {
        PolicyCommand::List(args) => list(&args, context).await,
        PolicyCommand::Test(args) => test(&args, context).await,
        PolicyCommand::Add(args) => rule::add(&args, context).await,
        PolicyCommand::Remove(args) => remove(&args, context).await,
    }
}

async fn list(args: &ListPolicyArgs, context: &CliContext) -> CliResult {
    let text = context.client(&args.connect)?.get(&["api", "policy"], &[]).await?;
    let printer = &context.printer;
    if printer.json {
        return printer.raw_json(&text);
    }
    let policy: PolicyView = parse_response(&text)?;
    let mut table = TextTable::new(vec![
        TableColumn::number("#"),
        TableColumn::fixed("name"),
        TableColumn::fixed("effect"),
        TableColumn::truncatable("for", 16),
        TableColumn::truncatable("limits", 8),
        TableColumn::truncatable("origin", 12),
    ]);
    for (at, rule) in policy.rules.iter().enumerate() {
        let definition: RuleDefinition = parse_response(rule.rule.get())?;
        table.add_row(vec![
            (at + 1).to_string().into(),
            TableCell::styled(&rule.name, Style::Name),
            TableCell::styled(rule_text::effect_text(&definition), effect_style(definition.effect)),
            rule_text::condition_text(&definition.when).into(),
            rule_text::limits_text(&definition).into(),
            location_text(rule).into(),
        ]);
    }
    printer.table(&table, "no rules; add one with `toolway policy add`")?;
    let trusted =
        if policy.trusted_sources.is_empty() { "none".to_owned() } else { policy.trusted_sources.join(", ") };
    printer.note(&format!(
        "default: {} (policy.default); trusted sources: {trusted}; changed tools: {}",
        rule_text::effect_verb(parse_effect(&policy.default)?),
        policy.changed_tools
    ));
    Ok(())
}

fn effect_style(effect: Effect) -> Style {
    match effect {
        Effect::Allow => Style::Good,
        Effect::Deny => Style::Error,
        Effect::Ask => Style::Warning,
    }
}

async fn test(args: &TestPolicyArgs, context: &CliContext) -> CliResult {
    let client = context.client(&args.connect)?;
    let principal = find_principal_id(&args.principal, &client).await?;
    let question =
        TestPolicyRequest { tool: args.name.clone(), principal: Some(principal), agent: args.agent.clone() };
    let text = client.send(Method::POST, &["api", "policy", "test"], &question).await?;
    let answer: TestPolicyResponse = parse_response(&text)?;
    let rule = find_rule(&client, answer.decision.rule.as_deref()).await?;
    let printer = &context.printer;
    if printer.json {
        // Add the origin of the rule to the gateway's answer.
        let mut whole: serde_json::Map<String, serde_json::Value> = parse_response(&text)?;
        whole.insert("origin".to_owned(), json!(rule.map(|rule| rule.origin)));
        return printer.json_value(&whole);
    }
    let decision = &answer.decision;
    let verdict = if parse_effect(&decision.effect)? == Effect::Deny {
        "denied and hidden"
    } else if decision.requires_approval {
        "allowed after approval"
    } else {
        "allowed"
    };
    let who = match &args.agent {
        Some(agent) => format!("{} ({}), agent {agent}", answer.principal, answer.role),
        None => format!("{} ({})", answer.principal, answer.role),
    };
    let mut pairs = LabeledValues::default();
    pairs.add("tool", &answer.tool_id);
    pairs.add("caller", who);
    pairs.add("verdict", verdict);
    pairs.add("because", &decision.reason);
    pairs.add_optional("origin", rule.as_ref().map(location_text));
    if let Some(definition) = &decision.definition {
        let definition: RuleDefinition = parse_response(definition.get())?;
        pairs.add(
            "rule",
            format!(
                "{} {}",
                rule_text::effect_text(&definition),
                rule_text::condition_text(&definition.when)
            ),
        );
        pairs.add_optional(
            "limits",
            Some(rule_text::limits_text(&definition)).filter(|limits| !limits.is_empty()),
        );
    }
    if decision.requires_approval {
        let answers = if decision.caller_may_answer { "the owner or the caller" } else { "the owner" };
        pairs.add("approver", answers);
    }
    pairs.add("read-only", if decision.read_only { "yes, from a trusted source" } else { "unknown" });
    for PermissionDecision { permission, state } in &decision.permissions {
        pairs.add("permission", format!("{permission}: {}", state.replace('_', " ")));
    }
    printer.pairs(&pairs)
}

/// Fetches a rule by its name.
async fn find_rule(client: &GatewayClient, name: Option<&str>) -> CliResult<Option<PolicyRuleView>> {
    let Some(name) = name else { return Ok(None) };
    let policy: PolicyView = parse_response(&client.get(&["api", "policy"], &[]).await?)?;
    // A rule without a name gets its location in the list as its name.
    Ok(policy.rules.into_iter().find(|rule| rule.name == name))
}

async fn remove(args: &RemoveRuleArgs, context: &CliContext) -> CliResult {
    let client = context.client(&args.connect)?;
    client.send_empty(Method::DELETE, &["api", "policy", "rules", &args.name]).await?;
    if context.printer.json {
        return context.printer.json_value(&json!({"name": args.name, "removed": true}));
    }
    context.printer.line(&format!("removed the rule {}", escape::line(&args.name)))
}
