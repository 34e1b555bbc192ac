//! `toolway tools add`, `remove` and `test`: tools of the owner's own. They are defined in files on the gateway's
//! computer, never over a network: what a definition makes that computer run is set by whoever may write there.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use clap::Args;
use reqwest::Method;
use serde_json::json;
use toolway_gateway::gateway_tools::{OwnToolLoader, web_client, web_settings};
use toolway_tools::own::{
    self, DefinitionSources, LoadedDefinitions, OwnTool, RefusedDefinition, RemoveDefinitionError,
    WriteDefinitionError,
};

use super::outcome::{RecordLocation, print_outcome};
use super::trial;
use crate::client::{ConnectArgs, target};
use crate::context::CliContext;
use crate::error::{CliError, CliProblem, CliResult};
use crate::folder::private_file;
use crate::print::escape;
use crate::settings;

/// Where the form of definitions is told.
const FORMAT_HINT: &str = "docs/own-tools.md shows how tools are defined";

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
    /// Name of the tool, as own/NAME or NAME
    name: String,
    #[command(flatten)]
    connect: ConnectArgs,
}

/// Flags of `tools test`.
#[derive(Debug, Args)]
pub(crate) struct TestOwnToolArgs {
    /// Name of a tool that is defined, or a TOML file with one that is not yet
    #[arg(value_name = "NAME|FILE")]
    tool: String,
    /// Arguments, as a JSON object; - reads them from standard input
    #[arg(value_name = "JSON", default_value = "{}")]
    arguments: String,
    /// Which tool, where the file defines several
    #[arg(long = "tool", value_name = "NAME")]
    which: Option<String>,
}

/// The owner's definitions, as the gateway of this data folder reads them.
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

/// Whoever points at a gateway elsewhere means that one, whose files are not here.
pub(crate) fn require_local_gateway(connect: &ConnectArgs, context: &CliContext) -> CliResult {
    match &connect.gateway {
        Some(url) if !target::is_local_gateway(url, &context.folder) => Err(CliError::new(format!(
            "{url} is not the gateway of {}, and this is written into files on the gateway's own computer",
            context.folder.path().display()
        ))
        .with_code("remote_gateway")
        .with_hint("run this on that computer, as the user that its gateway runs as")
        .with_hint(
            "for the gateway of this data folder leave out --gateway (and the variable TOOLWAY_GATEWAY)",
        )),
        _ => Ok(()),
    }
}

/// The text of a file of definitions.
fn read_definition(path: &Path) -> CliResult<String> {
    private_file::read(path)?.ok_or_else(|| {
        CliError::new(format!("there is no file {}", path.display()))
            .with_code("tools_file")
            .with_hint(FORMAT_HINT)
    })
}

/// Defines a tool.
pub(super) async fn add(args: &AddOwnToolArgs, context: &CliContext) -> CliResult {
    require_local_gateway(&args.connect, context)?;
    let text = read_definition(&args.file)?;
    let own = open_own_tools(context)?;
    // All that is wrong, and not only the first.
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
        context.printer.line(&format!("own/{name} is defined in {}", added.file.display()))?;
        match &told {
            Ok(true) => context.printer.note(&format!(
                "the gateway offers it now; to try it: toolway tools call own__{name} '{{…}}'{}",
                context.folder.data_dir_flag()
            )),
            Ok(false) => context.printer.note("no gateway runs here; it is offered from the next start on"),
            Err(_) => {}
        }
    }
    told.map(drop).map_err(|failure| reload_error(&failure))
}

/// Takes a definition away.
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
        context.printer.line(&escape::line(&format!("own/{name} is removed, with {}", file.display())))?;
        if matches!(told, Ok(false)) {
            context.printer.note("no gateway runs here, so none has to be told");
        }
    }
    told.map(drop).map_err(|failure| reload_error(&failure))
}

