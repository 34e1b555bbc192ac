//! Forwards messages between an MCP client on standard input and output and the gateway. Reconnects to the
//! gateway, and stops when the client disconnects.

use std::collections::VecDeque;
use std::future::Future;
use std::pin::Pin;
use std::time::Duration;

use tokio::sync::mpsc;
use tokio::time::Instant;

use super::connection::{BridgeConnection, ConnectionEvent};
use super::session::BridgeSession;
use super::streams::{self, ClientLine, StdoutWriter};
use super::token::{self, BridgeToken};
use super::{StdioArgs, message};
use crate::client::{GatewayAddress, GatewayClient};
use crate::context::CliContext;
use crate::error::{CliError, CliResult};
use crate::print::escape;
use crate::signals::{ProcessSignal, SignalListener};

/// Timeout of one connection attempt.
const CONNECT_TIMEOUT: Duration = Duration::from_secs(10);
/// Maximum time for reconnecting after the connection was lost.
const RECONNECT_TIMEOUT: Duration = Duration::from_secs(60);
/// First and longest delay between connection attempts.
const RECONNECT_BACKOFF: (Duration, Duration) = (Duration::from_millis(250), Duration::from_secs(5));
/// Minimum time between a failed first connection attempt and the next one, which a client's message starts.
const RETRY_INTERVAL: Duration = Duration::from_secs(1);
/// Maximum time for finishing running requests, and for writing each remaining message, after the client has
/// closed standard input.
const FLUSH_TIMEOUT: Duration = Duration::from_secs(5);
/// Maximum number of client lines that wait to be forwarded.
const MAX_WAITING: usize = 256;
/// Codes of errors that a retry may fix. All other errors need the user.
const TRANSIENT_CODES: [&str; 7] = [
    "not_running",
    "unreachable",
    "connection_lost",
    "shutting_down",
    "too_many_connections",
    "too_many_failures",
    "too_many_mcp_sessions",
];

/// A connection attempt.
type ConnectFuture<'a> = Pin<Box<dyn Future<Output = CliResult<BridgeConnection>> + 'a>>;

/// State of the connection to the gateway.
enum GatewayState<'a> {
    /// First attempt, or a later attempt without an earlier connection.
    Connecting(ConnectFuture<'a>),
    Connected(BridgeConnection),
    /// The connection was lost and is being restored.
    Reconnecting {
        until: Instant,
        tries: u32,
        next: ReconnectAttempt<'a>,
    },
    /// There was no connection yet, and the last attempt failed.
    Unavailable {
        failure: CliError,
        since: Instant,
    },
}

/// Next attempt to reconnect.
enum ReconnectAttempt<'a> {
    Scheduled(Instant),
    Running(ConnectFuture<'a>),
}

struct StdioBridge<'a> {
    args: &'a StdioArgs,
    context: &'a CliContext,
    session: BridgeSession,
    gateway: GatewayState<'a>,
    /// Client lines that wait for a connection, or until earlier messages are sent.
    waiting_lines: VecDeque<String>,
    to_gateway: VecDeque<String>,
    to_client: VecDeque<String>,
    /// Time to stop even if requests are still running. Set when the client closes standard input, and by a stop
    /// signal.
    shutdown_deadline: Option<Instant>,
}

/// Event that the bridge handles.
enum BridgeEvent {
    ClientLine(Option<ClientLine>),
    Stop,
    Connected(CliResult<BridgeConnection>),
    FromGateway(ConnectionEvent),
    SentToGateway,
    SentToClient,
    ClientGone,
    Timer,
}

/// Runs the bridge until the client disconnects or a signal stops it.
pub(super) async fn run(args: &StdioArgs, context: &CliContext) -> CliResult {
    let mut lines = streams::spawn_stdin_reader()?;
    let mut signals = SignalListener::new()?;
    let output = StdoutWriter::stdout()?;
    let mut bridge = StdioBridge {
        args,
        context,
        session: BridgeSession::default(),
        gateway: GatewayState::Connecting(Box::pin(connect(args, context, true))),
        waiting_lines: VecDeque::new(),
        to_gateway: VecDeque::new(),
        to_client: VecDeque::new(),
        shutdown_deadline: None,
    };
    let done = bridge.serve(&mut lines, &mut signals, &output.sender).await;
    while let Some(message) = bridge.to_client.pop_front() {
        if tokio::time::timeout(FLUSH_TIMEOUT, output.sender.send(message)).await.is_err() {
            break;
        }
    }
    if let GatewayState::Connected(connection) = bridge.gateway {
        connection.close().await;
    }
    output.close().await;
    done
}

