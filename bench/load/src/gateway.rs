//! A gateway process in a temporary data folder, and its REST requests.

use std::path::{Path, PathBuf};
use std::time::Duration;

use futures_util::{StreamExt, TryStreamExt, stream};
use serde::Deserialize;
use serde_json::json;
use tempfile::TempDir;
use tokio::time::Instant;

use crate::error::{ErrorContext, Result, unexpected};
use crate::http::request;
use crate::process::{ChildProcess, ChildProgram};

/// Default number of sources per token.
pub(crate) const SOURCES_PER_TOKEN: usize = 8;

/// Name of the log file in the gateway's folder.
const LOG_FILE: &str = "gateway.log";
const READY_LIMIT: Duration = Duration::from_secs(30);
const TOKENS_AT_ONCE: usize = 8;

/// Options for starting gateways.
#[derive(Debug, Clone)]
pub(crate) struct GatewayLaunchOptions {
    /// Path of the executable.
    pub(crate) path: PathBuf,
    /// Runtime workers; the gateway's default if absent.
    pub(crate) workers: Option<usize>,
    /// Number of files that it may open.
    pub(crate) open_files: u64,
    /// Program that runs the gateway, with its arguments; empty to run it directly.
    pub(crate) wrapper: Vec<String>,
    /// True if the allocator returns freed memory at once, so that the memory of the process is what the gateway holds.
    pub(crate) returns_memory: bool,
}

/// Settings of glibc's allocator with which it returns freed memory at once, instead of up to 64 MiB for each thread
/// later.
const RETURN_MEMORY: [(&str, &str); 3] =
    [("MALLOC_ARENA_MAX", "2"), ("MALLOC_MMAP_THRESHOLD_", "1048576"), ("MALLOC_TRIM_THRESHOLD_", "1048576")];

impl GatewayLaunchOptions {
    /// Uses the gateway at `path`, or the one built next to this harness.
    pub(crate) fn new(path: Option<&Path>, workers: Option<usize>) -> Result<Self> {
        let name = format!("toolway{}", std::env::consts::EXE_SUFFIX);
        let beside = std::env::current_exe().ok().and_then(|own| Some(own.parent()?.join(&name)));
        let target =
            std::env::var_os("CARGO_TARGET_DIR").map(|dir| Path::new(&dir).join("release").join(&name));
        let path = match path {
            Some(path) => Some(path.to_owned()),
            None => beside.into_iter().chain(target).find(|candidate| candidate.is_file()),
        };
        match path {
            Some(path) if path.is_file() => {
                let wrapper = Vec::new();
                Ok(Self { path, workers, open_files: 1024, wrapper, returns_memory: false })
            }
            Some(path) => unexpected(format!("there is no gateway at {}", path.display())),
            None => unexpected(
                "no gateway was found beside the harness; build it (cargo build --profile dist --package toolway) or name it with --gateway",
            ),
        }
    }

    /// Adapts the options for a gateway whose memory is measured while it runs.
    pub(crate) fn with_returned_memory(&self) -> Self {
        Self { returns_memory: true, ..self.clone() }
    }

    fn environment(&self) -> Vec<(String, String)> {
        let workers = self.workers.map(|workers| ("TOOLWAY_WORKERS", workers.to_string()));
        let allocator = RETURN_MEMORY.iter().filter(|_| self.returns_memory);
        let all = allocator.map(|(name, value)| (*name, (*value).to_owned())).chain(workers);
        all.map(|(name, value)| (name.to_owned(), value)).collect()
    }

    /// Adapts the options for a gateway with many connections.
    pub(crate) fn with_connections(&self, connections: usize) -> Self {
        let open_files = u64::try_from(connections).unwrap_or(u64::MAX).saturating_add(1000);
        Self { open_files: open_files.max(self.open_files), ..self.clone() }
    }
}

/// Message of a process when it is ready.
#[derive(Debug, Deserialize)]
struct ReadyEvent {
    event: String,
    url: String,
}

/// Waits until a process is ready. Returns its `host:port`.
pub(crate) async fn wait_for_authority(process: &mut ChildProcess) -> Result<String> {
    let ready: ReadyEvent = process.next_event(READY_LIMIT).await?;
    match (ready.event.as_str(), ready.url.strip_prefix("http://")) {
        ("ready", Some(rest)) => Ok(rest.trim_end_matches('/').to_owned()),
        _ => unexpected(format!("expected a ready event with an http URL, not {ready:?}")),
    }
}

