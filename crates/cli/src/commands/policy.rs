//! `toolway policy`: the rules that say who may use which tool.

mod rule;
mod words;

use clap::{Args, Subcommand};
use reqwest::Method;
use serde::{Deserialize, Serialize};
use serde_json::json;
use toolway_core::policy::definition::{Effect, RuleDefinition};
use toolway_types::RawJson;

use crate::client::{Client, ConnectArgs, read};
use crate::context::Context;
use crate::principals::id_of;
use crate::print::escape;
use crate::print::style::Style;
use crate::print::table::{Cell, Column, Pairs, Table};
use crate::report::Done;

/// What to do with rules.
#[derive(Debug, Subcommand)]
pub(crate) enum PolicyCommand {
    /// List the rules that hold, in the order in which they are tried
    List(ListArgs),
    /// Say which rule decides over a call, and why
    Test(TestArgs),
    /// Make a rule, or change the one of this name; those of the settings come first
    Add(rule::AddArgs),
    /// Remove a rule
    Remove(RemoveArgs),
}

/// Flags of `policy list`.
#[derive(Debug, Args)]
pub(crate) struct ListArgs {
    #[command(flatten)]
    connect: ConnectArgs,
}

/// Flags of `policy test`.
#[derive(Debug, Args)]
pub(crate) struct TestArgs {
    /// Name of the tool, as `tools list` shows it
    name: String,
    /// Who calls: owner, a token's id, or its label
    #[arg(long = "as", value_name = "PRINCIPAL")]
    principal: String,
    /// The agent in whose name the call would be made
    #[arg(long, value_name = "AGENT")]
    agent: Option<String>,
    #[command(flatten)]
    connect: ConnectArgs,
}

/// Flags of `policy remove`.
#[derive(Debug, Args)]
pub(crate) struct RemoveArgs {
    /// Name of the rule, as `policy list` shows it
    name: String,
    #[command(flatten)]
    connect: ConnectArgs,
}

#[derive(Debug, Deserialize)]
struct Policy {
    default: Effect,
    trusted_sources: Vec<String>,
    changed_tools: String,
    rules: Vec<Rule>,
}

#[derive(Debug, Deserialize)]
struct Rule {
    name: String,
    origin: String,
    place: Option<String>,
    rule: RuleDefinition,
}

impl Rule {
    /// Where it stands.
    fn stands(&self) -> String {
        match (&self.place, self.origin.as_str()) {
            (Some(place), _) => place.clone(),
            (None, "database") => "made here".to_owned(),
            (None, origin) => origin.to_owned(),
        }
    }
}

#[derive(Debug, Serialize)]
struct Question<'a> {
    tool: &'a str,
    principal: &'a str,
    #[serde(skip_serializing_if = "Option::is_none")]
    agent: Option<&'a str>,
}

#[derive(Debug, Deserialize)]
struct Answer {
    tool: String,
    principal: String,
    role: String,
    decision: Decision,
}

#[derive(Debug, Deserialize)]
struct Decision {
    effect: Effect,
    rule: Option<String>,
    reason: String,
    definition: Option<RuleDefinition>,
    asks: bool,
    caller_may_answer: bool,
    read_only: bool,
    permissions: Vec<Permission>,
}

#[derive(Debug, Deserialize)]
struct Permission {
    permission: String,
    state: String,
}

/// Runs the command.
pub(crate) async fn run(command: PolicyCommand, context: &Context) -> Done {
    match command {
        PolicyCommand::List(args) => list(&args, context).await,
        PolicyCommand::Test(args) => test(&args, context).await,
        PolicyCommand::Add(args) => rule::add(&args, context).await,
        PolicyCommand::Remove(args) => remove(&args, context).await,
    }
}

