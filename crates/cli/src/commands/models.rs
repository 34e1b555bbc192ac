//! `toolway models`: the model providers, in `models.toml` in the data folder. The file is written here and nowhere
//! else, on the gateway's own computer: where a key goes is not set from afar.

mod add;
mod edit;
mod list;
mod presets;
mod remove;
mod test;

use std::path::PathBuf;
use std::sync::Arc;

use clap::{Args, Subcommand};
use toolway_agent::files::FileProblem;
use toolway_agent::models::{Models, ModelsParts};
use toolway_device::trust::{Trust, rustls_config};
use toolway_models::transport::Http;

use crate::context::Context;
use crate::folder::private;
use crate::report::{Done, Failure, Problem};
use crate::settings;

/// Where the form of the file is told.
pub(crate) const FORM: &str = "docs/models.md says what may stand in it";

/// What to do with model providers.
#[derive(Debug, Subcommand)]
pub(crate) enum ModelsCommand {
    /// Add a model provider, by a preset or by what API it speaks
    Add(Box<add::AddArgs>),
    /// List the model providers, and where the key of each is read from
    List(list::ListArgs),
    /// List what is known of model providers that people use
    Presets(PresetsArgs),
    /// Remove a model provider
    Remove(remove::RemoveArgs),
    /// Try a model provider with one small tool call, and say what works
    Test(test::TestArgs),
}

/// Flags of `models presets`.
#[derive(Debug, Args)]
pub(crate) struct PresetsArgs {}

/// Runs the command.
pub(crate) async fn run(command: ModelsCommand, context: &Context) -> Done {
    match command {
        ModelsCommand::Add(args) => add::run(&args, context).await,
        ModelsCommand::List(args) => list::run(&args, context).await,
        ModelsCommand::Presets(PresetsArgs {}) => presets::run(context),
        ModelsCommand::Remove(args) => remove::run(&args, context).await,
        ModelsCommand::Test(args) => test::run(&args, context).await,
    }
}

/// The model providers of this data folder, as a gateway on it would have them.
pub(crate) async fn open(context: &Context) -> Done<Arc<Models>> {
    let loaded =
        settings::load(&context.setting_sources(Vec::new())).map_err(|wrong| settings::failure(&wrong))?;
    let surroundings = crate::surroundings::of(context);
    let keys = toolway_gateway::chat::keys(surroundings.secrets, context.folder.path(), &loaded.settings);
    let http = Http::new(|| rustls_config(&Trust::default()).map_err(|error| error.to_string()));
    Ok(Models::open(ModelsParts { file: context.folder.models(), keys, http }).await)
}

/// The file's text; nothing where there is no file.
fn text(context: &Context) -> Done<String> {
    Ok(private::read(&context.folder.models())?.unwrap_or_default())
}

/// Puts a text in the file's place, once all of it is right.
fn replace(text: &str, context: &Context) -> Done {
    let path = context.folder.models();
    toolway_agent::models::check(text, &path).map_err(|problems| wrong(&problems))?;
    context.folder.create()?;
    // Where it is a link, what it leads to is replaced.
    let path: PathBuf = std::fs::canonicalize(&path).unwrap_or(path);
    private::replace(&path, text.as_bytes())
}

/// What is wrong in a file of the owner's.
pub(crate) fn wrong(problems: &[FileProblem]) -> Failure {
    let what = match problems {
        [_] => "a file can't be used".to_owned(),
        several => format!("a file can't be used, for {} reasons", several.len()),
    };
    let problem = |one: &FileProblem| Problem { message: one.to_string(), hint: one.hint.clone() };
    Failure::new(what).code("bad_file").problems(problems.iter().map(problem).collect()).hint(FORM)
}
