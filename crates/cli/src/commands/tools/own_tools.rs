//! `toolway tools add`, `remove` and `test`: manages the owner's own tools. Their definitions are files on the
//! gateway's computer and never come over the network: only users who can write these files decide what the computer
//! runs.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use clap::Args;
use reqwest::Method;
use serde_json::json;
use toolway_gateway::gateway_tools::{OwnToolLoader, web_client, web_settings};
use toolway_tools::own::{
    self, DefinitionSources, LoadedDefinitions, OwnTool, OwnToolError, RefusedDefinition,
    RemoveDefinitionError, WriteDefinitionError,
};

use super::outcome::{RecordLocation, print_outcome};
use super::trial;
use crate::client::{ConnectArgs, target};
use crate::context::CliContext;
use crate::error::{CliError, CliProblem, CliResult};
use crate::folder::private_file;
use crate::print::escape;
use crate::settings;

/// Hint about the format of definitions.
const FORMAT_HINT: &str = "see docs/own-tools.md for the format";

/// Flags of `tools add`.
#[derive(Debug, Args)]
pub(crate) struct AddOwnToolArgs {
    /// TOML file that defines one tool
    #[arg(value_name = "FILE")]
    file: PathBuf,
    #[command(flatten)]
    connect: ConnectArgs,
}

/// Flags of `tools remove`.
#[derive(Debug, Args)]
pub(crate) struct RemoveOwnToolArgs {
    /// Name of the tool: own/NAME or NAME
    name: String,
    #[command(flatten)]
    connect: ConnectArgs,
}

/// Flags of `tools test`.
#[derive(Debug, Args)]
pub(crate) struct TestOwnToolArgs {
    /// Name of a defined tool, or a TOML file with a new one
    #[arg(value_name = "NAME|FILE")]
    tool: String,
    /// Arguments as a JSON object (- for standard input)
    #[arg(value_name = "JSON", default_value = "{}")]
    arguments: String,
    /// Tool to run, if the file defines several
    #[arg(long = "tool", value_name = "NAME")]
    which: Option<String>,
}

/// Creates a loader of the owner's definitions, like the gateway of this data folder does.
pub(crate) fn own_tools(
    settings: &settings::LoadedSettings,
    context: &CliContext,
) -> CliResult<OwnToolLoader> {
    let web = web_settings(&settings.settings)
        .map_err(|wrong| CliError::new(wrong.to_string()).with_code("settings").with_hint(wrong.hint))?;
    let env = crate::tool_env::tool_env(context);
    let client = Arc::new(web_client(web, &env));
    Ok(OwnToolLoader::new(context.folder.path(), &settings.settings, &env, client))
}

fn open_own_tools(context: &CliContext) -> CliResult<OwnToolLoader> {
    let loaded = settings::load(&context.setting_sources(Vec::new()))
        .map_err(|wrong| settings::settings_error(&wrong))?;
    let own = own_tools(&loaded, context)?;
    context.folder.create()?;
    own.make_working_dir();
    Ok(own)
}

/// Fails if `--gateway` selects a gateway on another computer, whose files are not here.
pub(crate) fn require_local_gateway(connect: &ConnectArgs, context: &CliContext) -> CliResult {
    match &connect.gateway {
        Some(url) if !target::is_local_gateway(url, &context.folder) => Err(CliError::new(format!(
            "{url} is not the gateway of {}; this command changes files on the gateway's computer",
            context.folder.path().display()
        ))
        .with_code("remote_gateway")
        .with_hint("run this command on the gateway's computer, as the gateway's user")
        .with_hint("for the gateway of this data folder, omit --gateway (and unset TOOLWAY_GATEWAY)")),
        _ => Ok(()),
    }
}

/// Reads a file of definitions.
fn read_definition(path: &Path) -> CliResult<String> {
    private_file::read(path)?.ok_or_else(|| {
        CliError::new(format!("file not found: {}", path.display()))
            .with_code("tools_file")
            .with_hint(FORMAT_HINT)
    })
}

