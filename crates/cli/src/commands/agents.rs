//! `toolway agents`: who can be talked to: with which prompt, which model, and which tools.

mod patterns;
mod pick;
mod set;
mod show;

use clap::{Args, Subcommand};
use reqwest::Method;
use serde::Deserialize;
use serde_json::{Map, Value, json};
use toolway_agent::definition::AgentDefinition;
use toolway_core::AgentScope;

use crate::client::{ConnectArgs, GatewayClient, parse_response};
use crate::context::CliContext;
use crate::error::{CliError, CliResult};
use crate::print::escape;
use crate::print::style::Style;
use crate::print::table::{TableCell, TableColumn, TextTable};

/// What to do with agents.
#[derive(Debug, Subcommand)]
pub(crate) enum AgentsCommand {
    /// List agents
    List(ListAgentsArgs),
    /// Show one: its prompt, its model, which tools it may use
    Show(show::ShowAgentArgs),
    /// Make an agent, or change what is said of one
    Set(Box<set::SetAgentArgs>),
    /// Remove an agent; conversations with it stay
    Remove(RemoveAgentArgs),
    /// Tick the tools that an agent may use, in a list
    Pick(pick::PickAgentToolsArgs),
}

/// Flags of `agents list`.
#[derive(Debug, Args)]
pub(crate) struct ListAgentsArgs {
    #[command(flatten)]
    connect: ConnectArgs,
}

/// Flags of `agents remove`.
#[derive(Debug, Args)]
pub(crate) struct RemoveAgentArgs {
    /// Name of the agent, as `agents list` shows it
    name: String,
    #[command(flatten)]
    connect: ConnectArgs,
}

/// An agent as the gateway shows it.
#[derive(Debug)]
pub(crate) struct AgentWithOrigin {
    pub(crate) definition: AgentDefinition,
    origin: Origin,
    problems: Vec<String>,
}

/// Where an agent stands.
#[derive(Debug, Default, Deserialize)]
struct Origin {
    kind: String,
    path: Option<String>,
    line: Option<u64>,
}

impl Origin {
    /// In words.
    fn describe(&self) -> String {
        match (self.kind.as_str(), &self.path, self.line) {
            ("built_in", ..) => "as it comes".to_owned(),
            ("database", ..) => "made over REST or on the command line".to_owned(),
            (_, Some(path), Some(line)) => format!("{path}:{line}"),
            (_, Some(path), None) => path.clone(),
            (kind, ..) => kind.to_owned(),
        }
    }
}

impl AgentWithOrigin {
    fn from_fields(mut fields: Map<String, Value>) -> CliResult<Self> {
        let origin = fields.remove("origin").unwrap_or_default();
        let problems = fields.remove("problems").unwrap_or_else(|| json!([]));
        Ok(Self {
            definition: parse_response(&Value::Object(fields).to_string())?,
            origin: serde_json::from_value(origin).unwrap_or_default(),
            problems: serde_json::from_value(problems).unwrap_or_default(),
        })
    }

    /// The model that answers, in words.
    fn model(&self) -> &str {
        self.definition.model.as_deref().unwrap_or("(the first)")
    }
}

#[derive(Debug, Deserialize)]
struct AgentList {
    agents: Vec<Map<String, Value>>,
}

/// A tool as far as it matters which agent may use it.
#[derive(Debug, Deserialize)]
struct Tool {
    name: String,
    id: String,
    description: String,
    #[serde(default)]
    permissions: Vec<String>,
}

#[derive(Debug, Deserialize)]
struct ToolList {
    tools: Vec<Tool>,
}

/// Runs the command.
pub(crate) async fn run(command: AgentsCommand, context: &CliContext) -> CliResult {
    match command {
        AgentsCommand::List(args) => list(&args, context).await,
        AgentsCommand::Show(args) => show::run(&args, context).await,
        AgentsCommand::Set(args) => set::run(&args, context).await,
        AgentsCommand::Remove(args) => remove(&args, context).await,
        AgentsCommand::Pick(args) => pick::run(&args, context).await,
    }
}

/// An agent.
pub(crate) async fn fetch_agent(name: &str, client: &GatewayClient) -> CliResult<AgentWithOrigin> {
    AgentWithOrigin::from_fields(parse_response(&client.get(&["api", "agents", name], &[]).await?)?)
}

