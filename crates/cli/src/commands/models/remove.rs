//! `toolway models remove`: removes a model provider and its stored key.

use clap::Args;
use serde_json::json;
use toolway_agent::models::ModelsFile;
use toolway_secrets::SecretLocation;

use super::add::{edit_error, secret_name};
use super::{models_file, read_models_file, write_models_file};
use crate::client::ConnectArgs;
use crate::commands::tools::own_tools::{reload_error, reload_gateway, reload_status, require_local_gateway};
use crate::context::CliContext;
use crate::error::{CliError, CliResult};
use crate::print::escape;
use crate::secrets::{self, keyring};

/// Flags of `models remove`.
#[derive(Debug, Args)]
pub(crate) struct RemoveModelArgs {
    /// Name of the model provider, as `models list` shows it
    name: String,
    #[command(flatten)]
    connect: ConnectArgs,
}

pub(super) async fn run(args: &RemoveModelArgs, context: &CliContext) -> CliResult {
    require_local_gateway(&args.connect, context)?;
    let before = read_models_file(context)?;
    let after = models_file::remove_entry(&before, &args.name)
        .map_err(|why| edit_error(&why, context))?
        .ok_or_else(|| {
            CliError::new(format!("unknown model provider {:?}", args.name))
                .with_code("model_provider_not_found")
                .with_hint("list the providers with `toolway models list`")
        })?;
    write_models_file(&after, context)?;
    let key_is_gone = remove_unused_key(&before, &after, &args.name, context);
    let told = reload_gateway(&args.connect, context).await;
    if context.printer.json {
        let done = json!({
            "name": args.name, "removed": true, "key_removed": matches!(key_is_gone, Ok(true)),
            "gateway": reload_status(&told),
        });
        context.printer.json_value(&done)?;
    } else {
        context.printer.line(&escape::line(&format!("removed {}", args.name)))?;
        if matches!(key_is_gone, Ok(true)) {
            context.printer.note("removed its stored key");
        }
    }
    key_is_gone?;
    told.map(drop).map_err(|failure| reload_error(&failure))
}

/// Removes the stored key of this provider, unless another entry uses it. Returns true if a key was removed.
fn remove_unused_key(before: &str, after: &str, name: &str, context: &CliContext) -> CliResult<bool> {
    let path = context.folder.models();
    let keys = |text: &str| -> Vec<(String, Option<SecretLocation>)> {
        let file = ModelsFile::parse(text, &path).unwrap_or_default();
        file.entries.into_iter().map(|entry| (entry.config.name.to_string(), entry.key)).collect()
    };
    let own = secret_name(name);
    let removed = keys(before).into_iter().find(|(known, _)| known == name).and_then(|(_, key)| key);
    let is_used = keys(after).iter().any(|(_, key)| key == &removed);
    match removed {
        Some(_) if is_used => Ok(false),
        Some(SecretLocation::Secret(secret)) if secret == own => match secrets::remove(&context.folder, &own)
        {
            Ok(()) => Ok(true),
            // Removed before, or stored at a location that the settings define.
            Err(failure) if failure.code() == "secret_not_found" => Ok(false),
            Err(failure) => Err(failure),
        },
        Some(SecretLocation::Keyring(entry)) if entry == own => keyring::remove(&own).map(|()| true),
        _ => Ok(false),
    }
}
