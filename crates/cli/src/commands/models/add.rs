//! `toolway models add`.

use std::path::PathBuf;

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
    /// A name for it: lower-case letters, digits and hyphens. Where it is a preset's, and neither --preset nor --kind
    /// is said, it is that preset
    name: String,
    /// What is known of a model provider, as `toolway models presets` lists it
    #[arg(long, value_name = "PRESET")]
    preset: Option<String>,
    /// The API that it speaks: openai, openai-responses, anthropic, gemini, or compatible (what speaks OpenAI's Chat
    /// Completions without being OpenAI's)
    #[arg(long, value_name = "KIND")]
    kind: Option<ProviderKind>,
    /// Where it is, as https://models.example/v1; else where the preset says
    #[arg(long, value_name = "URL")]
    base_url: Option<String>,
    /// Read its key from this variable of the gateway's environment; else from the one that the preset names
    #[arg(long, value_name = "VAR", group = "key_place")]
    key_env: Option<String>,
    /// Read its key from this file on the gateway's computer
    #[arg(long, value_name = "FILE", group = "key_place")]
    key_file: Option<PathBuf>,
    /// Keep its key, read from standard input, among the data folder's secrets
    #[arg(long, group = "key_place")]
    key_stdin: bool,
    /// Keep its key, read from standard input, in the system's keyring; where there is none, among the secrets
    #[arg(long, group = "key_place")]
    key_keyring: bool,
    /// The model to ask where only this provider's name is said
    #[arg(long, value_name = "ID")]
    model: Option<String>,
    /// A header to send with every request, as X-Title=toolway; may be said more than once
    #[arg(long, value_name = "NAME=VALUE")]
    header: Vec<String>,
    /// Make it the default: agents without a model of their own use it
    #[arg(long)]
    default: bool,
    /// Put it in the place of the one that has this name
    #[arg(long)]
    replace: bool,
    #[command(flatten)]
    connect: ConnectArgs,
}

/// Headers in which keys are sent.
const KEY_HEADERS: &[&str] =
    &["authorization", "proxy-authorization", "x-api-key", "x-goog-api-key", "api-key"];

/// Where a key is, as the file says it.
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
        return Err(CliError::new(format!("there is a model provider {} already", args.name))
            .with_code("already_exists")
            .with_hint("--replace puts this one in its place")
            .with_hint(format!("`toolway models remove {}` takes it away", args.name)));
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
    // Nothing is asked for, and nothing kept, for what could not stand.
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

/// The preset that is meant: the one that is named, or the one of this name where nothing else says what it is.
fn find_preset(args: &AddModelArgs) -> CliResult<Option<&'static ProviderPreset>> {
    let Some(name) = &args.preset else {
        if args.kind.is_some() {
            return Ok(None);
        }
        return presets::get(&args.name).map(Some).ok_or_else(|| {
            CliError::usage(format!("{:?} is no preset, so it must be said what API it speaks", args.name))
                .with_hint(
                    "--kind openai, openai-responses, anthropic, gemini or compatible, with --base-url",
                )
                .with_hint("or --preset with one of those that `toolway models presets` lists")
        });
    };
    presets::get(name).map(Some).ok_or_else(|| {
        let failure = CliError::usage(format!("there is no preset {name:?}"));
        let near = presets::ALL.iter().map(|preset| (strsim::jaro_winkler(preset.name, name), preset.name));
        let near = near.filter(|(likeness, _)| *likeness > 0.8).max_by(|a, b| a.0.total_cmp(&b.0));
        failure
            .with_optional_hint(near.map(|(_, near)| format!("did you mean {near}?")))
            .with_hint("`toolway models presets` lists them")
    })
}

fn parse_headers(said: &[String]) -> CliResult<Vec<(String, String)>> {
    let one = |text: &String| {
        let (name, value) = text.split_once('=').ok_or_else(|| {
            CliError::usage(format!("--header {text}: there is no = in it"))
                .with_hint("write --header NAME=VALUE, as --header X-Title=toolway")
        })?;
        let name = name.trim();
        if KEY_HEADERS.iter().any(|known| name.eq_ignore_ascii_case(known)) {
            return Err(CliError::usage(format!(
                "--header {name}: a key is no argument, others could see it"
            ))
            .with_hint("--key-env, --key-file, --key-stdin or --key-keyring say where the key is"));
        }
        Ok((name.to_owned(), value.trim().to_owned()))
    };
    said.iter().map(one).collect()
}

/// Where the key is; none where the preset says that, or none is wanted.
fn key_location(args: &AddModelArgs, context: &CliContext) -> CliResult<Option<ApiKeyLocation>> {
    // Others in the same folder must not be overwritten.
    let own = secret_name(&args.name);
    Ok(match args {
        AddModelArgs { key_env: Some(variable), .. } => Some(ApiKeyLocation::Env(variable.clone())),
        AddModelArgs { key_file: Some(path), .. } => {
            // The gateway has another folder to start from.
            let path = std::path::absolute(path).unwrap_or_else(|_| path.clone());
            let text = path.to_str().map(str::to_owned);
            let text = text.ok_or_else(|| CliError::usage("the path of --key-file is not text"))?;
            Some(ApiKeyLocation::File(text))
        }
        AddModelArgs { key_stdin: true, .. } => Some(ApiKeyLocation::Secret(own)),
        AddModelArgs { key_keyring: true, .. } if keyring::IS_AVAILABLE => Some(ApiKeyLocation::Keyring(own)),
        AddModelArgs { key_keyring: true, .. } => {
            context.printer.note(
                "this system has no keyring that is used here; the key is kept among the data folder's secrets, in a \
                 file for you alone",
            );
            Some(ApiKeyLocation::Secret(own))
        }
        _ => None,
    })
}

/// The name under which a model provider's key is kept.
pub(super) fn secret_name(name: &str) -> String {
    format!("model-{name}")
}

/// Keeps the key where that is to be done here.
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
    printer.line(&escape::line(&format!("{} is a model provider now, in {}", args.name, file.display())))?;
    let variable = match place {
        Some(ApiKeyLocation::Env(variable)) => Some(variable.as_str()),
        None => preset.and_then(|preset| preset.key_env),
        Some(_) => None,
    };
    if let Some(variable) = variable {
        let is_set = context.environment.variable(variable).is_some();
        let here = if is_set { "it is set here" } else { "it is not set here" };
        printer.note(&format!(
            "its key is read from the variable {variable} of the gateway's environment; {here}"
        ));
    }
    if let Some(preset) = preset.filter(|preset| !preset.note.is_empty()) {
        printer.note(preset.note);
    }
    if args.model.is_none() {
        printer.note(&format!("no model is set for it: an agent names one as {}/ID", args.name));
    }
    let flag = context.folder.data_dir_flag();
    printer.note(&format!("to try it: toolway models test {}{flag}", args.name));
    Ok(())
}

/// The file is not one that can be changed here.
pub(super) fn edit_error(why: &ModelsFileEditError, context: &CliContext) -> CliError {
    CliError::new(format!("{} can't be changed: {why}", context.folder.models().display()))
        .with_code("invalid_file")
        .with_hint(FORMAT_HINT)
}