async fn fetch_agents(client: &GatewayClient) -> CliResult<Vec<AgentWithOrigin>> {
    let text = client.get(&["api", "agents"], &[]).await?;
    parse_response::<AgentList>(&text)?.agents.into_iter().map(AgentWithOrigin::from_fields).collect()
}

/// The names of all agents.
pub(crate) async fn agent_names(client: &GatewayClient) -> CliResult<Vec<String>> {
    Ok(fetch_agents(client).await?.into_iter().map(|agent| agent.definition.name).collect())
}

/// The tools that there are, to whoever asks.
async fn fetch_tools(client: &GatewayClient) -> CliResult<Vec<Tool>> {
    Ok(parse_response::<ToolList>(&client.get(&["api", "tools"], &[]).await?)?.tools)
}

/// What an agent may use.
fn agent_scope(agent: &AgentDefinition) -> CliResult<AgentScope> {
    AgentScope::new(&agent.tools, agent.approval.unwrap_or_default()).map_err(|bad| {
        CliError::new(bad.to_string())
            .with_code("bad_pattern")
            .with_hint("`toolway agents set --tools` sets them anew")
    })
}

impl Tool {
    fn is_in_scope(&self, scope: &AgentScope) -> bool {
        self.id.parse().is_ok_and(|id| scope.includes(&id))
    }

    /// The first line of what it does.
    fn summary(&self) -> &str {
        self.description.lines().next().unwrap_or_default()
    }
}

async fn list(args: &ListAgentsArgs, context: &CliContext) -> CliResult {
    let client = context.client(&args.connect)?;
    if context.printer.json {
        return context.printer.raw_json(&client.get(&["api", "agents"], &[]).await?);
    }
    print_list(None, &client, context).await
}

/// Lists the agents, the one that is talked to marked.
pub(crate) async fn print_list(
    current: Option<&str>,
    client: &GatewayClient,
    context: &CliContext,
) -> CliResult {
    let agents = fetch_agents(client).await?;
    let mut table = TextTable::new(vec![
        TableColumn::fixed("name"),
        TableColumn::truncatable("model", 10),
        TableColumn::truncatable("tools", 8),
        TableColumn::truncatable("description", 12).optional(),
    ]);
    for agent in &agents {
        let definition = &agent.definition;
        let mark = if current == Some(definition.name.as_str()) { " *" } else { "" };
        table.add_row(vec![
            TableCell::styled(format!("{}{mark}", definition.name), Style::Name),
            agent.model().into(),
            definition.tools.join(", ").into(),
            definition.description.lines().next().unwrap_or_default().into(),
        ]);
    }
    context.printer.table(&table, "there is no agent")?;
    for agent in &agents {
        for problem in &agent.problems {
            context.printer.warning(&format!("{}: {problem}", agent.definition.name), "");
        }
    }
    Ok(())
}

/// Lists the tools that an agent may use.
pub(crate) async fn print_tools(agent: &str, client: &GatewayClient, context: &CliContext) -> CliResult {
    let scope = agent_scope(&fetch_agent(agent, client).await?.definition)?;
    let mut table =
        TextTable::new(vec![TableColumn::fixed("name"), TableColumn::truncatable("description", 12)]);
    for tool in fetch_tools(client).await?.iter().filter(|tool| tool.is_in_scope(&scope)) {
        table.add_row(vec![TableCell::styled(&tool.name, Style::Name), tool.summary().into()]);
    }
    context.printer.table(&table, &format!("{agent} may use no tool that there is now"))
}

async fn remove(args: &RemoveAgentArgs, context: &CliContext) -> CliResult {
    let client = context.client(&args.connect)?;
    client.send_empty(Method::DELETE, &["api", "agents", &args.name]).await?;
    if context.printer.json {
        return context.printer.json_value(&json!({"name": args.name, "removed": true}));
    }
    context.printer.line(&escape::line(&format!("{} is removed", args.name)))
}

/// Puts an agent in its place; gives whether it is new.
async fn put_agent(definition: &AgentDefinition, client: &GatewayClient) -> CliResult<bool> {
    client.put(&["api", "agents", &definition.name], definition).await
}