impl<'a> StdioBridge<'a> {
    async fn serve(
        &mut self,
        lines: &mut mpsc::Receiver<ClientLine>,
        signals: &mut SignalListener,
        output: &mpsc::Sender<String>,
    ) -> CliResult {
        loop {
            self.forward_lines();
            if self.is_done() {
                return self.finish();
            }
            let event = self.next_event(lines, signals, output).await;
            match event {
                BridgeEvent::ClientLine(Some(line)) => self.handle_line(line),
                BridgeEvent::ClientLine(None) | BridgeEvent::Stop => self.begin_shutdown(),
                BridgeEvent::Connected(Ok(connection)) => self.handle_connected(connection),
                BridgeEvent::Connected(Err(failure)) => self.handle_connect_error(failure)?,
                BridgeEvent::FromGateway(ConnectionEvent::Message(text)) => {
                    match self.session.forward_from_gateway(&text) {
                        Ok(passed) => {
                            self.to_gateway.extend(passed.to_gateway);
                            self.to_client.extend(passed.to_client);
                        }
                        Err(failure) => return Err(self.fail_waiting(failure)),
                    }
                }
                BridgeEvent::FromGateway(ConnectionEvent::Lost(why)) => self.handle_connection_lost(&why),
                BridgeEvent::SentToGateway | BridgeEvent::SentToClient => {}
                BridgeEvent::ClientGone => return Ok(()),
                BridgeEvent::Timer => self.handle_timer(),
            }
        }
    }

    /// Waits for the next event. Reads nothing while earlier messages still wait to be forwarded.
    async fn next_event(
        &mut self,
        lines: &mut mpsc::Receiver<ClientLine>,
        signals: &mut SignalListener,
        output: &mpsc::Sender<String>,
    ) -> BridgeEvent {
        let is_reading = self.shutdown_deadline.is_none()
            && self.waiting_lines.len() < MAX_WAITING
            && self.to_client.is_empty();
        let wake = self.next_wake();
        let (connecting, connection) = match &mut self.gateway {
            GatewayState::Connecting(connecting) => (Some(connecting), None),
            GatewayState::Reconnecting { next: ReconnectAttempt::Running(connecting), .. } => {
                (Some(connecting), None)
            }
            GatewayState::Connected(connection) => (None, Some(connection)),
            GatewayState::Reconnecting { .. } | GatewayState::Unavailable { .. } => (None, None),
        };
        let (to_gateway, to_client) = (&mut self.to_gateway, &mut self.to_client);
        let is_free = to_client.is_empty();
        let gateway = async move {
            match (connecting, connection) {
                (Some(connecting), _) => BridgeEvent::Connected(connecting.await),
                (None, Some(connection)) => exchange(connection, to_gateway, is_free).await,
                (None, None) => std::future::pending().await,
            }
        };
        tokio::select! {
            event = gateway => event,
            permit = output.reserve(), if !is_free => match permit {
                Ok(permit) => {
                    if let Some(message) = to_client.pop_front() {
                        permit.send(message);
                    }
                    BridgeEvent::SentToClient
                }
                Err(_) => BridgeEvent::ClientGone,
            },
            line = lines.recv(), if is_reading => BridgeEvent::ClientLine(line),
            signal = signals.next_signal(), if self.shutdown_deadline.is_none() => match signal {
                ProcessSignal::Stop => BridgeEvent::Stop,
                // The bridge has no settings to reload.
                ProcessSignal::Reload => BridgeEvent::Timer,
            },
            () = output.closed() => BridgeEvent::ClientGone,
            () = tokio::time::sleep_until(wake.unwrap_or_else(Instant::now)), if wake.is_some() => BridgeEvent::Timer,
        }
    }

