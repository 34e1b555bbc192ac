//! The MCP servers as commands see them: through the running gateway, or as they stand in the files.

use std::collections::BTreeMap;
use std::time::Duration;

use reqwest::Method;
use serde::{Deserialize, Serialize};
use serde_json::Value;
use tokio::time::Instant;
use toolway_mcp::definition::stored::{self, NotChanged};
use toolway_mcp::definition::{FileProblem, Flaw, ServerDefinition};

use crate::client::{Client, ConnectArgs, find, read};
use crate::context::Context;
use crate::print::escape;
use crate::print::style::Style;
use crate::report::{Done, Failure, Problem};
use crate::settings::{self, Loaded};

/// Where the form of a definition is told.
pub(crate) const FORM: &str = "docs/mcp-servers.md says what may be said of a server";
/// How often it is looked whether a connection has been made.
const LOOK: Duration = Duration::from_millis(100);

/// An MCP server, as the gateway shows it.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub(crate) struct Server {
    pub(crate) name: String,
    pub(crate) definition: Value,
    pub(crate) origin: Value,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) status: Option<Status>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) log: Option<Vec<String>>,
}

/// How the connection to it stands.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub(crate) struct Status {
    #[serde(rename = "where")]
    pub(crate) place: String,
    pub(crate) state: String,
    pub(crate) since_ms: i64,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) transport: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) protocol_version: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) server_name: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) server_version: Option<String>,
    pub(crate) tools: usize,
    pub(crate) resources: usize,
    pub(crate) prompts: usize,
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub(crate) left_out: Vec<LeftOut>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) problem: Option<Said>,
}

/// A tool that is not offered.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub(crate) struct LeftOut {
    pub(crate) name: String,
    pub(crate) reason: String,
}

/// Something that is wrong.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub(crate) struct Said {
    pub(crate) message: String,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) hint: Option<String>,
}

/// What the gateway lists.
#[derive(Debug, Serialize, Deserialize)]
pub(crate) struct Servers {
    pub(crate) servers: Vec<Server>,
    #[serde(default)]
    pub(crate) problems: Vec<Said>,
}

impl Status {
    /// Whether nothing more is to be expected soon.
    pub(crate) fn is_settled(&self) -> bool {
        self.state != "connecting"
    }

    /// Whether it can be used.
    pub(crate) fn is_connected(&self) -> bool {
        self.state == "connected"
    }
}

/// Whether there is a gateway to ask.
pub(crate) fn has_gateway(connect: &ConnectArgs, context: &Context) -> Done<bool> {
    Ok(connect.gateway.is_some() || find::running_on(&context.folder)?.is_some())
}

/// One server of the gateway; none where it has none of this name.
pub(crate) async fn shown(client: &Client, name: &str) -> Done<Server> {
    read(&client.get(&["api", "mcp", "servers", name], &[]).await?)
}

/// One server of the gateway once its connection stands or has failed, and otherwise than it did `before`; after some
/// time, as it is.
pub(crate) async fn settled(
    client: &Client,
    name: &str,
    before: Option<i64>,
    within: Duration,
) -> Done<Server> {
    let end = Instant::now() + within;
    loop {
        let server = shown(client, name).await?;
        let is_new = |status: &Status| status.is_settled() && Some(status.since_ms) != before;
        if server.status.as_ref().is_none_or(is_new) || Instant::now() >= end {
            return Ok(server);
        }
        tokio::time::sleep(LOOK).await;
    }
}

/// Has the gateway connect anew, and waits for what comes of it.
pub(crate) async fn reconnected(client: &Client, name: &str, within: Duration) -> Done<Server> {
    let before = shown(client, name).await?.status.map(|status| status.since_ms);
    client.ask(Method::POST, &["api", "mcp", "servers", name, "reconnect"]).await?;
    settled(client, name, before, within).await
}

/// The definitions as they stand in the settings and the data folder's file, with where.
pub(crate) fn defined(
    loaded: &Loaded,
    context: &Context,
) -> Done<BTreeMap<String, (ServerDefinition, String)>> {
    let path = context.folder.mcp_servers();
    let file = stored::read(&path).map_err(|problems| wrong(&problems))?;
    let of_file = file.servers.into_iter().map(|(slug, entry)| {
        (slug.to_string(), (entry.definition, format!("{}:{}", path.display(), entry.line)))
    });
    let mut all: BTreeMap<_, _> = of_file.collect();
    let lines = loaded.origin();
    for (name, definition) in &loaded.settings.mcp.servers {
        let place = match (&lines.file, lines.server_lines.get(name)) {
            (Some(file), Some(line)) => format!("{}:{line}", file.display()),
            _ => "the settings".to_owned(),
        };
        if let Some((_, other)) = all.get(name) {
            return Err(Failure::new(format!("the MCP server {name} is defined in {place} and in {other}"))
                .code("bad_file")
                .hint("remove one of them, or give it another name"));
        }
        all.insert(name.clone(), (definition.clone(), place));
    }
    Ok(all)
}

