//! `toolway agents`: manages agents with their prompt, model and tools.

mod patterns;
mod pick;
mod set;
mod show;

use clap::{Args, Subcommand};
use reqwest::Method;
use serde_json::{Value, json};
use toolway_agent::definition::AgentDefinition;
use toolway_api::DefinitionOrigin;
use toolway_api::agents::{AgentDetail, AgentList};
use toolway_api::models::ModelProviderList;
use toolway_api::tools::{CallableToolList, ToolView};
use toolway_core::AgentScope;

use crate::client::{ConnectArgs, GatewayClient, parse_response};
use crate::context::CliContext;
use crate::error::{CliError, CliResult};
use crate::print::escape;
use crate::print::style::Style;
use crate::print::table::{TableCell, TableColumn, TextTable};

/// Subcommands of `toolway agents`.
#[derive(Debug, Subcommand)]
pub(crate) enum AgentsCommand {
    /// List the agents
    #[command(after_help = "Example:\n  toolway agents list")]
    List(ListAgentsArgs),
    /// Show an agent's prompt, model and tools
    #[command(after_help = "Example:\n  toolway agents show default")]
    Show(show::ShowAgentArgs),
    /// Create or change an agent
    #[command(
        after_help = "Examples:\n  toolway agents set cook --model anthropic --tools 'builtin/*' --prompt \"You plan meals.\"\n  toolway agents set cook --unset tools"
    )]
    Set(Box<set::SetAgentArgs>),
    /// Remove an agent and keep its conversations
    #[command(after_help = "Example:\n  toolway agents remove cook")]
    Remove(RemoveAgentArgs),
    /// Select an agent's tools in an interactive list
    #[command(after_help = "Example:\n  toolway agents pick cook")]
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

/// An agent as the gateway returns it.
#[derive(Debug)]
pub(crate) struct AgentWithOrigin {
    pub(crate) definition: AgentDefinition,
    origin: DefinitionOrigin,
    problems: Vec<String>,
}

/// Model of agents that name none.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum FirstModel {
    /// Its name, as `NAME/ID`, or the name of a provider without a default model.
    Known(String),
    /// No model is configured.
    Missing,
    /// The token may not list models.
    Unknown,
}

impl FirstModel {
    /// Fetches its name.
    pub(crate) async fn fetch(client: &GatewayClient) -> Self {
        let listed = match client.get(&["api", "models"], &[]).await {
            Ok(text) => parse_response::<ModelProviderList>(&text),
            Err(error) => Err(error),
        };
        let Ok(listed) = listed else { return Self::Unknown };
        let Some(first) = listed.models.into_iter().next() else { return Self::Missing };
        Self::Known(match first.model {
            Some(model) => format!("{}/{model}", first.name),
            None => first.name,
        })
    }
}

/// Describes the location of an agent.
fn describe_origin(origin: &DefinitionOrigin) -> String {
    match (origin.kind.as_str(), &origin.path, origin.line) {
        ("built_in", ..) => "built in".to_owned(),
        ("database", ..) => "database (REST or command line)".to_owned(),
        (_, Some(path), Some(line)) => format!("{path}:{line}"),
        (_, Some(path), None) => path.clone(),
        (kind, ..) => kind.to_owned(),
    }
}

impl AgentWithOrigin {
    fn read(agent: AgentDetail) -> CliResult<Self> {
        Ok(Self {
            definition: parse_response(&Value::Object(agent.definition).to_string())?,
            origin: agent.origin,
            problems: agent.problems,
        })
    }

