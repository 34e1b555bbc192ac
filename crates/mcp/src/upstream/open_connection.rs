//! Opens a connection according to a definition: the transport, and the handshake over it.

use std::collections::BTreeMap;
use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

use http::StatusCode;
use parking_lot::Mutex;
use secrecy::SecretString;
use tokio::time::timeout;

use super::client_group::ServedClients;
use super::connection::UpstreamConnection;
use super::error::UpstreamError;
use super::handshake::perform_handshake;
use super::secrets::resolve_values;
use super::server_context::ServerContext;
use super::transport::McpTransport;
use super::transport::endpoint::HttpEndpoint;
use super::transport::http::StreamableHttpTransport;
use super::transport::process::{self, LaunchCommand, ServerProcess, exit_message};
use super::transport::sse::{self, SseTransport};
use super::transport::stdio::{self, StdioTransport};
use crate::definition::{EraMode, TransportMode};
use crate::protocol_era::ProtocolEra;

/// Time to wait for the exit status of a program.
const EXIT_REASON_TIMEOUT: Duration = Duration::from_millis(300);
/// Timeout for ending an MCP session.
const END_SESSION_TIMEOUT: Duration = Duration::from_secs(1);

/// A connection, and the process and task that end with it.
pub(super) struct OpenConnection {
    connection: Arc<UpstreamConnection>,
    process: Mutex<Option<ServerProcess>>,
    /// The task that transports messages.
    _pump: Option<PumpTask>,
}

/// A task that ends with its connection.
struct PumpTask(tokio::task::JoinHandle<()>);

impl Drop for PumpTask {
    fn drop(&mut self) {
        self.0.abort();
    }
}

/// Connects to a server. `is_old` is true if the server is known to be of the older era, and is updated.
pub(super) async fn open_connection(
    server: &Arc<ServerContext>,
    served: ServedClients,
    is_old: &mut bool,
) -> Result<OpenConnection, UpstreamError> {
    let definition = server.definition();
    match (&definition.command, &definition.url) {
        (Some(command), None) => open_program(server, served, command.clone(), is_old).await,
        (None, Some(url)) => open_address(server, served, url).await,
        _ => Err(UpstreamError::InvalidDefinition(
            "it has neither a command nor an address, or both".to_owned(),
        )),
    }
}

/// Returns true if the connection must be of the older era.
fn needs_older_era(server: &ServerContext, served: ServedClients) -> bool {
    served == ServedClients::Older || server.definition().era == EraMode::Older
}

async fn open_program(
    server: &Arc<ServerContext>,
    served: ServedClients,
    command: String,
    is_old: &mut bool,
) -> Result<OpenConnection, UpstreamError> {
    let parts = server.deps();
    let definition = server.definition();
    let own = resolve_secrets(server, &definition.env).await?;
    let base = parts.environment.iter().filter(|(name, _)| !definition.env.contains_key(*name));
    let base = base.map(|(name, value)| (name.clone(), value.clone().into()));
    let folder = definition.cwd.as_deref().map_or_else(PathBuf::new, PathBuf::from);
    if definition.cwd.is_none() {
        // The default is the gateway's own folder. If it can't be created, starting the program fails with a message.
        let _ = tokio::fs::create_dir_all(&parts.folder).await;
    }
    let launch = LaunchCommand {
        command,
        args: definition.args.clone(),
        environment: base.chain(own).collect(),
        folder: parts.folder.join(folder),
    };
    let (mut process, stdin, stdout) = ServerProcess::start(&launch)?;
    if let Some(stderr) = process.take_stderr() {
        // The task ends when no process holds the pipe any more.
        tokio::spawn(process::log_stderr(stderr, Arc::clone(server.log())));
    }
    let (pipes, ends) = StdioTransport::new(stdout, stdin, parts.settings.max_message_bytes);
    let connection = UpstreamConnection::new(Arc::clone(server), served, McpTransport::Stdio(pipes));
    let pump = spawn_pump(&connection, stdio::pump(Arc::clone(&connection), ends));
    let opened = OpenConnection { connection, process: Mutex::new(Some(process)), _pump: Some(pump) };
    let skips_discover = *is_old || needs_older_era(server, served);
    let shaken = perform_handshake(&opened.connection, parts.settings.probe_timeout, skips_discover).await;
    match shaken {
        Ok(settled) => {
            *is_old = settled.era == ProtocolEra::Handshake && *is_old;
            Ok(opened)
        }
        Err(fault) => {
            let fault = if opened.connection.is_closed() {
                opened.close_reason(&opened.connection).await
            } else {
                fault
            };
            // A server that exits over an unknown message gets the older handshake next time.
            *is_old = opened.connection.is_closed() && !*is_old;
            opened.close(parts.settings.stop_timeout).await;
            Err(fault)
        }
    }
}