/// The settings of this data folder.
pub(crate) fn loaded(context: &Context) -> Done<Loaded> {
    settings::load(&context.setting_sources(Vec::new())).map_err(|wrong| settings::failure(&wrong))
}

/// There is none of this name.
pub(crate) fn unknown(name: &str) -> Failure {
    Failure::new(format!("there is no MCP server {name:?}"))
        .code("mcp_server_unknown")
        .hint("`toolway mcp list` shows their names, `toolway mcp add` adds one")
}

/// What is wrong in a file.
pub(crate) fn wrong(problems: &[FileProblem]) -> Failure {
    let what = match problems {
        [_] => "the file of MCP servers can't be used".to_owned(),
        several => format!("the file of MCP servers can't be used, for {} reasons", several.len()),
    };
    let problem = |one: &FileProblem| Problem { message: one.to_string(), hint: one.hint.clone() };
    Failure::new(what).code("bad_file").problems(problems.iter().map(problem).collect()).hint(FORM)
}

/// What is wrong with one definition.
pub(crate) fn flawed(name: &str, flaws: &[Flaw]) -> Failure {
    let problem = |flaw: &Flaw| Problem { message: flaw.to_string(), hint: Some(flaw.hint.clone()) };
    Failure::usage(format!("{name} can't be an MCP server so"))
        .problems(flaws.iter().map(problem).collect())
        .hint(FORM)
}

/// The file was not changed.
pub(crate) fn not_changed(error: NotChanged) -> Failure {
    match error {
        NotChanged::Wrong { problems, .. } => wrong(&problems),
        NotChanged::Io { path, error } => Failure::io("write", &path, &error),
        NotChanged::CantEdit { .. } => Failure::new(error.to_string()).code("bad_file").hint(FORM),
    }
}

/// Shows how one server stands to a person.
pub(crate) fn say(server: &Server, context: &Context) -> Done {
    let printer = &context.printer;
    let name = printer.paint(Style::Name, &escape::line(&server.name));
    let Some(status) = &server.status else {
        return printer.line(&format!(
            "{} {name}: a device has this name, so it is not connected to",
            printer.paint(Style::Error, "✗")
        ));
    };
    let (mark, style) = match status.state.as_str() {
        "connected" => ("✓", Style::Good),
        "disabled" => ("-", Style::Faint),
        "connecting" => ("…", Style::Warning),
        _ => ("✗", Style::Error),
    };
    printer.line(&format!(
        "{} {name}  {}",
        printer.paint(style, mark),
        printer.paint(Style::Faint, &escape::line(&status.place))
    ))?;
    printer.line(&format!("  {}", escape::line(&facts(status))))?;
    for left_out in &status.left_out {
        printer.line(&format!(
            "  not offered: {}: {}",
            escape::line(&left_out.name),
            escape::line(&left_out.reason)
        ))?;
    }
    let Some(problem) = &status.problem else { return Ok(()) };
    printer.line(&format!("  {}", escape::line(&problem.message)))?;
    if let Some(hint) = &problem.hint {
        printer.line(&format!("  {} {}", printer.paint(Style::Hint, "hint:"), escape::line(hint)))?;
    }
    if !status.is_connected() {
        for line in last(server.log.as_deref().unwrap_or_default()) {
            printer.line(&format!("  {} {}", printer.paint(Style::Faint, "log:"), escape::line(line)))?;
        }
    }
    Ok(())
}

/// The last few lines of a log.
fn last(lines: &[String]) -> &[String] {
    const SHOWN: usize = 5;
    lines.get(lines.len().saturating_sub(SHOWN)..).unwrap_or_default()
}

/// What is known of a server, in a line.
fn facts(status: &Status) -> String {
    if !status.is_connected() {
        return match status.state.as_str() {
            "connecting" => "still connecting; `toolway mcp list` shows how it goes on".to_owned(),
            "needs_login" => "it wants its owner to sign in".to_owned(),
            other => other.to_owned(),
        };
    }
    let named = match (&status.server_name, &status.server_version) {
        (Some(name), Some(version)) if !version.is_empty() => format!("{name} {version}, "),
        (Some(name), _) => format!("{name}, "),
        _ => String::new(),
    };
    let spoken =
        status.protocol_version.as_deref().map(|version| format!("MCP {version}")).unwrap_or_default();
    let over = status.transport.as_deref().map(|kind| format!(" over {kind}")).unwrap_or_default();
    format!(
        "{named}{spoken}{over}: {}, {}, {}",
        many(status.tools, "tool"),
        many(status.resources, "resource"),
        many(status.prompts, "prompt")
    )
}

fn many(count: usize, what: &str) -> String {
    if count == 1 { format!("1 {what}") } else { format!("{count} {what}s") }
}