    /// Returns the time of the next timer: a connection attempt or the shutdown deadline.
    fn next_wake(&self) -> Option<Instant> {
        let next = match &self.gateway {
            GatewayState::Reconnecting { next: ReconnectAttempt::Scheduled(at), .. } => Some(*at),
            _ => None,
        };
        [next, self.shutdown_deadline].into_iter().flatten().min()
    }

    fn handle_line(&mut self, line: ClientLine) {
        match line {
            ClientLine::Text(text) => self.waiting_lines.push_back(text),
            ClientLine::TooLong => {
                let text = format!("the message is larger than {} bytes", streams::MAX_LINE);
                self.to_client.push_back(message::parse_error_response(&text));
            }
        }
    }

    /// Forwards waiting lines as far as the gateway can receive them.
    fn forward_lines(&mut self) {
        match &self.gateway {
            GatewayState::Connected(connection) => {
                let limit = connection.message_bytes;
                while self.to_gateway.is_empty() && self.to_client.is_empty() {
                    let Some(line) = self.waiting_lines.pop_front() else { return };
                    if line.len() > limit {
                        let failure = CliError::new(format!(
                            "the message has {} bytes, but the gateway accepts at most {limit}",
                            line.len()
                        ))
                        .with_code("too_long")
                        .with_hint(
                            "send a smaller message, or raise the gateway's setting limits.frame_bytes",
                        );
                        self.to_client.extend(message::error_responses(&line, &failure));
                        continue;
                    }
                    self.to_gateway.extend(self.session.forward_from_client(&line));
                }
            }
            GatewayState::Unavailable { since, .. }
                if !self.waiting_lines.is_empty() && since.elapsed() >= RETRY_INTERVAL =>
            {
                self.gateway = GatewayState::Connecting(Box::pin(connect(self.args, self.context, true)));
            }
            GatewayState::Unavailable { failure, .. } => {
                let answers =
                    self.waiting_lines.iter().filter_map(|line| message::error_responses(line, failure));
                self.to_client.extend(answers);
                self.waiting_lines.clear();
            }
            GatewayState::Connecting(_) | GatewayState::Reconnecting { .. } => {}
        }
    }

    fn handle_connected(&mut self, connection: BridgeConnection) {
        if matches!(self.gateway, GatewayState::Reconnecting { .. }) {
            self.context.printer.note("reconnected to the gateway");
        }
        self.gateway = GatewayState::Connected(connection);
        self.to_gateway = self.session.replay_messages().into();
    }

    /// Handles a failed connection attempt.
    fn handle_connect_error(&mut self, failure: CliError) -> CliResult {
        let now = Instant::now();
        match &mut self.gateway {
            GatewayState::Reconnecting { until, tries, next }
                if now < *until && TRANSIENT_CODES.contains(&failure.code()) =>
            {
                *tries += 1;
                let (first, longest) = RECONNECT_BACKOFF;
                *next = ReconnectAttempt::Scheduled(
                    now + first.saturating_mul(1 << (*tries).min(8)).min(longest),
                );
                Ok(())
            }
            GatewayState::Reconnecting { .. } => Err(self.fail_waiting(failure)),
            _ => {
                failure.print(self.context.printer.stderr(), self.context.printer.json);
                self.gateway = GatewayState::Unavailable { failure, since: now };
                Ok(())
            }
        }
    }

    /// Handles a lost connection: starts to reconnect.
    fn handle_connection_lost(&mut self, why: &str) {
        let text = format!("the connection to the gateway was lost: {}; reconnecting", escape::line(why));
        self.context.printer.note(&text);
        self.to_gateway.clear();
        self.to_client.extend(self.session.handle_connection_lost());
        let now = Instant::now();
        self.gateway = GatewayState::Reconnecting {
            until: now + RECONNECT_TIMEOUT,
            tries: 0,
            next: ReconnectAttempt::Scheduled(now + RECONNECT_BACKOFF.0),
        };
    }

    fn handle_timer(&mut self) {
        if let GatewayState::Reconnecting { next, .. } = &mut self.gateway
            && matches!(next, ReconnectAttempt::Scheduled(at) if *at <= Instant::now())
        {
            *next = ReconnectAttempt::Running(Box::pin(connect(self.args, self.context, false)));
        }
    }

