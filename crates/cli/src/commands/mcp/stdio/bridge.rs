//! The program itself: lines of the client to the gateway, messages of the gateway to the client, and what happens when
//! one of them is not there.

use std::collections::VecDeque;
use std::future::Future;
use std::pin::Pin;
use std::time::Duration;

use tokio::sync::mpsc;
use tokio::time::Instant;

use super::connection::{Connection, Heard};
use super::session::Session;
use super::streams::{self, Line, Output};
use super::token::{self, Token};
use super::{StdioArgs, message};
use crate::client::{Client, Place};
use crate::context::Context;
use crate::print::escape;
use crate::report::{Done, Failure};
use crate::signals::{Signal, Signals};

/// How long one try to connect may take.
const CONNECT: Duration = Duration::from_secs(10);
/// For how long a gateway that was there is waited for.
const PATIENCE: Duration = Duration::from_secs(60);
/// The first wait between two tries, and the longest.
const WAITS: (Duration, Duration) = (Duration::from_millis(250), Duration::from_secs(5));
/// How soon a gateway that was not there is looked for again, where the client asks again.
const ANEW: Duration = Duration::from_secs(1);
/// How long what runs may take to end once the client is done.
const FLUSH: Duration = Duration::from_secs(5);
/// Most lines that wait for a gateway.
const MAX_WAITING: usize = 256;
/// What may be otherwise at the next try. All else stays as it is until somebody does something about it.
const PASSING: [&str; 7] = [
    "not_running",
    "unreachable",
    "connection_lost",
    "shutting_down",
    "too_many_connections",
    "too_many_failures",
    "too_many_mcp_sessions",
];

/// A try to connect.
type Connecting<'a> = Pin<Box<dyn Future<Output = Done<Connection>> + 'a>>;

/// How things stand with the gateway.
enum Gateway<'a> {
    /// It is tried for the first time, or anew after it was not there at all.
    Tried(Connecting<'a>),
    Here(Connection),
    /// It was here, and is waited for.
    Away {
        until: Instant,
        tries: u32,
        next: Next<'a>,
    },
    /// It never was.
    NotThere {
        failure: Failure,
        since: Instant,
    },
}

/// The next try to find a gateway that is away.
enum Next<'a> {
    At(Instant),
    Now(Connecting<'a>),
}

struct Bridge<'a> {
    args: &'a StdioArgs,
    context: &'a Context,
    session: Session,
    gateway: Gateway<'a>,
    /// Lines that wait for a gateway, or for their turn.
    waiting: VecDeque<String>,
    to_gateway: VecDeque<String>,
    to_client: VecDeque<String>,
    /// When everything ends whether it is done or not; set once the client is done.
    ending: Option<Instant>,
}

/// What happened.
enum Event {
    Line(Option<Line>),
    Stop,
    Connected(Done<Connection>),
    Heard(Heard),
    ToGateway,
    ToClient,
    ClientGone,
    Time,
}

/// Serves until the client is done.
pub(super) async fn run(args: &StdioArgs, context: &Context) -> Done {
    let mut lines = streams::lines()?;
    let mut signals = Signals::new()?;
    let output = Output::stdout()?;
    let mut bridge = Bridge {
        args,
        context,
        session: Session::default(),
        gateway: Gateway::Tried(Box::pin(connect(args, context, true))),
        waiting: VecDeque::new(),
        to_gateway: VecDeque::new(),
        to_client: VecDeque::new(),
        ending: None,
    };
    let done = bridge.serve(&mut lines, &mut signals, &output.to).await;
    while let Some(message) = bridge.to_client.pop_front() {
        if tokio::time::timeout(FLUSH, output.to.send(message)).await.is_err() {
            break;
        }
    }
    if let Gateway::Here(connection) = bridge.gateway {
        connection.close().await;
    }
    output.close().await;
    done
}

impl<'a> Bridge<'a> {
    async fn serve(
        &mut self,
        lines: &mut mpsc::Receiver<Line>,
        signals: &mut Signals,
        output: &mpsc::Sender<String>,
    ) -> Done {
        loop {
            self.pass_on();
            if self.is_done() {
                return self.end();
            }
            let event = self.next(lines, signals, output).await;
            match event {
                Event::Line(Some(line)) => self.line(line),
                Event::Line(None) | Event::Stop => self.client_is_done(),
                Event::Connected(Ok(connection)) => self.connected(connection),
                Event::Connected(Err(failure)) => self.not_connected(failure)?,
                Event::Heard(Heard::Text(text)) => match self.session.of_gateway(&text) {
                    Ok(passed) => {
                        self.to_gateway.extend(passed.to_gateway);
                        self.to_client.extend(passed.to_client);
                    }
                    Err(failure) => return Err(self.give_up(failure)),
                },
                Event::Heard(Heard::Lost(why)) => self.lost(&why),
                Event::ToGateway | Event::ToClient => {}
                Event::ClientGone => return Ok(()),
                Event::Time => self.time(),
            }
        }
    }