async fn list(args: &ListArgs, context: &Context) -> Done {
    let text = context.client(&args.connect)?.get(&["api", "policy"], &[]).await?;
    let printer = &context.printer;
    if printer.json {
        return printer.raw_json(&text);
    }
    let policy: Policy = read(&text)?;
    let mut table = Table::new(vec![
        Column::number("#"),
        Column::whole("name"),
        Column::whole("effect"),
        Column::cut("for", 16),
        Column::cut("limits", 8),
        Column::cut("stands in", 12),
    ]);
    for (at, rule) in policy.rules.iter().enumerate() {
        table.row(vec![
            (at + 1).to_string().into(),
            Cell::styled(&rule.name, Style::Name),
            Cell::styled(words::effect(&rule.rule), style(rule.rule.effect)),
            words::when(&rule.rule.when).into(),
            words::limits(&rule.rule).into(),
            rule.stands().into(),
        ]);
    }
    printer.table(&table, "there is no rule; `toolway policy add` makes one")?;
    let trusted = if policy.trusted_sources.is_empty() {
        "no source".to_owned()
    } else {
        policy.trusted_sources.join(", ")
    };
    printer.note(&format!(
        "else: {} (policy.default); believed about what their tools do: {trusted}; tools that change: {}",
        words::verb(policy.default),
        policy.changed_tools
    ));
    Ok(())
}

fn style(effect: Effect) -> Style {
    match effect {
        Effect::Allow => Style::Good,
        Effect::Deny => Style::Error,
        Effect::Ask => Style::Warning,
    }
}

async fn test(args: &TestArgs, context: &Context) -> Done {
    let client = context.client(&args.connect)?;
    let principal = id_of(&args.principal, &client).await?;
    let question = Question { tool: &args.name, principal: &principal, agent: args.agent.as_deref() };
    let text = client.send(Method::POST, &["api", "policy", "test"], &question).await?;
    let answer: Answer = read(&text)?;
    let place = place(&client, answer.decision.rule.as_deref()).await?;
    let printer = &context.printer;
    if printer.json {
        // With where the rule stands beside what the gateway said.
        let mut whole: serde_json::Map<String, serde_json::Value> = read(&text)?;
        whole.insert("place".to_owned(), json!(place));
        return printer.json_value(&whole);
    }
    let decision = &answer.decision;
    let verdict = if decision.effect == Effect::Deny {
        "denied, and not listed"
    } else if decision.asks {
        "allowed once a person has said yes"
    } else {
        "allowed"
    };
    let who = match &args.agent {
        Some(agent) => format!("{} ({}), agent {agent}", answer.principal, answer.role),
        None => format!("{} ({})", answer.principal, answer.role),
    };
    let mut pairs = Pairs::default();
    pairs.add("tool", &answer.tool);
    pairs.add("caller", who);
    pairs.add("verdict", verdict);
    pairs.add("because", &decision.reason);
    pairs.maybe("stands in", place);
    if let Some(definition) = &decision.definition {
        pairs.add("rule", format!("{} {}", words::effect(definition), words::when(&definition.when)));
        pairs.maybe("limits", Some(words::limits(definition)).filter(|limits| !limits.is_empty()));
    }
    if decision.asks {
        let answers = if decision.caller_may_answer { "the owner, or the caller" } else { "the owner" };
        pairs.add("who answers", answers);
    }
    pairs.add(
        "read-only",
        if decision.read_only { "yes, by a source that is believed" } else { "not known to be" },
    );
    for Permission { permission, state } in &decision.permissions {
        pairs.add("permission", format!("{permission}: {}", state.replace('_', " ")));
    }
    printer.pairs(&pairs)
}

/// Where a rule stands.
async fn place(client: &Client, name: Option<&str>) -> Done<Option<String>> {
    let Some(name) = name else { return Ok(None) };
    let policy: Policy = read(&client.get(&["api", "policy"], &[]).await?)?;
    // One that has no name of its own is called by where it stands in the list.
    Ok(policy.rules.iter().find(|rule| rule.name == name).map(Rule::stands))
}

async fn remove(args: &RemoveArgs, context: &Context) -> Done {
    let client = context.client(&args.connect)?;
    client.ask(Method::DELETE, &["api", "policy", "rules", &args.name]).await?;
    if context.printer.json {
        return context.printer.json_value(&json!({"name": args.name, "removed": true}));
    }
    context.printer.line(&format!("the rule {} holds no more", escape::line(&args.name)))
}

/// A rule as the gateway takes it.
#[derive(Debug, Serialize)]
struct NewRule<'a> {
    rule: &'a RawJson,
    #[serde(skip_serializing_if = "Option::is_none")]
    before: Option<u16>,
}
