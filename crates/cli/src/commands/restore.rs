//! `toolway restore`: restores a backup into the data folder, even while the gateway runs. It checks the complete
//! backup before it changes anything.

use std::io::{self, BufRead, Write};
use std::path::{Path, PathBuf};
use std::sync::Arc;

use clap::Args;
use secrecy::SecretString;
use serde_json::json;
use toolway_store::{Store, StoreOptions};

use super::backup::{open_store, store_error};
use crate::archive::{self, BackupManifest};
use crate::client::{GatewayClient, GatewayTarget, TokenLocation, target};
use crate::context::CliContext;
use crate::error::{CliError, CliResult};
use crate::folder::lock::FolderLock;
use crate::folder::running_gateway::RunningGateway;
use crate::folder::{create_private_dir, private_file};
use crate::settings::{self, SettingSources};

/// Flags of `restore`.
#[derive(Debug, Args)]
pub(crate) struct RestoreArgs {
    /// Backup file from `toolway backup`
    #[arg(value_name = "FILE")]
    file: PathBuf,
    /// Restore without asking
    #[arg(long)]
    yes: bool,
}

/// Runs the command.
pub(crate) async fn run(args: RestoreArgs, context: &CliContext) -> CliResult {
    let folder = &context.folder;
    folder.create()?;
    let staging = StagingFolder::create(folder.path())?;
    let manifest = archive::unpack(&args.file, &staging.0)?;
    check_files(&staging.0, &manifest, context)?;
    confirm(&args, &manifest, context)?;

    // With the lock held here, no gateway can start meanwhile. If a gateway holds it, that gateway is reloaded
    // afterwards.
    let running = target::find_running(folder)?;
    let lock = if running.is_none() { Some(FolderLock::acquire(folder)?) } else { None };
    // The running gateway accepts this token until it reloads.
    let token = private_file::read_token(&folder.owner_token())?;
    let store = match &running {
        Some(_) => open_store(folder, context).await?,
        None => Store::open(folder.path(), Arc::clone(&context.clock), StoreOptions::default())
            .await
            .map_err(|error| store_error(&error))?,
    };
    if !store.is_current().await.map_err(|error| store_error(&error))? {
        store.close().await;
        return Err(CliError::new("the running gateway is older than this program; nothing was changed")
            .with_code("version")
            .with_hint("restart the gateway with this version, or stop it, then retry"));
    }
    let restored = store.restore_from(&staging.0.join(archive::DATABASE)).await;
    store.close().await;
    restored.map_err(|error| store_error(&error))?;
    let files = move_files(&staging.0, folder.path(), &manifest)?;
    let told = match &running {
        Some(gateway) => Some(reload_gateway(gateway, token).await),
        None => None,
    };
    drop(lock);
    print_report(&files, told, context)
}

/// Checks the small files.
fn check_files(staging: &Path, manifest: &BackupManifest, context: &CliContext) -> CliResult {
    let has = |name: &str| manifest.files.iter().any(|file| file.name == name);
    let wrong = |name: &str, failure: CliError| {
        CliError::new(format!("{name} in the backup is invalid: {}", failure.message()))
            .with_code("invalid_backup")
            .with_hint("nothing was changed; try another backup")
    };
    if has(archive::OWNER_TOKEN) {
        private_file::read_token(&staging.join(archive::OWNER_TOKEN))
            .map_err(|it| wrong(archive::OWNER_TOKEN, it))?;
    }
    if has(archive::SETTINGS) {
        let sources = SettingSources {
            file: staging.join(archive::SETTINGS),
            is_file_required: true,
            variables: Vec::new(),
            flags: Vec::new(),
        };
        // A newer program may reject settings that were valid at the time of the backup, so this is only a warning.
        if let Err(problems) = settings::load(&sources) {
            for problem in problems {
                context.printer.warning(&format!("in the backup: {}", problem.message()), &problem.hint);
            }
        }
    }
    if let [cert, _] = archive::TLS
        && has(cert)
    {
        target::read_key_pin(&staging.join(cert)).map_err(|it| wrong(cert, it))?;
    }
    Ok(())
}

