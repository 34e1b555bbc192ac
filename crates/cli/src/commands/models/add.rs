//! `toolway models add`: adds a model provider.

use std::path::PathBuf;

use clap::builder::{PossibleValue, PossibleValuesParser, TypedValueParser};
use clap::{ArgGroup, Args};
use secrecy::SecretString;
use serde_json::json;
use toolway_models::ProviderKind;
use toolway_models::presets::{self, ProviderPreset};

use super::models_file::{self, ModelsFileEditError, NewModelEntry};
use super::{FORMAT_HINT, read_models_file, write_models_file};
use crate::client::ConnectArgs;
use crate::commands::secrets::read_secret;
use crate::commands::tools::own_tools::{reload_error, reload_gateway, reload_status, require_local_gateway};
use crate::context::CliContext;
use crate::error::{CliError, CliResult};
use crate::print::escape;
use crate::secrets::{self, keyring};

/// Flags of `models add`.
#[derive(Debug, Args)]
#[command(group = ArgGroup::new("key_place"))]
pub(crate) struct AddModelArgs {
    /// Name of the provider: lower-case letters, digits and hyphens. Also selects the preset with this name, unless
    /// --preset or --kind is given
    name: String,
    /// Preset, as `toolway models presets` lists it
    #[arg(long, value_name = "PRESET")]
    preset: Option<String>,
    /// API of the provider
    #[arg(long, value_name = "KIND", value_parser = kind_parser())]
    kind: Option<ProviderKind>,
    /// Base URL, for example https://models.example/v1 (default: the preset's URL)
    #[arg(long, value_name = "URL")]
    base_url: Option<String>,
    /// Environment variable of the gateway with the API key (default: the preset's variable)
    #[arg(long, value_name = "VAR", group = "key_place")]
    key_env: Option<String>,
    /// File with the API key, on the gateway's computer
    #[arg(long, value_name = "FILE", group = "key_place")]
    key_file: Option<PathBuf>,
    /// Read the API key from standard input and store it as a secret in the data folder
    #[arg(long, group = "key_place")]
    key_stdin: bool,
    /// Read the API key from standard input and store it in the system's keyring, or as a secret if there is none
    #[arg(long, group = "key_place")]
    key_keyring: bool,
    /// Default model of this provider
    #[arg(long, value_name = "ID")]
    model: Option<String>,
    /// Header for every request, for example X-Title=toolway; repeat the flag for more
    #[arg(long, value_name = "NAME=VALUE")]
    header: Vec<String>,
    /// Make this the default provider for agents without a model
    #[arg(long)]
    default: bool,
    /// Replace the provider with this name
    #[arg(long)]
    replace: bool,
    #[command(flatten)]
    connect: ConnectArgs,
}

/// Headers that carry API keys.
const KEY_HEADERS: &[&str] =
    &["authorization", "proxy-authorization", "x-api-key", "x-goog-api-key", "api-key"];

/// Accepts the names of all kinds, and lists them in the help.
fn kind_parser() -> impl TypedValueParser<Value = ProviderKind> {
    let values = ProviderKind::ALL.map(|kind| PossibleValue::new(kind.as_str()).help(kind.api_name()));
    PossibleValuesParser::new(values).try_map(|name| name.parse::<ProviderKind>())
}

/// Location of an API key, as the file defines it.
#[derive(Debug, Clone, PartialEq, Eq)]
enum ApiKeyLocation {
    Env(String),
    File(String),
    Secret(String),
    Keyring(String),
}

impl ApiKeyLocation {
    fn field_and_value(&self) -> (&'static str, &str) {
        match self {
            Self::Env(which) => ("env", which),
            Self::File(which) => ("file", which),
            Self::Secret(which) => ("secret", which),
            Self::Keyring(which) => ("keyring", which),
        }
    }
}

pub(super) async fn run(args: &AddModelArgs, context: &CliContext) -> CliResult {
    require_local_gateway(&args.connect, context)?;
    let preset = find_preset(args)?;
    let headers = parse_headers(&args.header)?;
    let before = read_models_file(context)?;
    if !args.replace
        && models_file::entry_names(&before).map_err(|why| edit_error(&why, context))?.contains(&args.name)
    {
        return Err(CliError::new(format!("the model provider {} already exists", args.name))
            .with_code("already_exists")
            .with_hint("use --replace to replace it")
            .with_hint(format!("or remove it with `toolway models remove {}`", args.name)));
    }
    let place = key_location(args, context)?;
    let entry = NewModelEntry {
        name: &args.name,
        kind: args.kind.map(ProviderKind::as_str),
        preset: preset.map(|preset| preset.name),
        base_url: args.base_url.as_deref(),
        key: place.as_ref().map(ApiKeyLocation::field_and_value),
        model: args.model.as_deref(),
        headers: &headers,
        is_first: args.default,
    };
    let after = models_file::add_entry(&before, &entry).map_err(|why| edit_error(&why, context))?;
    // Validate first: do not ask for a key or store one for an invalid entry.
    toolway_agent::models::check(&after, &context.folder.models())
        .map_err(|problems| super::models_file_error(&problems))?;
    store_key(place.as_ref(), args, context).await?;
    write_models_file(&after, context)?;
    let told = reload_gateway(&args.connect, context).await;
    if context.printer.json {
        context.printer.json_value(&json!({
            "name": args.name, "file": context.folder.models(), "preset": entry.preset,
            "key": place.as_ref().map(ApiKeyLocation::field_and_value).map(|(place, which)| json!({place: which})),
            "gateway": reload_status(&told),
        }))?;
    } else {
        print_added(args, preset, place.as_ref(), context)?;
    }
    told.map(drop).map_err(|failure| reload_error(&failure))
}