    /// Waits for what happens next. Nothing is read while what was read before waits to be passed on.
    async fn next(
        &mut self,
        lines: &mut mpsc::Receiver<Line>,
        signals: &mut Signals,
        output: &mpsc::Sender<String>,
    ) -> Event {
        let is_reading =
            self.ending.is_none() && self.waiting.len() < MAX_WAITING && self.to_client.is_empty();
        let wake = self.wake();
        let (connecting, connection) = match &mut self.gateway {
            Gateway::Tried(connecting) => (Some(connecting), None),
            Gateway::Away { next: Next::Now(connecting), .. } => (Some(connecting), None),
            Gateway::Here(connection) => (None, Some(connection)),
            Gateway::Away { .. } | Gateway::NotThere { .. } => (None, None),
        };
        let (to_gateway, to_client) = (&mut self.to_gateway, &mut self.to_client);
        let is_free = to_client.is_empty();
        let gateway = async move {
            match (connecting, connection) {
                (Some(connecting), _) => Event::Connected(connecting.await),
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
                    Event::ToClient
                }
                Err(_) => Event::ClientGone,
            },
            line = lines.recv(), if is_reading => Event::Line(line),
            signal = signals.next(), if self.ending.is_none() => match signal {
                Signal::Stop => Event::Stop,
                Signal::Reload => Event::Time,
            },
            () = output.closed() => Event::ClientGone,
            () = tokio::time::sleep_until(wake.unwrap_or_else(Instant::now)), if wake.is_some() => Event::Time,
        }
    }

    /// When there is something to do that nobody else brings about.
    fn wake(&self) -> Option<Instant> {
        let next = match &self.gateway {
            Gateway::Away { next: Next::At(at), .. } => Some(*at),
            _ => None,
        };
        [next, self.ending].into_iter().flatten().min()
    }

    fn line(&mut self, line: Line) {
        match line {
            Line::Text(text) => self.waiting.push_back(text),
            Line::TooLong => {
                let words = format!("a message may have {} bytes", streams::MAX_LINE);
                self.to_client.push_back(message::unreadable(&words));
            }
            Line::NotUtf8 => self.to_client.push_back(message::unreadable("a message is not UTF-8")),
        }
    }

    /// Passes lines on, as far as there is somebody to take them.
    fn pass_on(&mut self) {
        match &self.gateway {
            Gateway::Here(connection) => {
                let limit = connection.message_bytes;
                while self.to_gateway.is_empty() && self.to_client.is_empty() {
                    let Some(line) = self.waiting.pop_front() else { return };
                    if line.len() > limit {
                        let failure = Failure::new(format!(
                            "a message of {} bytes is longer than the {limit} that the gateway takes",
                            line.len()
                        ))
                        .code("too_long")
                        .hint("the gateway's setting limits.frame_bytes is this bound");
                        self.to_client.extend(message::all_failed(&line, &failure));
                        continue;
                    }
                    self.to_gateway.extend(self.session.of_client(&line));
                }
            }
            Gateway::NotThere { since, .. } if !self.waiting.is_empty() && since.elapsed() >= ANEW => {
                self.gateway = Gateway::Tried(Box::pin(connect(self.args, self.context, true)));
            }
            Gateway::NotThere { failure, .. } => {
                let answers = self.waiting.iter().filter_map(|line| message::all_failed(line, failure));
                self.to_client.extend(answers);
                self.waiting.clear();
            }
            Gateway::Tried(_) | Gateway::Away { .. } => {}
        }
    }

    fn connected(&mut self, connection: Connection) {
        if matches!(self.gateway, Gateway::Away { .. }) {
            self.context.printer.note("the gateway is back");
        }
        self.gateway = Gateway::Here(connection);
        self.to_gateway = self.session.greeting().into();
    }

    /// A try to connect came to nothing.
    fn not_connected(&mut self, failure: Failure) -> Done {
        let now = Instant::now();
        match &mut self.gateway {
            Gateway::Away { until, tries, next } if now < *until && PASSING.contains(&failure.word()) => {
                *tries += 1;
                let (first, longest) = WAITS;
                *next = Next::At(now + first.saturating_mul(1 << (*tries).min(8)).min(longest));
                Ok(())
            }
            Gateway::Away { .. } => Err(self.give_up(failure)),
            _ => {
                failure.tell(self.context.printer.stderr(), self.context.printer.json);
                self.gateway = Gateway::NotThere { failure, since: now };
                Ok(())
            }
        }
    }

    /// The gateway has gone, and is waited for.
    fn lost(&mut self, why: &str) {
        let words = format!("the connection to the gateway was lost: {}; trying again", escape::line(why));
        self.context.printer.note(&words);
        self.to_gateway.clear();
        self.to_client.extend(self.session.lost());
        let now = Instant::now();
        self.gateway = Gateway::Away { until: now + PATIENCE, tries: 0, next: Next::At(now + WAITS.0) };
    }

    fn time(&mut self) {
        if let Gateway::Away { next, .. } = &mut self.gateway
            && matches!(next, Next::At(at) if *at <= Instant::now())
        {
            *next = Next::Now(Box::pin(connect(self.args, self.context, false)));
        }
    }

    /// No gateway comes any more: whoever waits is told.
    fn give_up(&mut self, failure: Failure) -> Failure {
        self.to_client.extend(self.session.given_up(&failure));
        let answers = self.waiting.iter().filter_map(|line| message::all_failed(line, &failure));
        self.to_client.extend(answers);
        self.waiting.clear();
        failure
    }

    fn client_is_done(&mut self) {
        self.ending.get_or_insert_with(|| Instant::now() + FLUSH);
    }

    /// Whether the client is done and nothing more comes of what it asked for.
    fn is_done(&self) -> bool {
        let Some(ending) = self.ending else { return false };
        let is_passed = self.waiting.is_empty() && self.to_gateway.is_empty() && self.to_client.is_empty();
        (is_passed && self.session.is_quiet()) || ending <= Instant::now()
    }

    /// How it ends where the client is done.
    fn end(&mut self) -> Done {
        match &self.gateway {
            Gateway::NotThere { .. } => Err(Failure::told()),
            Gateway::Here(_) => Ok(()),
            Gateway::Tried(_) | Gateway::Away { .. } if self.waiting.is_empty() => Ok(()),
            Gateway::Tried(_) | Gateway::Away { .. } => {
                Err(self.give_up(Failure::new("the gateway did not answer in time").code("unreachable")))
            }
        }
    }
}

