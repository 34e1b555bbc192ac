//! `toolway backup`: writes the data folder to one file, even while the gateway runs.

use std::path::PathBuf;
use std::sync::Arc;

use clap::Args;
use serde_json::json;
use toolway_store::{Store, StoreOptions};

use crate::archive;
use crate::context::CliContext;
use crate::error::{CliError, CliResult};
use crate::folder::DataFolder;
use crate::print::time;

/// Flags of `backup`.
#[derive(Debug, Args)]
pub(crate) struct BackupArgs {
    /// File to write (must not exist)
    #[arg(value_name = "FILE")]
    file: PathBuf,
}

/// Runs the command.
pub(crate) async fn run(args: BackupArgs, context: &CliContext) -> CliResult {
    let folder = &context.folder;
    if !folder.database().is_file() {
        return Err(CliError::new(format!("no database in {}", folder.path().display()))
            .with_code("nothing_to_back_up")
            .with_hint("select the data folder with --data-dir"));
    }
    let snapshot = DatabaseSnapshot::create(context).await?;
    let mut files = vec![(archive::DATABASE.to_owned(), snapshot.path.clone())];
    files.extend(small_files(folder)?);
    let manifest = archive::write(&args.file, &files, context.now_ms())?;
    let size: u64 = manifest.files.iter().map(|file| file.size).sum();
    if context.printer.json {
        return context
            .printer
            .json_value(&json!({"file": args.file, "bytes": size, "files": manifest.files}));
    }
    context.printer.line(&format!(
        "wrote {} files ({}) to {}",
        manifest.files.len(),
        time::format_bytes(size),
        args.file.display()
    ))?;
    context
        .printer
        .note("the backup contains secrets: anyone who can read it can act as the gateway's owner");
    Ok(())
}

/// Returns the existing files besides the database: name in the backup, path on disk.
fn small_files(folder: &DataFolder) -> CliResult<Vec<(String, PathBuf)>> {
    let single =
        [archive::SETTINGS, archive::OWNER_TOKEN, archive::MODELS, archive::MCP_SERVERS, archive::PRICES];
    let mut names: Vec<String> = single.iter().chain(archive::TLS).map(|name| (*name).to_owned()).collect();
    let folders = [
        (folder.agents(), archive::AGENTS),
        (folder.devices(), archive::DEVICES),
        (folder.tools(), archive::TOOLS),
        (folder.mcp_clients(), archive::MCP_CLIENTS),
        (folder.secrets(), archive::SECRETS),
    ];
    for (path, start) in folders.iter().filter(|(path, _)| path.is_dir()) {
        let unreadable = |error: std::io::Error| CliError::io("read", path, &error);
        for entry in std::fs::read_dir(path).map_err(unreadable)? {
            let name = format!("{start}{}", entry.map_err(unreadable)?.file_name().to_string_lossy());
            // Other files are not Toolway's and could not be restored.
            if archive::may_be_in_a_backup(&name) {
                names.push(name);
            }
        }
    }
    names.sort();
    let there = names.into_iter().map(|name| (folder.path().join(&name), name));
    Ok(there.filter(|(path, _)| path.is_file()).map(|(path, name)| (name, path)).collect())
}

/// Consistent copy of the database. Dropping it removes the file.
#[derive(Debug)]
struct DatabaseSnapshot {
    path: PathBuf,
}

impl DatabaseSnapshot {
    async fn create(context: &CliContext) -> CliResult<Self> {
        let folder = &context.folder;
        let snapshot = Self { path: folder.path().join(format!(".backup-{}.db", std::process::id())) };
        let _ = std::fs::remove_file(&snapshot.path);
        let store = open_store(folder, context).await?;
        let copied = store.backup(&snapshot.path).await;
        store.close().await;
        copied.map_err(|error| store_error(&error))?;
        Ok(snapshot)
    }
}

impl Drop for DatabaseSnapshot {
    fn drop(&mut self) {
        let _ = std::fs::remove_file(&self.path);
    }
}

/// Opens the database, even if a gateway is using it.
pub(crate) async fn open_store(folder: &DataFolder, context: &CliContext) -> CliResult<Store> {
    Store::open_existing(folder.path(), Arc::clone(&context.clock), StoreOptions::default())
        .await
        .map_err(|error| store_error(&error))
}

/// Converts an error of the store.
pub(crate) fn store_error(error: &toolway_store::StoreError) -> CliError {
    CliError::new(error.to_string())
        .with_code("database")
        .with_hint("run `toolway doctor` to check the database")
}