/// Returns the preset of `--preset`, or the one with the provider's name if no `--kind` is given.
fn find_preset(args: &AddModelArgs) -> CliResult<Option<&'static ProviderPreset>> {
    let Some(name) = &args.preset else {
        if args.kind.is_some() {
            return Ok(None);
        }
        return presets::get(&args.name).map(Some).ok_or_else(|| {
            CliError::usage(format!("{:?} is not a preset, so its API is required", args.name))
                .with_hint(format!("use --kind {}, with --base-url", ProviderKind::names()))
                .with_hint("or use --preset with a name from `toolway models presets`")
        });
    };
    presets::get(name).map(Some).ok_or_else(|| {
        let failure = CliError::usage(format!("unknown preset {name:?}"));
        let near = presets::ALL.iter().map(|preset| (strsim::jaro_winkler(preset.name, name), preset.name));
        let near = near.filter(|(likeness, _)| *likeness > 0.8).max_by(|a, b| a.0.total_cmp(&b.0));
        failure
            .with_optional_hint(near.map(|(_, near)| format!("did you mean {near}?")))
            .with_hint("list the presets with `toolway models presets`")
    })
}

fn parse_headers(headers: &[String]) -> CliResult<Vec<(String, String)>> {
    let one = |text: &String| {
        let (name, value) = text.split_once('=').ok_or_else(|| {
            CliError::usage(format!("--header {text}: = is missing"))
                .with_hint("use --header NAME=VALUE, for example --header X-Title=toolway")
        })?;
        let name = name.trim();
        if KEY_HEADERS.iter().any(|known| name.eq_ignore_ascii_case(known)) {
            return Err(CliError::usage(format!(
                "--header {name}: do not pass a key as an argument, because other users could see it"
            ))
            .with_hint("use --key-env, --key-file, --key-stdin or --key-keyring for the key"));
        }
        Ok((name.to_owned(), value.trim().to_owned()))
    };
    headers.iter().map(one).collect()
}

/// Returns the location of the key; `None` if the preset defines it or there is no key.
fn key_location(args: &AddModelArgs, context: &CliContext) -> CliResult<Option<ApiKeyLocation>> {
    // Use a name of our own, so that other entries in the keyring or the folder are not overwritten.
    let own = secret_name(&args.name);
    Ok(match args {
        AddModelArgs { key_env: Some(variable), .. } => Some(ApiKeyLocation::Env(variable.clone())),
        AddModelArgs { key_file: Some(path), .. } => {
            // The gateway has another working directory, so a relative path must become absolute.
            let path = std::path::absolute(path).unwrap_or_else(|_| path.clone());
            let text = path.to_str().map(str::to_owned);
            let text = text.ok_or_else(|| CliError::usage("the path of --key-file is not UTF-8"))?;
            Some(ApiKeyLocation::File(text))
        }
        AddModelArgs { key_stdin: true, .. } => Some(ApiKeyLocation::Secret(own)),
        AddModelArgs { key_keyring: true, .. } if keyring::IS_AVAILABLE => Some(ApiKeyLocation::Keyring(own)),
        AddModelArgs { key_keyring: true, .. } => {
            context.printer.note(
                "no supported keyring on this system; storing the key as a secret in the data folder, in a \
                 file that only you can read",
            );
            Some(ApiKeyLocation::Secret(own))
        }
        _ => None,
    })
}

/// Returns the name of the secret for a provider's key.
pub(super) fn secret_name(name: &str) -> String {
    format!("model-{name}")
}

/// Stores the key, if it belongs into the secrets or the keyring.
async fn store_key(place: Option<&ApiKeyLocation>, args: &AddModelArgs, context: &CliContext) -> CliResult {
    let (Some(ApiKeyLocation::Secret(name)) | Some(ApiKeyLocation::Keyring(name))) = place else {
        return Ok(());
    };
    let secret: SecretString = read_secret(&format!("key of {}", args.name), context).await?;
    match place {
        Some(ApiKeyLocation::Keyring(_)) => keyring::set(name, &secret),
        _ => secrets::set(&context.folder, name, &secret).map(drop),
    }
}

fn print_added(
    args: &AddModelArgs,
    preset: Option<&ProviderPreset>,
    place: Option<&ApiKeyLocation>,
    context: &CliContext,
) -> CliResult {
    let printer = &context.printer;
    let file = context.folder.models();
    printer.line(&escape::line(&format!("added the model provider {} to {}", args.name, file.display())))?;
    let variable = match place {
        Some(ApiKeyLocation::Env(variable)) => Some(variable.as_str()),
        None => preset.and_then(|preset| preset.key_env),
        Some(_) => None,
    };
    if let Some(variable) = variable {
        let is_set = context.environment.variable(variable).is_some();
        let here = if is_set { "it is set in this shell" } else { "it is not set in this shell" };
        printer.note(&format!("the gateway reads the key from its environment variable {variable}; {here}"));
    }
    if let Some(preset) = preset.filter(|preset| !preset.note.is_empty()) {
        printer.note(preset.note);
    }
    if args.model.is_none() {
        printer.note(&format!("no default model: set an agent's model to {}/ID", args.name));
    }
    let flag = context.folder.data_dir_flag();
    printer.note(&format!("to test it: toolway models test {}{flag}", args.name));
    Ok(())
}

/// Creates the error for a file that this command cannot change.
pub(super) fn edit_error(why: &ModelsFileEditError, context: &CliContext) -> CliError {
    CliError::new(format!("cannot change {}: {why}", context.folder.models().display()))
        .with_code("invalid_file")
        .with_hint(FORMAT_HINT)
}
