//! `toolway tools add`, `remove` and `test`: tools of the owner's own. They are defined in files on the gateway's
//! computer, never over a network: what a definition makes that computer run is set by whoever may write there.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use clap::Args;
use reqwest::Method;
use serde_json::json;
use toolway_gateway::toolbox::{OwnTools, web_client, web_settings};
use toolway_tools::own::{self, Loaded, NotRemoved, NotWritten, OwnTool, Refused, Sources};

use super::outcome::{Recorded, show};
use super::trial;
use crate::client::{ConnectArgs, find};
use crate::context::Context;
use crate::folder::private;
use crate::print::escape;
use crate::report::{Done, Failure, Problem};
use crate::settings;

/// Where the form of definitions is told.
const FORM: &str = "docs/own-tools.md shows how tools are defined";

/// Flags of `tools add`.
#[derive(Debug, Args)]
pub(crate) struct AddArgs {
    /// TOML file that defines one tool
    #[arg(value_name = "FILE")]
    file: PathBuf,
    #[command(flatten)]
    connect: ConnectArgs,
}

/// Flags of `tools remove`.
#[derive(Debug, Args)]
pub(crate) struct RemoveArgs {
    /// Name of the tool, as own/NAME or NAME
    name: String,
    #[command(flatten)]
    connect: ConnectArgs,
}