    /// Answers all pending and waiting requests with an error, because the bridge stops.
    fn fail_waiting(&mut self, failure: CliError) -> CliError {
        self.to_client.extend(self.session.fail_pending(&failure));
        let answers = self.waiting_lines.iter().filter_map(|line| message::error_responses(line, &failure));
        self.to_client.extend(answers);
        self.waiting_lines.clear();
        failure
    }

    fn begin_shutdown(&mut self) {
        self.shutdown_deadline.get_or_insert_with(|| Instant::now() + FLUSH_TIMEOUT);
    }

    /// Returns true if the client is done and all its requests are finished, or if the shutdown deadline has
    /// passed.
    fn is_done(&self) -> bool {
        let Some(deadline) = self.shutdown_deadline else { return false };
        let is_forwarded =
            self.waiting_lines.is_empty() && self.to_gateway.is_empty() && self.to_client.is_empty();
        (is_forwarded && self.session.is_idle()) || deadline <= Instant::now()
    }

    /// Returns the result of the program after [`Self::is_done`].
    fn finish(&mut self) -> CliResult {
        match &self.gateway {
            GatewayState::Unavailable { .. } => Err(CliError::already_reported()),
            GatewayState::Connected(_) => Ok(()),
            GatewayState::Connecting(_) | GatewayState::Reconnecting { .. }
                if self.waiting_lines.is_empty() =>
            {
                Ok(())
            }
            GatewayState::Connecting(_) | GatewayState::Reconnecting { .. } => Err(self
                .fail_waiting(CliError::new("the gateway did not respond in time").with_code("unreachable"))),
        }
    }
}

/// Sends one message to the gateway or receives one, whichever is possible first. Receives only if `is_free`: then no
/// message waits for the client.
async fn exchange(
    connection: &mut BridgeConnection,
    to_gateway: &mut VecDeque<String>,
    is_free: bool,
) -> BridgeEvent {
    let to = connection.outgoing.clone();
    tokio::select! {
        permit = to.reserve(), if !to_gateway.is_empty() => {
            if let (Ok(permit), Some(message)) = (permit, to_gateway.pop_front()) {
                permit.send(message);
            } else {
                // The writer has stopped; reading returns the reason.
                return BridgeEvent::FromGateway(connection.next_event().await);
            }
            BridgeEvent::SentToGateway
        }
        event = connection.next_event(), if is_free => BridgeEvent::FromGateway(event),
        else => std::future::pending().await,
    }
}

/// Finds the gateway and connects to it. If `may_renew` is true and the gateway rejects a token that this program
/// created, creates a new token and tries once more.
async fn connect(args: &StdioArgs, context: &CliContext, may_renew: bool) -> CliResult<BridgeConnection> {
    let attempt = async {
        let place = GatewayAddress::find(&args.connect, context)?;
        let token = token::find_token(args, &place, context).await?;
        match open_connection(args, &place, &token).await {
            Err(failure) if may_renew && token.is_automatic && is_token_refused(&failure) => {
                let token = token::renew_token(&token, &place, context).await?;
                open_connection(args, &place, &token).await
            }
            result => result,
        }
    };
    tokio::time::timeout(CONNECT_TIMEOUT, attempt).await.unwrap_or_else(|_| {
        Err(CliError::new("the gateway did not respond in time")
            .with_code("unreachable")
            .with_hint("check the gateway's log, or run `toolway doctor`"))
    })
}

fn is_token_refused(failure: &CliError) -> bool {
    matches!(failure.code(), "token_revoked" | "token_unknown" | "token_expired")
}

async fn open_connection(
    args: &StdioArgs,
    place: &GatewayAddress,
    token: &BridgeToken,
) -> CliResult<BridgeConnection> {
    let target = place.clone().with_token(token.secret.clone(), token.location.clone());
    let mut query: Vec<(&str, String)> = args.only.iter().map(|glob| ("only", glob.clone())).collect();
    query.extend(args.agent.iter().map(|agent| ("agent", agent.clone())));
    if args.read_only {
        query.push(("read_only", "true".to_owned()));
    }
    let socket = GatewayClient::new(target)?.websocket(&["ws", "mcp"], &query).await?;
    Ok(BridgeConnection::from_websocket(socket))
}