/// A running gateway. Its folder is removed when it is dropped.
#[derive(Debug)]
pub(crate) struct BenchGateway {
    /// `host:port`.
    pub(crate) authority: String,
    /// The owner's token.
    pub(crate) owner_token: String,
    /// Time from starting the process to the first response on `/health`.
    pub(crate) start_duration: Duration,
    // The process is dropped, and so killed, before its folder is removed.
    process: ChildProcess,
    folder: TempDir,
}

impl BenchGateway {
    /// Starts a gateway with a new data folder.
    pub(crate) async fn start(settings: &GatewayLaunchOptions) -> Result<Self> {
        Self::start_in(settings, create_data_folder()?).await
    }

    /// Starts a gateway with a data folder that may have been used before.
    pub(crate) async fn start_in(settings: &GatewayLaunchOptions, folder: TempDir) -> Result<Self> {
        let data = folder.path().join("data");
        let gateway = settings.path.display().to_string();
        let args = ["serve", "--listen", "127.0.0.1:0", "--no-local-device", "--json", "--data-dir"];
        let args = args.into_iter().map(str::to_owned).chain([data.display().to_string()]);
        let mut command = settings.wrapper.iter().cloned().chain([gateway]).chain(args);
        let program = ChildProgram {
            name: "gateway",
            path: command.next().unwrap_or_default().into(),
            args: command.collect(),
            env: settings.environment(),
            log: folder.path().join(LOG_FILE),
            open_files: settings.open_files,
        };
        let started = Instant::now();
        let mut process = ChildProcess::start(&program)?;
        let authority = wait_for_authority(&mut process).await?;
        process.ignore_output();
        let (status, _) = request(&authority, "GET", "/health", None, None).await?;
        let start_took = started.elapsed();
        if status != 200 {
            return unexpected(format!("/health answered {status}"));
        }
        let owner_file = data.join("owner.token");
        let owner =
            std::fs::read_to_string(&owner_file).context(format!("reading {}", owner_file.display()))?;
        Ok(Self {
            authority,
            owner_token: owner.trim().to_owned(),
            start_duration: start_took,
            process,
            folder,
        })
    }

    /// Returns the process id.
    pub(crate) fn pid(&self) -> u32 {
        self.process.pid()
    }

    /// Returns the size of the log, in bytes.
    pub(crate) fn log_bytes(&self) -> u64 {
        std::fs::metadata(self.folder.path().join(LOG_FILE)).map_or(0, |log| log.len())
    }

    /// Returns the number of runtime workers, if `/api/status` contains it.
    pub(crate) async fn workers(&self) -> Option<usize> {
        #[derive(Deserialize)]
        struct ReportedStatus {
            workers: Option<usize>,
        }
        let asked = request(&self.authority, "GET", "/api/status", Some(&self.owner_token), None).await;
        let (_, body) = asked.ok()?;
        serde_json::from_str::<ReportedStatus>(&body).ok()?.workers
    }

    /// Creates tokens with the role `device`, enough for this number of sources. The token of source `n` is
    /// at `n / SOURCES_PER_TOKEN`.
    pub(crate) async fn create_device_tokens(&self, sources: usize) -> Result<Vec<String>> {
        let count = sources.div_ceil(SOURCES_PER_TOKEN);
        let making = (0..count)
            .map(|number| async move { self.create_token("device", &format!("load {number}")).await });
        stream::iter(making).buffered(TOKENS_AT_ONCE).try_collect().await
    }

    /// Creates a token with this role.
    pub(crate) async fn create_token(&self, role: &str, label: &str) -> Result<String> {
        #[derive(Deserialize)]
        struct CreatedToken {
            token: String,
        }
        let body = json!({"role": role, "label": label}).to_string();
        let (status, answer) =
            request(&self.authority, "POST", "/api/tokens", Some(&self.owner_token), Some(&body)).await?;
        if !(200..300).contains(&status) {
            return unexpected(format!("POST /api/tokens answered {status}: {answer}"));
        }
        Ok(serde_json::from_str::<CreatedToken>(&answer)
            .context("reading the answer of POST /api/tokens")?
            .token)
    }

    /// Kills the gateway and removes its folder.
    pub(crate) async fn kill(self) -> Result<()> {
        self.process.kill().await
    }

    /// Terminates the gateway and returns its folder.
    pub(crate) async fn terminate(self) -> Result<TempDir> {
        self.process.terminate().await?;
        Ok(self.folder)
    }
}

/// Creates a temporary folder for a gateway or for logs.
pub(crate) fn create_data_folder() -> Result<TempDir> {
    tempfile::Builder::new().prefix("toolway-load-").tempdir().context("making a folder")
}