/// Runs a tool here and now, whether a gateway runs or not. Nothing is asked, recorded or limited.
pub(super) async fn test(args: &TestOwnToolArgs, context: &CliContext) -> CliResult {
    let arguments = super::call::parse_arguments(&args.arguments)?;
    let is_file = args.tool.contains(['/', '\\', '.']) && !args.tool.starts_with("own/");
    if args.which.is_some() && !is_file {
        return Err(CliError::usage("--tool is for a file that defines several tools")
            .with_hint("name the tool, or the file and which tool of it"));
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

/// What a file defines, each tool as it would be once it was added, or as the settings list it.
fn load_file(path: &Path, own: &OwnToolLoader) -> CliResult<LoadedDefinitions> {
    let text = read_definition(path)?;
    let absolute = std::path::absolute(path).unwrap_or_else(|_| path.to_owned());
    let is_listed = own.sources.files.contains(&absolute);
    let its_folder = absolute.parent().filter(|_| is_listed).map(Path::to_owned);
    // Beside nothing: it may be there already under the same name.
    let alone = DefinitionSources {
        working_dir: its_folder.unwrap_or_else(|| own.sources.working_dir.clone()),
        ..DefinitionSources::default()
    };
    Ok(own::check(&text, path, &alone, &own.kit))
}

/// The tool that is meant in a file.
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
            .with_hint(format!("say which with --tool: {}", names.join(", ")))),
        (None, _) => Err(empty_file_error(path)),
    }
}

/// The tool of this name, or why it can't be had.
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

/// A name without what shows whose it is.
fn strip_source(name: &str) -> &str {
    name.strip_prefix("own/").or_else(|| name.strip_prefix("own__")).unwrap_or(name)
}

fn unknown_tool_error(name: &str) -> CliError {
    CliError::new(format!("there is no tool own/{name}"))
        .with_code("tool_not_found")
        .with_hint("`toolway tools list --source own` shows those that the gateway offers")
        .with_hint("a file is named with its path: ./tool.toml")
}

fn empty_file_error(path: &Path) -> CliError {
    CliError::new(format!("{} defines no tool", path.display()))
        .with_code("invalid_definition")
        .with_hint(FORMAT_HINT)
}

/// Definitions that can't stand, each with its place.
pub(crate) fn invalid_definitions_error(refused: &[RefusedDefinition]) -> CliError {
    let what = match refused {
        [_] => "a definition can't stand".to_owned(),
        several => format!("{} definitions can't stand", several.len()),
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

/// What to do where a definition names a secret that there is not.
fn missing_secret_hint(reason: &str) -> Option<String> {
    let (_, rest) = reason.split_once("there is no secret named \"")?;
    let (name, _) = rest.split_once('"')?;
    Some(format!("`toolway secrets set {name}` keeps it, or name its place in the settings: [secrets]"))
}

fn write_error(problem: WriteDefinitionError, file: &Path) -> CliError {
    let words = problem.to_string();
    match problem {
        WriteDefinitionError::NotSingleTool(0) => empty_file_error(file),
        WriteDefinitionError::NotSingleTool(count) => {
            CliError::new(format!("{} defines {count} tools; they are added one by one", file.display()))
                .with_code("invalid_definition")
                .with_hint("put each into a file of its own, or list this file in the settings: tools.own")
        }
        WriteDefinitionError::Refused(one) => invalid_definitions_error(&[one]),
        WriteDefinitionError::Exists(_) => CliError::new(words)
            .with_code("already_exists")
            .with_hint("`toolway tools remove` takes it away first"),
        WriteDefinitionError::Io { path, error } => CliError::io("write", &path, &error),
    }
}

fn remove_error(problem: RemoveDefinitionError) -> CliError {
    let words = problem.to_string();
    match problem {
        RemoveDefinitionError::Unknown(name) => unknown_tool_error(&name),
        RemoveDefinitionError::InOtherFile { .. } => CliError::new(words)
            .with_code("tool_in_file")
            .with_hint("once it is out of the file, the gateway notices by itself"),
        RemoveDefinitionError::Io { path, error } => CliError::io("remove", &path, &error),
    }
}

/// Has the running gateway read the definitions again; false where none runs.
pub(crate) async fn reload_gateway(connect: &ConnectArgs, context: &CliContext) -> CliResult<bool> {
    if target::find_running(&context.folder)?.is_none() {
        return Ok(false);
    }
    context.client(connect)?.send_empty(Method::POST, &["api", "reload"]).await.map(|_| true)
}

/// For programs.
pub(crate) fn reload_status(told: &CliResult<bool>) -> &'static str {
    match told {
        Ok(true) => "reloaded",
        Ok(false) => "not_running",
        Err(_) => "reload_failed",
    }
}

pub(crate) fn reload_error(failure: &CliError) -> CliError {
    CliError::new(format!("that is done, but the running gateway did not take it in: {}", failure.message()))
        .with_code("reload_failed")
        .with_hint("restart the gateway, or send it SIGHUP; its log says more")
}

#[cfg(test)]
mod tests;