fn confirm(args: &RestoreArgs, manifest: &BackupManifest, context: &CliContext) -> CliResult {
    if args.yes {
        return Ok(());
    }
    let question = format!(
        "{} was created {} by version {}. Replace the contents of {}?",
        args.file.display(),
        context.time_formatter().format_local_and_ago(manifest.created_ms),
        manifest.version,
        context.folder.path().display()
    );
    if !context.environment.stdin_is_terminal || context.printer.json {
        return Err(
            CliError::usage(question).with_hint("nothing was changed; use --yes to restore without asking")
        );
    }
    let mut stderr = io::stderr().lock();
    let mut answer = String::new();
    let _ = write!(stderr, "{} [y/N] ", crate::print::escape::line(&question)).and_then(|()| stderr.flush());
    let read = io::stdin().lock().read_line(&mut answer);
    if read.is_ok() && matches!(answer.trim().to_ascii_lowercase().as_str(), "y" | "yes") {
        return Ok(());
    }
    Err(CliError::new("not restored; nothing was changed").with_code("declined"))
}

/// Moves the small files to their places. Files that are not in the backup stay unchanged.
fn move_files(staging: &Path, folder: &Path, manifest: &BackupManifest) -> CliResult<Vec<String>> {
    let mut moved = Vec::new();
    for file in manifest.files.iter().filter(|file| file.name != archive::DATABASE) {
        let to = folder.join(&file.name);
        if let Some(parent) = to.parent() {
            create_private_dir(parent)?;
        }
        toolway_files::private_file::rename(&staging.join(&file.name), &to).map_err(|error| {
            CliError::io("replace", &to, &error)
                .with_hint("the database was already restored; fix this, then restore again")
        })?;
        moved.push(file.name.clone());
    }
    Ok(moved)
}

/// Makes the running gateway reload its data.
async fn reload_gateway(gateway: &RunningGateway, token: Option<SecretString>) -> CliResult {
    let token = token.ok_or_else(|| CliError::new("the owner's token is missing"))?;
    let target = GatewayTarget {
        url: gateway.url.clone(),
        trust: target::gateway_trust(gateway)?,
        token,
        token_place: TokenLocation::EnvVar,
    };
    GatewayClient::new(target)?.send_empty(reqwest::Method::POST, &["api", "reload"]).await.map(drop)
}

/// Prints the result. `told` is the result of the gateway's reload, if a gateway runs.
fn print_report(files: &[String], told: Option<CliResult>, context: &CliContext) -> CliResult {
    let runs = told.is_some();
    let failure = told.and_then(Result::err).map(|failure| {
        let why = failure.message();
        CliError::new(format!("restored, but the running gateway failed to reload: {why}"))
            .with_code("reload_failed")
            .with_hint("restart the gateway")
    });
    // The gateway reads these only at its start.
    let at_start =
        files.iter().any(|name| name == archive::SETTINGS || archive::TLS.contains(&name.as_str()));
    let restart = runs && (at_start || failure.is_some());
    if context.printer.json {
        context.printer.json_value(&json!({"restored": true, "files": files, "restart_needed": restart}))?;
    } else {
        let beside = if files.is_empty() { String::new() } else { format!(" and {}", files.join(", ")) };
        context.printer.line(&format!("restored the database{beside}"))?;
        if restart && failure.is_none() {
            context.printer.note("restart the gateway to apply its settings and certificate");
        }
    }
    failure.map_or(Ok(()), Err)
}

/// Temporary folder (0700) inside the data folder. Dropping it removes it with its content.
#[derive(Debug)]
struct StagingFolder(PathBuf);

impl StagingFolder {
    fn create(folder: &Path) -> CliResult<Self> {
        let path = folder.join(format!(".restore-{}", std::process::id()));
        let _ = std::fs::remove_dir_all(&path);
        create_private_dir(&path)?;
        Ok(Self(path))
    }
}

impl Drop for StagingFolder {
    fn drop(&mut self) {
        let _ = std::fs::remove_dir_all(&self.0);
    }
}