/// Flags of `tools test`.
#[derive(Debug, Args)]
pub(crate) struct TestArgs {
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
pub(crate) fn definitions(settings: &settings::Loaded, context: &Context) -> Done<OwnTools> {
    let web = web_settings(&settings.settings)
        .map_err(|wrong| Failure::new(wrong.to_string()).code("settings").hint(wrong.hint))?;
    let surroundings = crate::surroundings::of(context);
    let client = Arc::new(web_client(web, &surroundings));
    Ok(OwnTools::new(context.folder.path(), &settings.settings, &surroundings, client))
}

fn open(context: &Context) -> Done<OwnTools> {
    let loaded =
        settings::load(&context.setting_sources(Vec::new())).map_err(|wrong| settings::failure(&wrong))?;
    let own = definitions(&loaded, context)?;
    context.folder.create()?;
    own.make_working_dir();
    Ok(own)
}

/// Whoever points at a gateway elsewhere means that one, whose files are not here.
pub(crate) fn refuse_elsewhere(connect: &ConnectArgs, context: &Context) -> Done {
    match &connect.gateway {
        Some(url) if !find::is_here(url, &context.folder) => Err(Failure::new(format!(
            "{url} is not the gateway of {}, and this is written into files on the gateway's own computer",
            context.folder.path().display()
        ))
        .code("elsewhere")
        .hint("run this on that computer, as the user that its gateway runs as")
        .hint("for the gateway of this data folder leave out --gateway (and the variable TOOLWAY_GATEWAY)")),
        _ => Ok(()),
    }
}

/// The text of a file of definitions.
fn text_of(path: &Path) -> Done<String> {
    private::read(path)?.ok_or_else(|| {
        Failure::new(format!("there is no file {}", path.display())).code("tools_file").hint(FORM)
    })
}

/// Defines a tool.
pub(super) async fn add(args: &AddArgs, context: &Context) -> Done {
    refuse_elsewhere(&args.connect, context)?;
    let text = text_of(&args.file)?;
    let own = open(context)?;
    // All that is wrong, and not only the first.
    let checked = own::check(&text, &args.file, &own.sources, &own.kit);
    if !checked.refused.is_empty() {
        return Err(refused(&checked.refused));
    }
    let added = own::write_definition(&text, &own.sources, &own.kit)
        .map_err(|problem| not_written(problem, &args.file))?;
    let name = added.name().to_owned();
    let told = tell(&args.connect, context).await;
    if context.printer.json {
        context.printer.json_value(&json!({
            "id": format!("own/{name}"), "kind": added.kind, "file": added.file, "gateway": word(&told),
        }))?;
    } else {
        context.printer.line(&format!("own/{name} is defined in {}", added.file.display()))?;
        match &told {
            Ok(true) => context.printer.note(&format!(
                "the gateway offers it now; to try it: toolway tools call own__{name} '{{…}}'{}",
                context.folder.flag()
            )),
            Ok(false) => context.printer.note("no gateway runs here; it is offered from the next start on"),
            Err(_) => {}
        }
    }
    told.map(drop).map_err(|failure| not_told(&failure))
}

/// Takes a definition away.
pub(super) async fn remove(args: &RemoveArgs, context: &Context) -> Done {
    refuse_elsewhere(&args.connect, context)?;
    let own = open(context)?;
    let name = bare(&args.name);
    let file = own::remove(name, &own.sources).map_err(not_removed)?;
    let told = tell(&args.connect, context).await;
    if context.printer.json {
        context.printer.json_value(
            &json!({"id": format!("own/{name}"), "removed": true, "file": file, "gateway": word(&told)}),
        )?;
    } else {
        context.printer.line(&escape::line(&format!("own/{name} is removed, with {}", file.display())))?;
        if matches!(told, Ok(false)) {
            context.printer.note("no gateway runs here, so none has to be told");
        }
    }
    told.map(drop).map_err(|failure| not_told(&failure))
}

/// Runs a tool here and now, whether a gateway runs or not. Nothing is asked, recorded or limited.
pub(super) async fn test(args: &TestArgs, context: &Context) -> Done {
    let arguments = super::call::arguments(&args.arguments)?;
    let is_file = args.tool.contains(['/', '\\', '.']) && !args.tool.starts_with("own/");
    if args.which.is_some() && !is_file {
        return Err(Failure::usage("--tool is for a file that defines several tools")
            .hint("name the tool, or the file and which tool of it"));
    }
    let own = open(context)?;
    let tool = if is_file {
        let path = Path::new(&args.tool);
        chosen(in_file(path, &own)?, path, args.which.as_deref())?
    } else {
        defined(own.load(), bare(&args.tool))?
    };
    let answer = trial::run(&tool, arguments, context).await?;
    show(&answer, Recorded::Nowhere, context)
}

/// What a file defines, each tool as it would be once it was added, or as the settings list it.
fn in_file(path: &Path, own: &OwnTools) -> Done<Loaded> {
    let text = text_of(path)?;
    let absolute = std::path::absolute(path).unwrap_or_else(|_| path.to_owned());
    let is_listed = own.sources.files.contains(&absolute);
    let its_folder = absolute.parent().filter(|_| is_listed).map(Path::to_owned);
    // Beside nothing: it may be there already under the same name.
    let alone = Sources {
        working_dir: its_folder.unwrap_or_else(|| own.sources.working_dir.clone()),
        ..Sources::default()
    };
    Ok(own::check(&text, path, &alone, &own.kit))
}

/// The tool that is meant in a file.
fn chosen(loaded: Loaded, path: &Path, which: Option<&str>) -> Done<OwnTool> {
    if let Some(name) = which {
        return defined(loaded, bare(name));
    }
    if !loaded.refused.is_empty() {
        return Err(refused(&loaded.refused));
    }
    let names: Vec<_> = loaded.tools.iter().map(|tool| tool.name().to_owned()).collect();
    let mut tools = loaded.tools;
    match (tools.pop(), tools.is_empty()) {
        (Some(tool), true) => Ok(tool),
        (Some(_), false) => Err(Failure::usage(format!("{} defines several tools", path.display()))
            .hint(format!("say which with --tool: {}", names.join(", ")))),
        (None, _) => Err(none_in(path)),
    }
}

/// The tool of this name, or why it can't be had.
fn defined(mut loaded: Loaded, name: &str) -> Done<OwnTool> {
    if let Some(at) = loaded.tools.iter().position(|tool| tool.name() == name) {
        return Ok(loaded.tools.swap_remove(at));
    }
    loaded.refused.retain(|refused| refused.name.as_deref() == Some(name));
    if loaded.refused.is_empty() { Err(unknown(name)) } else { Err(refused(&loaded.refused)) }
}

/// A name without what shows whose it is.
fn bare(name: &str) -> &str {
    name.strip_prefix("own/").or_else(|| name.strip_prefix("own__")).unwrap_or(name)
}

fn unknown(name: &str) -> Failure {
    Failure::new(format!("there is no tool own/{name}"))
        .code("tool_unknown")
        .hint("`toolway tools list --source own` shows those that the gateway offers")
        .hint("a file is named with its path: ./tool.toml")
}

fn none_in(path: &Path) -> Failure {
    Failure::new(format!("{} defines no tool", path.display())).code("bad_definition").hint(FORM)
}

/// Definitions that can't stand, each with its place.
pub(crate) fn refused(refused: &[Refused]) -> Failure {
    let what = match refused {
        [_] => "a definition can't stand".to_owned(),
        several => format!("{} definitions can't stand", several.len()),
    };
    let problem = |one: &Refused| Problem { message: one.to_string(), hint: missing_secret(&one.reason) };
    Failure::new(what).code("bad_definition").problems(refused.iter().map(problem).collect()).hint(FORM)
}

/// What to do where a definition names a secret that there is not.
fn missing_secret(reason: &str) -> Option<String> {
    let (_, rest) = reason.split_once("there is no secret named \"")?;
    let (name, _) = rest.split_once('"')?;
    Some(format!("`toolway secrets set {name}` keeps it, or name its place in the settings: [secrets]"))
}

fn not_written(problem: NotWritten, file: &Path) -> Failure {
    let words = problem.to_string();
    match problem {
        NotWritten::NotOne(0) => none_in(file),
        NotWritten::NotOne(count) => {
            Failure::new(format!("{} defines {count} tools; they are added one by one", file.display()))
                .code("bad_definition")
                .hint("put each into a file of its own, or list this file in the settings: tools.own")
        }
        NotWritten::Refused(one) => refused(&[one]),
        NotWritten::Exists(_) => {
            Failure::new(words).code("already_there").hint("`toolway tools remove` takes it away first")
        }
        NotWritten::Io { path, error } => Failure::io("write", &path, &error),
    }
}

fn not_removed(problem: NotRemoved) -> Failure {
    let words = problem.to_string();
    match problem {
        NotRemoved::Unknown(name) => unknown(&name),
        NotRemoved::Elsewhere { .. } => Failure::new(words)
            .code("in_a_file")
            .hint("once it is out of the file, the gateway notices by itself"),
        NotRemoved::Io { path, error } => Failure::io("remove", &path, &error),
    }
}

/// Has the running gateway read the definitions again; false where none runs.
pub(crate) async fn tell(connect: &ConnectArgs, context: &Context) -> Done<bool> {
    if find::running_on(&context.folder)?.is_none() {
        return Ok(false);
    }
    context.client(connect)?.ask(Method::POST, &["api", "reload"]).await.map(|_| true)
}

/// For programs.
pub(crate) fn word(told: &Done<bool>) -> &'static str {
    match told {
        Ok(true) => "reloaded",
        Ok(false) => "not_running",
        Err(_) => "not_reloaded",
    }
}

pub(crate) fn not_told(failure: &Failure) -> Failure {
    Failure::new(format!("that is done, but the running gateway did not take it in: {}", failure.message()))
        .code("not_reloaded")
        .hint("restart the gateway, or send it SIGHUP; its log says more")
}

#[cfg(test)]
mod tests;