/// Moves messages to and from the gateway, whichever can be moved first. What it says waits while `is_free` is not so.
async fn exchange(connection: &mut Connection, to_gateway: &mut VecDeque<String>, is_free: bool) -> Event {
    let to = connection.to.clone();
    tokio::select! {
        permit = to.reserve(), if !to_gateway.is_empty() => {
            if let (Ok(permit), Some(message)) = (permit, to_gateway.pop_front()) {
                permit.send(message);
            } else {
                // Nobody writes any more; what reading finds says why.
                return Event::Heard(connection.hear().await);
            }
            Event::ToGateway
        }
        heard = connection.hear(), if is_free => Event::Heard(heard),
        else => std::future::pending().await,
    }
}

/// Finds the gateway and opens a connection. A token of this program's own that is refused is replaced where `may_renew`.
async fn connect(args: &StdioArgs, context: &Context, may_renew: bool) -> Done<Connection> {
    let trying = async {
        let place = Place::find(&args.connect, context)?;
        let token = token::find(args, &place, context).await?;
        match open(args, &place, &token).await {
            Err(failure) if may_renew && token.is_automatic && is_refusal(&failure) => {
                let token = token::renew(&token, &place, context).await?;
                open(args, &place, &token).await
            }
            done => done,
        }
    };
    tokio::time::timeout(CONNECT, trying).await.unwrap_or_else(|_| {
        Err(Failure::new("the gateway took too long to answer")
            .code("unreachable")
            .hint("its log may say why; `toolway doctor` looks at it"))
    })
}

fn is_refusal(failure: &Failure) -> bool {
    matches!(failure.word(), "token_revoked" | "token_unknown" | "token_expired")
}

async fn open(args: &StdioArgs, place: &Place, token: &Token) -> Done<Connection> {
    let target = place.clone().with(token.text.clone(), token.place.clone());
    let mut query: Vec<(&str, String)> = args.only.iter().map(|glob| ("only", glob.clone())).collect();
    query.extend(args.agent.iter().map(|agent| ("agent", agent.clone())));
    if args.read_only {
        query.push(("read_only", "true".to_owned()));
    }
    let socket = Client::new(target)?.websocket(&["ws", "mcp"], &query).await?;
    Ok(Connection::over(socket))
}
