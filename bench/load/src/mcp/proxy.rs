//! The `mcp-proxy` of crates.io in front of the bare server, if its executable is given.

use std::net::{Ipv4Addr, TcpListener};
use std::path::Path;
use std::time::Duration;

use tempfile::TempDir;
use tokio::time::{Instant, sleep};

use super::request::McpEndpoint;
use super::server::BareServerProcess;
use crate::error::{ErrorContext, Result, unexpected};
use crate::gateway::create_data_folder;
use crate::http::request;
use crate::process::{ChildProcess, ChildProgram};

/// Name of the server in the proxy; its tools' names start with this and a slash.
pub(crate) const BACKEND: &str = "rmcp";
const READY_LIMIT: Duration = Duration::from_secs(20);
const POLL_INTERVAL: Duration = Duration::from_millis(50);

/// The proxy as a process.
#[derive(Debug)]
pub(crate) struct ReferenceProxyProcess {
    authority: String,
    process: ChildProcess,
    _folder: TempDir,
}

impl ReferenceProxyProcess {
    /// Starts the executable at `path` in front of `server`, with its default options.
    pub(crate) async fn start(path: &Path, server: &BareServerProcess) -> Result<Self> {
        if !path.is_file() {
            return unexpected(format!("there is no mcp-proxy at {}", path.display()));
        }
        let folder = create_data_folder()?;
        // It does not support port 0, so a free port is searched.
        let port = TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).and_then(|listener| listener.local_addr());
        let port = port.context("finding a free port for mcp-proxy")?.port();
        let config = format!(
            "[proxy]\nname = \"load\"\n[proxy.listen]\nhost = \"127.0.0.1\"\nport = {port}\n\
             [observability]\nlog_level = \"error\"\n\
             [[backends]]\nname = \"{BACKEND}\"\ntransport = \"http\"\nurl = \"{}\"\n",
            server.url()
        );
        let file = folder.path().join("proxy.toml");
        std::fs::write(&file, config).context("writing the configuration of mcp-proxy")?;
        let program = ChildProgram {
            name: "mcp-proxy",
            path: path.to_owned(),
            args: vec!["--config".to_owned(), file.display().to_string()],
            env: Vec::new(),
            log: folder.path().join("mcp-proxy.log"),
            open_files: 1024,
        };
        let mut process = ChildProcess::start(&program)?;
        process.ignore_output();
        let authority = format!("127.0.0.1:{port}");
        let end = Instant::now() + READY_LIMIT;
        loop {
            match request(&authority, "GET", "/health", None, None).await {
                Ok(_) => return Ok(Self { authority, process, _folder: folder }),
                Err(failure) if Instant::now() >= end => return Err(process.with_log_tail(&failure)),
                Err(_) => sleep(POLL_INTERVAL).await,
            }
        }
    }

    /// Returns its MCP endpoint.
    pub(crate) fn endpoint(&self) -> McpEndpoint {
        McpEndpoint { authority: self.authority.clone(), path: "/".to_owned(), token: None }
    }

    /// Returns the process id.
    pub(crate) fn pid(&self) -> u32 {
        self.process.pid()
    }

    /// Kills the process.
    pub(crate) async fn kill(self) -> Result<()> {
        self.process.kill().await
    }
}