/// Defines a tool.
pub(super) async fn add(args: &AddOwnToolArgs, context: &CliContext) -> CliResult {
    require_local_gateway(&args.connect, context)?;
    let text = read_definition(&args.file)?;
    let own = open_own_tools(context)?;
    // Report all errors, not only the first.
    let checked = own::check(&text, &args.file, &own.sources, &own.kit);
    if !checked.refused.is_empty() {
        return Err(invalid_definitions_error(&checked.refused));
    }
    let added = own::write_definition(&text, &own.sources, &own.kit)
        .map_err(|problem| write_error(problem, &args.file))?;
    let name = added.name().to_owned();
    let told = reload_gateway(&args.connect, context).await;
    if context.printer.json {
        context.printer.json_value(&json!({
            "id": format!("own/{name}"), "kind": added.kind, "file": added.file, "gateway": reload_status(&told),
        }))?;
    } else {
        context.printer.line(&format!("defined own/{name} in {}", added.file.display()))?;
        match &told {
            Ok(true) => context.printer.note(&format!(
                "to test it: toolway tools call own__{name} '{{…}}'{}",
                context.folder.data_dir_flag()
            )),
            Ok(false) => {
                context.printer.note("no gateway is running; the tool is available after the next start")
            }
            Err(_) => {}
        }
    }
    told.map(drop).map_err(|failure| reload_error(&failure))
}

/// Removes a definition.
pub(super) async fn remove(args: &RemoveOwnToolArgs, context: &CliContext) -> CliResult {
    require_local_gateway(&args.connect, context)?;
    let own = open_own_tools(context)?;
    let name = strip_source(&args.name);
    let file = own::remove(name, &own.sources).map_err(remove_error)?;
    let told = reload_gateway(&args.connect, context).await;
    if context.printer.json {
        context.printer.json_value(
            &json!({"id": format!("own/{name}"), "removed": true, "file": file, "gateway": reload_status(&told)}),
        )?;
    } else {
        context.printer.line(&escape::line(&format!("removed own/{name} and {}", file.display())))?;
        if matches!(told, Ok(false)) {
            context.printer.note("no gateway is running");
        }
    }
    told.map(drop).map_err(|failure| reload_error(&failure))
}

/// Runs a tool without a gateway. It needs no approval, and no policy or record applies.
pub(super) async fn test(args: &TestOwnToolArgs, context: &CliContext) -> CliResult {
    let arguments = super::call::parse_arguments(&args.arguments)?;
    let is_file = args.tool.contains(['/', '\\', '.']) && !args.tool.starts_with("own/");
    if args.which.is_some() && !is_file {
        return Err(CliError::usage("--tool requires a file that defines several tools")
            .with_hint("use a tool's name, or a file with --tool"));
    }
    let own = open_own_tools(context)?;
    let tool = if is_file {
        let path = Path::new(&args.tool);
        select_tool(load_file(path, &own)?, path, args.which.as_deref())?
    } else {
        find_tool(own.load(), strip_source(&args.tool))?
    };
    let answer = trial::run(&tool, arguments, context).await?;
    print_outcome(&answer, RecordLocation::Nowhere, context)
}

/// Loads the definitions of a file as they would be after `tools add`, or as the settings list them.
fn load_file(path: &Path, own: &OwnToolLoader) -> CliResult<LoadedDefinitions> {
    let text = read_definition(path)?;
    let absolute = std::path::absolute(path).unwrap_or_else(|_| path.to_owned());
    let is_listed = own.sources.files.contains(&absolute);
    let its_folder = absolute.parent().filter(|_| is_listed).map(Path::to_owned);
    // Check the file alone: the data folder may already have a tool with this name.
    let alone = DefinitionSources {
        working_dir: its_folder.unwrap_or_else(|| own.sources.working_dir.clone()),
        ..DefinitionSources::default()
    };
    Ok(own::check(&text, path, &alone, &own.kit))
}

/// Selects a tool of a file.
fn select_tool(loaded: LoadedDefinitions, path: &Path, which: Option<&str>) -> CliResult<OwnTool> {
    if let Some(name) = which {
        return find_tool(loaded, strip_source(name));
    }
    if !loaded.refused.is_empty() {
        return Err(invalid_definitions_error(&loaded.refused));
    }
    let names: Vec<_> = loaded.tools.iter().map(|tool| tool.name().to_owned()).collect();
    let mut tools = loaded.tools;
    match (tools.pop(), tools.is_empty()) {
        (Some(tool), true) => Ok(tool),
        (Some(_), false) => Err(CliError::usage(format!("{} defines several tools", path.display()))
            .with_hint(format!("select one with --tool: {}", names.join(", ")))),
        (None, _) => Err(empty_file_error(path)),
    }
}

