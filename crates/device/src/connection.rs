//! One connection: from the greeting to its end. A single task reads, writes and minds the time, so a frame
//! crosses no other task between socket and queue; calls run in tasks of their own.

pub(crate) mod greet;
mod incoming;

use std::collections::VecDeque;
use std::sync::Arc;
use std::time::Duration;

use futures_util::stream::{SplitSink, SplitStream};
use futures_util::{FutureExt, SinkExt, StreamExt};
use tokio::sync::mpsc;
use tokio::time::Instant;
use tokio_tungstenite::tungstenite::protocol::CloseFrame;
use tokio_tungstenite::tungstenite::protocol::frame::coding::CloseCode;
use tokio_tungstenite::tungstenite::{Error as SocketError, Message, Utf8Bytes};
use tokio_util::sync::CancellationToken;
use toolway_wire::from_client::app_providers::AppProvider;

use crate::app_providers;
use crate::calls::Link;
use crate::shared::Shared;
use crate::status::{Connection as Live, Status};
use crate::stopped::Verdict;
use crate::tool::table::ToolTable;
use crate::transport::upgrade::Socket;
use greet::{Greeting, Session};

/// Frames that may wait to be written.
const QUEUE: usize = 256;
/// Frames that one write takes together at most.
const BATCH: usize = 64;
/// While so many answers wait to be written, no more is read.
const MOST_UNWRITTEN: usize = 256;
/// How often a gateway that says nothing of its heartbeat is pinged.
const OWN_PING: Duration = Duration::from_secs(20);
/// How long the other side has to answer a goodbye.
const GOODBYE: Duration = Duration::from_secs(1);

type Sink = SplitSink<Socket, Message>;
type Stream = SplitStream<Socket>;

/// How a connection ended.
#[derive(Debug)]
pub(crate) enum End {
    /// It was lost, or closed by the gateway.
    Verdict(Verdict),
    /// As asked for by this side.
    Requested,
}

/// Runs a connection to its end.
pub(crate) async fn run(
    socket: Socket,
    shared: &Shared,
    session: &mut Session,
    stop: &CancellationToken,
) -> End {
    let (mut sink, mut stream) = socket.split();
    let greeting = match greet::greet(&mut sink, &mut stream, shared, session, stop).await {
        Ok(greeting) => greeting,
        Err(end) => return end,
    };
    let (sender, queue) = mpsc::channel(QUEUE);
    let link = Link {
        epoch: session.next_epoch(),
        version: greeting.version,
        frame_limit: greeting.frame_limit,
        queue: sender,
    };
    let mut connection = Connection::new(shared, sink, stream, queue, link.epoch, &greeting);
    connection.unwritten.extend(shared.calls.attach(link));
    connection.say_what_changed();
    shared.now_is(Status::Connected(Live {
        source: greeting.source,
        version: greeting.version,
        tools: None,
    }));
    let end = connection.pump(stop).await;
    shared.calls.detach(session.is_resumable());
    end
}

struct Connection<'a> {
    shared: &'a Shared,
    sink: Sink,
    stream: Stream,
    /// What running calls have to say.
    queue: mpsc::Receiver<Utf8Bytes>,
    /// What this task itself has to say, and what was taken from the queue; oldest first.
    unwritten: VecDeque<Utf8Bytes>,
    /// Whether the sink holds anything that is not flushed.
    dirty: bool,
    epoch: u64,
    version: u32,
    frame_limit: usize,
    /// The tools that this connection was told of.
    registered: Option<Arc<ToolTable>>,
    /// What it was told of apps.
    reported: Option<Arc<[AppProvider]>>,
    last_heard: Instant,
    /// Silence longer than this is the end.
    patience: Duration,
    next_ping: Option<Instant>,
    next_orphan: Option<Instant>,
    /// When a goodbye is said whether or not everything is done; set once this side wants to leave.
    leaving: Option<Instant>,
}

impl<'a> Connection<'a> {
    fn new(
        shared: &'a Shared,
        sink: Sink,
        stream: Stream,
        queue: mpsc::Receiver<Utf8Bytes>,
        epoch: u64,
        greeting: &Greeting,
    ) -> Self {
        let now = Instant::now();
        let heartbeat = greeting.heartbeat.unwrap_or(OWN_PING);
        Self {
            shared,
            sink,
            stream,
            queue,
            unwritten: VecDeque::new(),
            dirty: false,
            epoch,
            version: greeting.version,
            frame_limit: greeting.frame_limit,
            registered: None,
            reported: None,
            last_heard: now,
            patience: heartbeat.mul_f64(2.5),
            next_ping: greeting.heartbeat.is_none().then(|| now + OWN_PING),
            next_orphan: Some(now),
            leaving: None,
        }
    }

