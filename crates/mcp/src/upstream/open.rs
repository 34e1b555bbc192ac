//! Opens a connection as a definition says: what carries it, and the handshake over it.

use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

use parking_lot::Mutex;
use tokio::time::timeout;

use super::carrier::Carrier;
use super::carrier::address::Address;
use super::carrier::http::Http;
use super::carrier::pipes::{self, Pipes};
use super::carrier::process::{self, Launch, Process, how_it_ended};
use super::carrier::sse::{self, Sse};
use super::connection::Connection;
use super::fault::Fault;
use super::handshake::shake;
use super::log::Log;
use super::run::with_secrets;
use super::server::Upstream;
use super::status::Era;
use crate::definition::Transport;

/// How long the reason is waited for that a program ended for.
const REASON: Duration = Duration::from_millis(300);
/// How long a server may take to be told that an MCP session is over.
const GOODBYE: Duration = Duration::from_secs(1);

/// A connection, and what has to end with it.
pub(super) struct Opened {
    connection: Arc<Connection>,
    process: Mutex<Option<Process>>,
    /// Carries messages while it is there.
    _pump: Option<Pump>,
}

/// A task that ends with its connection.
struct Pump(tokio::task::JoinHandle<()>);

impl Drop for Pump {
    fn drop(&mut self) {
        self.0.abort();
    }
}

/// Connects. `is_old` is what is known of the server's era, and is learnt.
pub(super) async fn open(upstream: &Arc<Upstream>, is_old: &mut bool) -> Result<Opened, Fault> {
    let definition = upstream.definition();
    match (&definition.command, &definition.url) {
        (Some(command), None) => program(upstream, command.clone(), is_old).await,
        (None, Some(url)) => address(upstream, url).await,
        _ => Err(Fault::Definition("it has neither a command nor an address, or both".to_owned())),
    }
}

async fn program(upstream: &Arc<Upstream>, command: String, is_old: &mut bool) -> Result<Opened, Fault> {
    let parts = upstream.parts();
    let definition = upstream.definition();
    let own = with_secrets(upstream, &definition.env).await?;
    let base = parts.environment.iter().filter(|(name, _)| !definition.env.contains_key(*name));
    let base = base.map(|(name, value)| (name.clone(), value.clone().into()));
    let folder = definition.cwd.as_deref().map_or_else(PathBuf::new, PathBuf::from);
    if definition.cwd.is_none() {
        // Where nothing is said it is the gateway's own folder. That it can't be made is said where it is missing.
        let _ = tokio::fs::create_dir_all(&parts.folder).await;
    }
    let launch = Launch {
        command,
        args: definition.args.clone(),
        environment: base.chain(own).collect(),
        folder: parts.folder.join(folder),
    };
    let (mut process, stdin, stdout) = Process::start(&launch)?;
    if let Some(stderr) = process.complaints() {
        // It ends with the program, or with whoever holds the pipe after it.
        tokio::spawn(process::follow(stderr, LogOf(Arc::clone(upstream))));
    }
    let (pipes, ends) = Pipes::new(stdout, stdin);
    let connection = Connection::new(Arc::clone(upstream), Carrier::Pipes(pipes));
    let pump = spawn(&connection, pipes::pump(Arc::clone(&connection), ends));
    let opened = Opened { connection, process: Mutex::new(Some(process)), _pump: Some(pump) };
    let shaken = shake(&opened.connection, parts.settings.probe, *is_old).await;
    match shaken {
        Ok(settled) => {
            *is_old = settled.era == Era::Handshake && *is_old;
            Ok(opened)
        }
        Err(fault) => {
            let fault =
                if opened.connection.is_closed() { opened.why(&opened.connection).await } else { fault };
            // One that ends over a message that it does not know is asked in the older way next time.
            *is_old = opened.connection.is_closed() && !*is_old;
            opened.close(parts.settings.stop).await;
            Err(fault)
        }
    }
}

