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

use crate::client::{Client, ConnectArgs, read};
use crate::context::Context;
use crate::print::escape;
use crate::print::style::Style;
use crate::print::table::{Cell, Column, Table};
use crate::report::{Done, Failure};

/// What to do with agents.
#[derive(Debug, Subcommand)]
pub(crate) enum AgentsCommand {
    /// List agents
    List(ListArgs),
    /// Show one: its prompt, its model, which tools it may use
    Show(show::ShowArgs),
    /// Make an agent, or change what is said of one
    Set(Box<set::SetArgs>),
    /// Remove an agent; conversations with it stay
    Remove(RemoveArgs),
    /// Tick the tools that an agent may use, in a list
    Pick(pick::PickArgs),
}

/// Flags of `agents list`.
#[derive(Debug, Args)]
pub(crate) struct ListArgs {
    #[command(flatten)]
    connect: ConnectArgs,
}

/// Flags of `agents remove`.
#[derive(Debug, Args)]
pub(crate) struct RemoveArgs {
    /// Name of the agent, as `agents list` shows it
    name: String,
    #[command(flatten)]
    connect: ConnectArgs,
}

/// An agent as the gateway shows it.
#[derive(Debug)]
pub(crate) struct Agent {
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
    fn in_words(&self) -> String {
        match (self.kind.as_str(), &self.path, self.line) {
            ("built_in", ..) => "as it comes".to_owned(),
            ("database", ..) => "made over REST or on the command line".to_owned(),
            (_, Some(path), Some(line)) => format!("{path}:{line}"),
            (_, Some(path), None) => path.clone(),
            (kind, ..) => kind.to_owned(),
        }
    }
}

impl Agent {
    fn of(mut fields: Map<String, Value>) -> Done<Self> {
        let origin = fields.remove("origin").unwrap_or_default();
        let problems = fields.remove("problems").unwrap_or_else(|| json!([]));
        Ok(Self {
            definition: read(&Value::Object(fields).to_string())?,
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
pub(crate) async fn run(command: AgentsCommand, context: &Context) -> Done {
    match command {
        AgentsCommand::List(args) => list(&args, context).await,
        AgentsCommand::Show(args) => show::run(&args, context).await,
        AgentsCommand::Set(args) => set::run(&args, context).await,
        AgentsCommand::Remove(args) => remove(&args, context).await,
        AgentsCommand::Pick(args) => pick::run(&args, context).await,
    }
}

/// An agent.
pub(crate) async fn get(name: &str, client: &Client) -> Done<Agent> {
    Agent::of(read(&client.get(&["api", "agents", name], &[]).await?)?)
}

async fn all(client: &Client) -> Done<Vec<Agent>> {
    let text = client.get(&["api", "agents"], &[]).await?;
    read::<AgentList>(&text)?.agents.into_iter().map(Agent::of).collect()
}

/// The names of all agents.
pub(crate) async fn names(client: &Client) -> Done<Vec<String>> {
    Ok(all(client).await?.into_iter().map(|agent| agent.definition.name).collect())
}

/// The tools that there are, to whoever asks.
async fn tools(client: &Client) -> Done<Vec<Tool>> {
    Ok(read::<ToolList>(&client.get(&["api", "tools"], &[]).await?)?.tools)
}

/// What an agent may use.
fn scope(agent: &AgentDefinition) -> Done<AgentScope> {
    AgentScope::new(&agent.tools, agent.approval.unwrap_or_default()).map_err(|bad| {
        Failure::new(bad.to_string()).code("bad_pattern").hint("`toolway agents set --tools` sets them anew")
    })
}

impl Tool {
    fn is_within(&self, scope: &AgentScope) -> bool {
        self.id.parse().is_ok_and(|id| scope.includes(&id))
    }

    /// The first line of what it does.
    fn does(&self) -> &str {
        self.description.lines().next().unwrap_or_default()
    }
}

async fn list(args: &ListArgs, context: &Context) -> Done {
    let client = context.client(&args.connect)?;
    if context.printer.json {
        return context.printer.raw_json(&client.get(&["api", "agents"], &[]).await?);
    }
    print_list(None, &client, context).await
}

/// Lists the agents, the one that is talked to marked.
pub(crate) async fn print_list(current: Option<&str>, client: &Client, context: &Context) -> Done {
    let agents = all(client).await?;
    let mut table = Table::new(vec![
        Column::whole("name"),
        Column::cut("model", 10),
        Column::cut("tools", 8),
        Column::cut("description", 12).optional(),
    ]);
    for agent in &agents {
        let definition = &agent.definition;
        let mark = if current == Some(definition.name.as_str()) { " *" } else { "" };
        table.row(vec![
            Cell::styled(format!("{}{mark}", definition.name), Style::Name),
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
pub(crate) async fn print_tools(agent: &str, client: &Client, context: &Context) -> Done {
    let scope = scope(&get(agent, client).await?.definition)?;
    let mut table = Table::new(vec![Column::whole("name"), Column::cut("description", 12)]);
    for tool in tools(client).await?.iter().filter(|tool| tool.is_within(&scope)) {
        table.row(vec![Cell::styled(&tool.name, Style::Name), tool.does().into()]);
    }
    context.printer.table(&table, &format!("{agent} may use no tool that there is now"))
}

async fn remove(args: &RemoveArgs, context: &Context) -> Done {
    let client = context.client(&args.connect)?;
    client.ask(Method::DELETE, &["api", "agents", &args.name]).await?;
    if context.printer.json {
        return context.printer.json_value(&json!({"name": args.name, "removed": true}));
    }
    context.printer.line(&escape::line(&format!("{} is removed", args.name)))
}

/// Puts an agent in its place; gives whether it is new.
async fn put(definition: &AgentDefinition, client: &Client) -> Done<bool> {
    client.put(&["api", "agents", &definition.name], definition).await
}
