//! `toolway models`: manages model providers in `models.toml` of the data folder. The gateway only reads
//! the file, so that nobody can send an API key to another URL over the network.

mod add;
mod list;
mod models_file;
mod presets;
mod remove;
mod test;

use std::path::PathBuf;
use std::sync::Arc;

use clap::{Args, Subcommand};
use toolway_agent::models::{ModelCatalog, ModelCatalogDeps};
use toolway_device::trust::{GatewayTrust, rustls_config};
use toolway_files::owner_file::FileProblem;
use toolway_models::transport::ProviderHttpClient;

use crate::context::CliContext;
use crate::error::{CliError, CliProblem, CliResult};
use crate::folder::private_file;
use crate::settings;

/// Hint for errors in `models.toml`.
pub(crate) const FORMAT_HINT: &str = "see docs/models.md for the format";

/// Subcommands of `toolway models`.
#[derive(Debug, Subcommand)]
pub(crate) enum ModelsCommand {
    /// Add a model provider from a preset or by its API
    #[command(
        after_help = "Examples:\n  toolway models add anthropic --key-stdin < key.txt\n  toolway models add local --kind compatible --base-url http://localhost:11434/v1 --model llama3"
    )]
    Add(Box<add::AddModelArgs>),
    /// List the model providers and the locations of their keys
    #[command(after_help = "Example:\n  toolway models list")]
    List(list::ListModelsArgs),
    /// List presets of known model providers
    #[command(after_help = "Example:\n  toolway models presets")]
    Presets(ListPresetsArgs),
    /// Remove a model provider
    #[command(after_help = "Example:\n  toolway models remove anthropic")]
    Remove(remove::RemoveModelArgs),
    /// Test a model provider with one small tool call
    #[command(after_help = "Example:\n  toolway models test anthropic")]
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

/// Loads the model providers of the data folder in the same way as the gateway.
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

/// Reads `models.toml`. Returns an empty text if the file does not exist.
fn read_models_file(context: &CliContext) -> CliResult<String> {
    Ok(private_file::read(&context.folder.models())?.unwrap_or_default())
}

/// Validates the new text of `models.toml` and writes it.
fn write_models_file(text: &str, context: &CliContext) -> CliResult {
    let path = context.folder.models();
    toolway_agent::models::check(text, &path).map_err(|problems| models_file_error(&problems))?;
    context.folder.create()?;
    // Follow a symbolic link and replace its target.
    let path: PathBuf = std::fs::canonicalize(&path).unwrap_or(path);
    private_file::replace(&path, text.as_bytes())
}

/// Creates the error for an invalid `models.toml`.
pub(crate) fn models_file_error(problems: &[FileProblem]) -> CliError {
    let what = match problems {
        [_] => "the file is invalid".to_owned(),
        several => format!("the file has {} errors", several.len()),
    };
    let problem = |one: &FileProblem| CliProblem { message: one.to_string(), hint: one.hint.clone() };
    CliError::new(what)
        .with_code("invalid_file")
        .with_problems(problems.iter().map(problem).collect())
        .with_hint(FORMAT_HINT)
}