    /// Queues what this connection has not been told yet: the whole list of tools, and then what there is to say of
    /// the apps that some of them are of.
    fn say_what_changed(&mut self) {
        let table = self.shared.table();
        if !self.registered.as_ref().is_some_and(|known| Arc::ptr_eq(known, &table)) {
            let frames = table.frames(self.version, self.frame_limit);
            self.unwritten.extend(frames.into_iter().map(Utf8Bytes::from));
            self.registered = Some(table);
        }
        let providers = self.shared.app_providers.lock().clone().filter(|_| self.version >= 2);
        if let Some(providers) = providers
            && !self.reported.as_ref().is_some_and(|known| Arc::ptr_eq(known, &providers))
        {
            self.unwritten.push_back(app_providers::frame(&providers, self.frame_limit).into());
            self.reported = Some(providers);
        }
    }

    async fn pump(mut self, stop: &CancellationToken) -> End {
        let shared = self.shared;
        let stopping = stop.cancelled();
        let changed = shared.changed.notified();
        let timer = tokio::time::sleep_until(self.next_orphan.unwrap_or(self.last_heard));
        tokio::pin!(stopping, changed, timer);
        loop {
            if let Err(error) = self.fill() {
                return lost(&error);
            }
            tokio::select! {
                flushed = self.sink.flush(), if self.dirty => match flushed {
                    Ok(()) => self.dirty = false,
                    Err(error) => return lost(&error),
                },
                message = self.stream.next(), if self.unwritten.len() < MOST_UNWRITTEN => {
                    if let Some(verdict) = self.hear(message) {
                        // Sends the answer to a closing handshake, where the other side still reads.
                        let _ = tokio::time::timeout(GOODBYE, self.sink.close()).await;
                        return End::Verdict(verdict);
                    }
                }
                Some(frame) = self.queue.recv(), if self.unwritten.is_empty() => self.unwritten.push_back(frame),
                () = &mut timer => {
                    if let Some(end) = self.on_time() {
                        return end;
                    }
                    timer.as_mut().reset(self.next_wake());
                }
                () = &mut changed => {
                    changed.set(shared.changed.notified());
                    self.say_what_changed();
                }
                () = &mut stopping, if self.leaving.is_none() => {
                    shared.calls.cancel_all();
                    self.leaving = Some(Instant::now() + shared.grace + GOODBYE);
                    timer.as_mut().reset(self.next_wake());
                }
                () = shared.calls.until_quiet(), if self.leaving.is_some() && self.is_written() => {
                    if self.queue.is_empty() {
                        break;
                    }
                }
            }
        }
        self.say_goodbye().await;
        End::Requested
    }

    /// Hands what waits to the sink, as far as it takes it without waiting.
    fn fill(&mut self) -> Result<(), SocketError> {
        for _ in 0..BATCH {
            if self.unwritten.is_empty() {
                match self.queue.try_recv() {
                    Ok(frame) => self.unwritten.push_back(frame),
                    Err(_) => return Ok(()),
                }
            }
            let ready = std::future::poll_fn(|cx| self.sink.poll_ready_unpin(cx)).now_or_never();
            let Some(ready) = ready else {
                self.dirty = true;
                return Ok(());
            };
            ready?;
            if let Some(frame) = self.unwritten.pop_front() {
                self.sink.start_send_unpin(Message::Text(frame))?;
                self.dirty = true;
            }
        }
        Ok(())
    }

    fn is_written(&self) -> bool {
        self.unwritten.is_empty() && !self.dirty
    }

    /// Something is due.
    fn on_time(&mut self) -> Option<End> {
        let now = Instant::now();
        if self.leaving.is_some_and(|at| at <= now) {
            return Some(End::Requested);
        }
        if now.saturating_duration_since(self.last_heard) >= self.patience {
            let silence = self.patience.as_secs_f64();
            return Some(End::Verdict(Verdict::retry(format!("nothing was heard for {silence} seconds"))));
        }
        if self.next_orphan.is_some_and(|at| at <= now) {
            self.next_orphan = self.shared.calls.cancel_orphans();
        }
        if self.next_ping.is_some_and(|at| at <= now) {
            self.next_ping = Some(now + OWN_PING);
            // A sink that takes nothing will show in the silence that follows.
            if self.sink.start_send_unpin(Message::Ping(bytes::Bytes::new())).is_ok() {
                self.dirty = true;
            }
        }
        None
    }

    fn next_wake(&self) -> Instant {
        let others = [self.leaving, self.next_orphan, self.next_ping];
        others.into_iter().flatten().fold(self.last_heard + self.patience, Instant::min)
    }

    async fn say_goodbye(&mut self) {
        let frame =
            CloseFrame { code: CloseCode::Normal, reason: Utf8Bytes::from_static("the device stops") };
        let goodbye = async {
            self.sink.send(Message::Close(Some(frame))).await.ok()?;
            while let Some(Ok(_)) = self.stream.next().await {}
            Some(())
        };
        // Whether or not it is answered, this side is done.
        let _ = tokio::time::timeout(GOODBYE, goodbye).await;
    }
}

fn lost(error: &SocketError) -> End {
    End::Verdict(incoming::verdict_of(error))
}
