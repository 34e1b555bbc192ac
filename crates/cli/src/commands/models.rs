//! `toolway models`: the model providers, in `models.toml` in the data folder. The file is written here and nowhere
//! else, on the gateway's own computer: where a key goes is not set from afar.

mod add;
mod list;
mod models_file;
mod presets;
mod remove;
mod test;

use std::path::PathBuf;
use std::sync::Arc;

use clap::{Args, Subcommand};
use toolway_agent::files::FileProblem;
use toolway_agent::models::{ModelCatalog, ModelCatalogDeps};
use toolway_device::trust::{GatewayTrust, rustls_config};
use toolway_models::transport::ProviderHttpClient;

use crate::context::CliContext;
use crate::error::{CliError, CliProblem, CliResult};
use crate::folder::private_file;
use crate::settings;

/// Where the form of the file is told.
pub(crate) const FORMAT_HINT: &str = "docs/models.md says what may stand in it";

/// What to do with model providers.
#[derive(Debug, Subcommand)]
pub(crate) enum ModelsCommand {
    /// Add a model provider, by a preset or by what API it speaks
    Add(Box<add::AddModelArgs>),
    /// List the model providers, and where the key of each is read from
    List(list::ListModelsArgs),
    /// List what is known of model providers that people use
    Presets(ListPresetsArgs),
    /// Remove a model provider
    Remove(remove::RemoveModelArgs),
    /// Try a model provider with one small tool call, and say what works
    Test(test::TestModelsArgs),
}

/// Flags of `models presets`.
#[derive(Debug, Args)]
pub(crate) struct ListPresetsArgs {}

/// Runs the command.
pub(crate) async fn run(command: ModelsCommand, context: &CliContext) -> CliResult {
    match command {
        ModelsCommand::Add(args) => add::run(&args, context).await,
        ModelsCommand::List(args) => list::run(&args, context).await,
        ModelsCommand::Presets(ListPresetsArgs {}) => presets::run(context),
        ModelsCommand::Remove(args) => remove::run(&args, context).await,
        ModelsCommand::Test(args) => test::run(&args, context).await,
    }
}

/// The model providers of this data folder, as a gateway on it would have them.
pub(crate) async fn open_models(context: &CliContext) -> CliResult<Arc<ModelCatalog>> {
    let loaded = settings::load(&context.setting_sources(Vec::new()))
        .map_err(|wrong| settings::settings_error(&wrong))?;
    let env = crate::tool_env::tool_env(context);
    let keys = toolway_gateway::chat::keys(env.secrets, context.folder.path(), &loaded.settings);
    let http = ProviderHttpClient::new(|| {
        rustls_config(&GatewayTrust::default()).map_err(|error| error.to_string())
    });
    Ok(ModelCatalog::open(ModelCatalogDeps { file: context.folder.models(), keys, http }).await)
}

/// The file's text; nothing where there is no file.
fn read_models_file(context: &CliContext) -> CliResult<String> {
    Ok(private_file::read(&context.folder.models())?.unwrap_or_default())
}

/// Puts a text in the file's place, once all of it is right.
fn write_models_file(text: &str, context: &CliContext) -> CliResult {
    let path = context.folder.models();
    toolway_agent::models::check(text, &path).map_err(|problems| models_file_error(&problems))?;
    context.folder.create()?;
    // Where it is a link, what it leads to is replaced.
    let path: PathBuf = std::fs::canonicalize(&path).unwrap_or(path);
    private_file::replace(&path, text.as_bytes())
}

/// What is wrong in a file of the owner's.
pub(crate) fn models_file_error(problems: &[FileProblem]) -> CliError {
    let what = match problems {
        [_] => "a file can't be used".to_owned(),
        several => format!("a file can't be used, for {} reasons", several.len()),
    };
    let problem = |one: &FileProblem| CliProblem { message: one.to_string(), hint: one.hint.clone() };
    CliError::new(what)
        .with_code("invalid_file")
        .with_problems(problems.iter().map(problem).collect())
        .with_hint(FORMAT_HINT)
}