async fn open_address(
    server: &Arc<ServerContext>,
    served: ServedClients,
    url: &str,
) -> Result<OpenConnection, UpstreamError> {
    let parts = server.deps();
    let definition = server.definition();
    let make = Arc::clone(&parts.http);
    let client = tokio::task::spawn_blocking(move || make()).await;
    let client = client.unwrap_or_else(|error| Err(error.to_string()));
    let client =
        client.map_err(|error| UpstreamError::InvalidDefinition(format!("TLS can't be set up: {error}")))?;
    let headers = resolve_secrets(server, &definition.headers).await?;
    let at = || {
        let (slug, authorizer) = (server.slug().clone(), Arc::clone(&parts.authorizer));
        HttpEndpoint::new(client.clone(), url, headers.clone(), slug, authorizer)
    };
    let limit = parts.settings.max_message_bytes;
    let mut refusal = None;
    if definition.transport != TransportMode::Sse {
        let transport = McpTransport::StreamableHttp(StreamableHttpTransport::new(at()?, limit));
        let connection = UpstreamConnection::new(Arc::clone(server), served, transport);
        let skips_discover = needs_older_era(server, served);
        match perform_handshake(&connection, parts.settings.probe_timeout, skips_discover).await {
            Ok(_) => return Ok(OpenConnection { connection, process: Mutex::default(), _pump: None }),
            // The response of an older server to a POST.
            Err(
                fault @ UpstreamError::Status(
                    StatusCode::BAD_REQUEST | StatusCode::NOT_FOUND | StatusCode::METHOD_NOT_ALLOWED,
                    _,
                ),
            ) if definition.transport == TransportMode::Auto
                && served == ServedClients::All
                && connection.negotiated().is_none() =>
            {
                refusal = Some(fault);
            }
            Err(fault) => return Err(fault),
        }
    }
    let (sse, messages) = match SseTransport::open(at()?, limit).await {
        Ok(opened) => opened,
        // The first refusal is the cause; the server does not have the older transport either.
        Err(fault @ UpstreamError::Status(..)) => return Err(refusal.unwrap_or(fault)),
        Err(fault) => return Err(fault),
    };
    let connection = UpstreamConnection::new(Arc::clone(server), served, McpTransport::Sse(sse));
    let pump = spawn_pump(&connection, sse::pump(Arc::clone(&connection), messages));
    perform_handshake(&connection, parts.settings.probe_timeout, true).await?;
    Ok(OpenConnection { connection, process: Mutex::default(), _pump: Some(pump) })
}

/// Spawns the message transport of a connection. The connection closes when it ends.
fn spawn_pump(
    connection: &Arc<UpstreamConnection>,
    pump: impl Future<Output = UpstreamError> + Send + 'static,
) -> PumpTask {
    let connection = Arc::clone(connection);
    PumpTask(tokio::spawn(async move {
        let fault = tokio::select! {
            fault = pump => fault,
            () = connection.closed() => return,
        };
        connection.fail(fault);
    }))
}

impl OpenConnection {
    pub(super) fn connection(&self) -> &Arc<UpstreamConnection> {
        &self.connection
    }

    /// Listens to the notifications of a server at an address, if its transport needs that.
    pub(super) async fn listen(&self) -> UpstreamError {
        match self.connection.transport() {
            McpTransport::StreamableHttp(http) if !self.connection.is_stateless() => {
                let fault = http.listen(&self.connection).await;
                // A server without such a stream may refuse it like an unknown session. Another request tells. If the
                // session is lost, that request closes the connection.
                let limit = self.connection.server().deps().settings.request_timeout;
                let ping = timeout(limit, self.connection.request_own("ping", None, "")).await;
                match ping {
                    Ok(Err(UpstreamError::SessionExpired(_))) => fault,
                    _ => std::future::pending().await,
                }
            }
            _ => std::future::pending().await,
        }
    }

    /// The reason why a connection is closed. The exit status of a program says more than the end of its pipes.
    pub(super) async fn close_reason(&self, connection: &UpstreamConnection) -> UpstreamError {
        let process = self.process.lock().take();
        let Some(mut process) = process else { return connection.fault() };
        let ended = timeout(EXIT_REASON_TIMEOUT, process.wait()).await;
        *self.process.lock() = Some(process);
        let Ok(status) = ended else { return connection.fault() };
        let how = exit_message(status);
        UpstreamError::ConnectionLost(match connection.server().log().reason() {
            Some(line) => format!("{how}; it last said: {line}"),
            None => how,
        })
    }

    /// Ends the MCP session of a server at an address.
    pub(super) async fn end_session(&self) {
        if let McpTransport::StreamableHttp(http) = self.connection.transport() {
            // The server may ignore this; its session then expires.
            let _ = timeout(END_SESSION_TIMEOUT, http.end_session()).await;
        }
    }

    /// Closes the connection.
    pub(super) async fn close(self, within: Duration) {
        // Dropping the task closes the program's input.
        drop(self._pump);
        let process = self.process.lock().take();
        if let Some(process) = process {
            process.terminate(within).await;
        }
    }
}

/// The environment or headers of a server, with their secrets resolved.
async fn resolve_secrets(
    server: &ServerContext,
    values: &BTreeMap<String, String>,
) -> Result<Vec<(String, SecretString)>, UpstreamError> {
    let resolved = resolve_values(&server.deps().secrets, values).await;
    resolved.map_err(UpstreamError::InvalidDefinition)
}
