//! `toolway models remove`.

use clap::Args;
use serde_json::json;
use toolway_agent::models::{KeyPlace, ModelsFile};

use super::add::{cant, own_secret};
use super::{edit, replace, text};
use crate::client::ConnectArgs;
use crate::commands::tools::own::{not_told, refuse_elsewhere, tell, word};
use crate::context::Context;
use crate::print::escape;
use crate::report::{Done, Failure};
use crate::secrets::{self, keyring};

/// Flags of `models remove`.
#[derive(Debug, Args)]
pub(crate) struct RemoveArgs {
    /// Name of the model provider, as `models list` shows it
    name: String,
    #[command(flatten)]
    connect: ConnectArgs,
}

pub(super) async fn run(args: &RemoveArgs, context: &Context) -> Done {
    refuse_elsewhere(&args.connect, context)?;
    let before = text(context)?;
    let after = edit::without(&before, &args.name).map_err(|why| cant(&why, context))?.ok_or_else(|| {
        Failure::new(format!("there is no model provider {:?}", args.name))
            .code("model_unknown")
            .hint("`toolway models list` shows their names")
    })?;
    replace(&after, context)?;
    let key_is_gone = forget_key(&before, &after, &args.name, context);
    let told = tell(&args.connect, context).await;
    if context.printer.json {
        let done = json!({
            "name": args.name, "removed": true, "key_removed": matches!(key_is_gone, Ok(true)),
            "gateway": word(&told),
        });
        context.printer.json_value(&done)?;
    } else {
        context.printer.line(&escape::line(&format!("{} is removed", args.name)))?;
        if matches!(key_is_gone, Ok(true)) {
            context.printer.note("its key, which was kept here, is removed too");
        }
    }
    key_is_gone?;
    told.map(drop).map_err(|failure| not_told(&failure))
}

/// Removes the key that was kept here for this provider, unless another still names it; whether there was one.
fn forget_key(before: &str, after: &str, name: &str, context: &Context) -> Done<bool> {
    let path = context.folder.models();
    let keys = |text: &str| -> Vec<(String, Option<KeyPlace>)> {
        let file = ModelsFile::parse(text, &path).unwrap_or_default();
        file.entries.into_iter().map(|entry| (entry.config.name.to_string(), entry.key)).collect()
    };
    let own = own_secret(name);
    let removed = keys(before).into_iter().find(|(known, _)| known == name).and_then(|(_, key)| key);
    let is_used = keys(after).iter().any(|(_, key)| key == &removed);
    match removed {
        Some(_) if is_used => Ok(false),
        Some(KeyPlace::Secret(secret)) if secret == own => match secrets::remove(&context.folder, &own) {
            Ok(()) => Ok(true),
            // Gone already, or kept at a place that the settings name.
            Err(failure) if failure.word() == "secret_unknown" => Ok(false),
            Err(failure) => Err(failure),
        },
        Some(KeyPlace::Keyring(entry)) if entry == own => keyring::remove(&own).map(|()| true),
        _ => Ok(false),
    }
}