    /// Name of the model for people.
    fn model(&self, first_model: &FirstModel) -> String {
        match (self.definition.model.as_deref(), first_model) {
            (Some(model), _) => model.to_owned(),
            (None, FirstModel::Known(name)) => format!("{name} (the first)"),
            (None, FirstModel::Missing) => "(none)".to_owned(),
            (None, FirstModel::Unknown) => "(the first)".to_owned(),
        }
    }
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

/// Fetches an agent.
pub(crate) async fn fetch_agent(name: &str, client: &GatewayClient) -> CliResult<AgentWithOrigin> {
    AgentWithOrigin::read(parse_response(&client.get(&["api", "agents", name], &[]).await?)?)
}

async fn fetch_agents(client: &GatewayClient) -> CliResult<Vec<AgentWithOrigin>> {
    let text = client.get(&["api", "agents"], &[]).await?;
    parse_response::<AgentList>(&text)?.agents.into_iter().map(AgentWithOrigin::read).collect()
}

/// Fetches the names of all agents.
pub(crate) async fn agent_names(client: &GatewayClient) -> CliResult<Vec<String>> {
    Ok(fetch_agents(client).await?.into_iter().map(|agent| agent.definition.name).collect())
}

/// Fetches the tools that the caller may use.
async fn fetch_tools(client: &GatewayClient) -> CliResult<Vec<ToolView>> {
    Ok(parse_response::<CallableToolList>(&client.get(&["api", "tools"], &[]).await?)?.tools)
}

/// Parses the tool patterns and the approval mode of an agent.
fn agent_scope(agent: &AgentDefinition) -> CliResult<AgentScope> {
    AgentScope::new(&agent.tools, agent.approval.unwrap_or_default()).map_err(|bad| {
        CliError::new(bad.to_string())
            .with_code("invalid_pattern")
            .with_hint("set the patterns again with `toolway agents set --tools`")
    })
}

fn is_in_scope(tool: &ToolView, scope: &AgentScope) -> bool {
    tool.id.parse().is_ok_and(|id| scope.includes(&id))
}

/// Returns the first line of a tool's description.
fn tool_summary(tool: &ToolView) -> &str {
    tool.description.lines().next().unwrap_or_default()
}

async fn list(args: &ListAgentsArgs, context: &CliContext) -> CliResult {
    let client = context.client(&args.connect)?;
    if context.printer.json {
        return context.printer.raw_json(&client.get(&["api", "agents"], &[]).await?);
    }
    print_list(None, &client, context).await
}

/// Prints the agents and marks the current one.
pub(crate) async fn print_list(
    current: Option<&str>,
    client: &GatewayClient,
    context: &CliContext,
) -> CliResult {
    let agents = fetch_agents(client).await?;
    let first_model = FirstModel::fetch(client).await;
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
            agent.model(&first_model).into(),
            definition.tools.join(", ").into(),
            definition.description.lines().next().unwrap_or_default().into(),
        ]);
    }
    context.printer.table(&table, "no agents")?;
    for agent in &agents {
        for problem in &agent.problems {
            context.printer.warning(&format!("{}: {problem}", agent.definition.name), "");
        }
    }
    Ok(())
}

/// Prints the tools that an agent may use.
pub(crate) async fn print_tools(agent: &str, client: &GatewayClient, context: &CliContext) -> CliResult {
    let scope = agent_scope(&fetch_agent(agent, client).await?.definition)?;
    let mut table =
        TextTable::new(vec![TableColumn::fixed("name"), TableColumn::truncatable("description", 12)]);
    for tool in fetch_tools(client).await?.iter().filter(|tool| is_in_scope(tool, &scope)) {
        table.add_row(vec![TableCell::styled(&tool.name, Style::Name), tool_summary(tool).into()]);
    }
    context.printer.table(&table, &format!("{agent} cannot use any of the current tools"))
}

async fn remove(args: &RemoveAgentArgs, context: &CliContext) -> CliResult {
    let client = context.client(&args.connect)?;
    client.send_empty(Method::DELETE, &["api", "agents", &args.name]).await?;
    if context.printer.json {
        return context.printer.json_value(&json!({"name": args.name, "removed": true}));
    }
    context.printer.line(&escape::line(&format!("removed {}", args.name)))
}

/// Creates or replaces an agent. Returns true if it is new.
async fn put_agent(definition: &AgentDefinition, client: &GatewayClient) -> CliResult<bool> {
    client.put(&["api", "agents", &definition.name], definition).await
}