/// Finds a tool by name; the error explains why it is missing.
fn find_tool(mut loaded: LoadedDefinitions, name: &str) -> CliResult<OwnTool> {
    if let Some(at) = loaded.tools.iter().position(|tool| tool.name() == name) {
        return Ok(loaded.tools.swap_remove(at));
    }
    loaded.refused.retain(|refused| refused.name.as_deref() == Some(name));
    if loaded.refused.is_empty() {
        Err(unknown_tool_error(name))
    } else {
        Err(invalid_definitions_error(&loaded.refused))
    }
}

/// Removes the source from a tool name.
fn strip_source(name: &str) -> &str {
    name.strip_prefix("own/").or_else(|| name.strip_prefix("own__")).unwrap_or(name)
}

fn unknown_tool_error(name: &str) -> CliError {
    CliError::new(format!("unknown tool own/{name}"))
        .with_code("tool_not_found")
        .with_hint("list your tools with `toolway tools list --source own`")
        .with_hint("for a file, use a path: ./tool.toml")
}

fn empty_file_error(path: &Path) -> CliError {
    CliError::new(format!("{} defines no tool", path.display()))
        .with_code("invalid_definition")
        .with_hint(FORMAT_HINT)
}

/// Creates the error for invalid definitions, with their locations.
pub(crate) fn invalid_definitions_error(refused: &[RefusedDefinition]) -> CliError {
    let what = match refused {
        [_] => "a definition is invalid".to_owned(),
        several => format!("{} definitions are invalid", several.len()),
    };
    let problem = |one: &RefusedDefinition| CliProblem {
        message: one.to_string(),
        hint: missing_secret_hint(&one.reason),
    };
    CliError::new(what)
        .with_code("invalid_definition")
        .with_problems(refused.iter().map(problem).collect())
        .with_hint(FORMAT_HINT)
}

/// Returns a hint for a definition that uses a missing secret.
fn missing_secret_hint(reason: &OwnToolError) -> Option<String> {
    let OwnToolError::UnknownSecret { secret, .. } = reason else { return None };
    Some(format!(
        "store it with `toolway secrets set {secret}`, or set its location in [secrets] of the settings"
    ))
}

fn write_error(problem: WriteDefinitionError, file: &Path) -> CliError {
    let words = problem.to_string();
    match problem {
        WriteDefinitionError::NotSingleTool(0) => empty_file_error(file),
        WriteDefinitionError::NotSingleTool(count) => {
            CliError::new(format!("{} defines {count} tools; add one tool at a time", file.display()))
                .with_code("invalid_definition")
                .with_hint("use one file per tool, or list this file in the setting tools.own")
        }
        WriteDefinitionError::Refused(one) => invalid_definitions_error(&[one]),
        WriteDefinitionError::Exists(_) => CliError::new(words)
            .with_code("already_exists")
            .with_hint("remove it first with `toolway tools remove`"),
        WriteDefinitionError::Io { path, error } => CliError::io("write", &path, &error),
    }
}

fn remove_error(problem: RemoveDefinitionError) -> CliError {
    let words = problem.to_string();
    match problem {
        RemoveDefinitionError::Unknown(name) => unknown_tool_error(&name),
        RemoveDefinitionError::InOtherFile { .. } => CliError::new(words)
            .with_code("tool_in_file")
            .with_hint("remove it from the file; the gateway detects the change"),
        RemoveDefinitionError::Io { path, error } => CliError::io("remove", &path, &error),
    }
}

/// Makes the running gateway reload its definitions. Returns false if none runs.
pub(crate) async fn reload_gateway(connect: &ConnectArgs, context: &CliContext) -> CliResult<bool> {
    if target::find_running(&context.folder)?.is_none() {
        return Ok(false);
    }
    context.client(connect)?.send_empty(Method::POST, &["api", "reload"]).await.map(|_| true)
}

/// Returns the status of a reload for JSON output.
pub(crate) fn reload_status(told: &CliResult<bool>) -> &'static str {
    match told {
        Ok(true) => "reloaded",
        Ok(false) => "not_running",
        Err(_) => "reload_failed",
    }
}

pub(crate) fn reload_error(failure: &CliError) -> CliError {
    CliError::new(format!("done, but the running gateway failed to reload: {}", failure.message()))
        .with_code("reload_failed")
        .with_hint("check the gateway's log, then restart it or send SIGHUP")
}

#[cfg(test)]
mod tests;