async fn address(upstream: &Arc<Upstream>, url: &str) -> Result<Opened, Fault> {
    let parts = upstream.parts();
    let definition = upstream.definition();
    let make = Arc::clone(&parts.http);
    let client = tokio::task::spawn_blocking(move || make()).await;
    let client = client.unwrap_or_else(|error| Err(error.to_string()));
    let client = client.map_err(|error| Fault::Definition(format!("TLS can't be set up: {error}")))?;
    let headers = with_secrets(upstream, &definition.headers).await?;
    let at = || {
        let (slug, authorizer) = (upstream.slug().clone(), Arc::clone(&parts.authorizer));
        Address::new(client.clone(), url, headers.clone(), slug, authorizer)
    };
    let limit = parts.settings.message_bytes;
    if definition.transport != Transport::Sse {
        let carrier = Carrier::Http(Http::new(at()?, limit));
        let connection = Connection::new(Arc::clone(upstream), carrier);
        match shake(&connection, parts.settings.probe, false).await {
            Ok(_) => return Ok(Opened { connection, process: Mutex::default(), _pump: None }),
            // What an older server says to a POST.
            Err(Fault::Status(status, _))
                if definition.transport == Transport::Auto && matches!(status.as_u16(), 400 | 404 | 405) => {}
            Err(fault) => return Err(fault),
        }
    }
    let (sse, messages) = match Sse::open(at()?, limit).await {
        Ok(opened) => opened,
        Err(Fault::Status(status, said)) => return Err(Fault::Status(status, said)),
        Err(fault) => return Err(fault),
    };
    let connection = Connection::new(Arc::clone(upstream), Carrier::Sse(sse));
    let pump = spawn(&connection, sse::pump(Arc::clone(&connection), messages));
    shake(&connection, parts.settings.probe, true).await?;
    Ok(Opened { connection, process: Mutex::default(), _pump: Some(pump) })
}

/// Carries messages for a connection, which ends with that.
fn spawn(connection: &Arc<Connection>, pump: impl Future<Output = Fault> + Send + 'static) -> Pump {
    let connection = Arc::clone(connection);
    Pump(tokio::spawn(async move {
        let fault = tokio::select! {
            fault = pump => fault,
            () = connection.closed() => return,
        };
        connection.fail(fault);
    }))
}

impl Opened {
    pub(super) fn connection(&self) -> &Arc<Connection> {
        &self.connection
    }

    /// Listens to what a server at an address says by itself, where it needs to be listened to.
    pub(super) async fn listen(&self) -> Fault {
        match self.connection.carrier() {
            Carrier::Http(http) if !self.connection.is_stateless() => http.listen(&self.connection).await,
            _ => std::future::pending().await,
        }
    }

    /// Why a connection is of no use any more: a program's end says more than that of its pipes.
    pub(super) async fn why(&self, connection: &Connection) -> Fault {
        let process = self.process.lock().take();
        let Some(mut process) = process else { return connection.fault() };
        let ended = timeout(REASON, process.ended()).await;
        *self.process.lock() = Some(process);
        let Ok(status) = ended else { return connection.fault() };
        let how = how_it_ended(status);
        Fault::Lost(match connection.upstream().log().last() {
            Some(line) => format!("{how}; it last said: {line}"),
            None => how,
        })
    }

    /// Tells a server at an address that its MCP session is over.
    pub(super) async fn say_goodbye(&self) {
        if let Carrier::Http(http) = self.connection.carrier() {
            // One that does not listen will find out.
            let _ = timeout(GOODBYE, http.end()).await;
        }
    }

    /// Ends it.
    pub(super) async fn close(self, within: Duration) {
        // This closes the program's input.
        drop(self._pump);
        let process = self.process.lock().take();
        if let Some(process) = process {
            process.end(within).await;
        }
    }
}

/// The log of a server.
struct LogOf(Arc<Upstream>);

impl AsRef<Log> for LogOf {
    fn as_ref(&self) -> &Log {
        self.0.log()
    }
}
