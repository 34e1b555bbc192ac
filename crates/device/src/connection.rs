//! One connection from the handshake to its end.
//!
//! A single task reads, writes and handles timers, so a frame crosses no other task between socket and queue.
//! Calls run in their own tasks.

pub(crate) mod handshake;
mod message_handler;

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
use toolway_wire::client_message::app_providers::AppProvider;

use crate::app_providers;
use crate::call_table::GatewayLink;
use crate::device_state::DeviceState;
use crate::error::ReconnectDecision;
use crate::status::{ConnectionStatus, GatewayConnection as Live};
use crate::tool::table::ToolTable;
use crate::transport::upgrade::GatewaySocket;
use handshake::{HandshakeReply, ResumeState};

/// Capacity of the send queue, in frames.
const QUEUE_CAPACITY: usize = 256;
/// Maximum number of frames in one write.
const BATCH: usize = 64;
/// Number of unwritten answers at which reading pauses.
const MAX_UNWRITTEN_FRAMES: usize = 256;
/// Ping interval for a gateway that does not announce its heartbeat.
const PING_INTERVAL: Duration = Duration::from_secs(20);
/// Time for the other side to answer a close frame.
const CLOSE_TIMEOUT: Duration = Duration::from_secs(1);

type SocketSink = SplitSink<GatewaySocket, Message>;
type SocketStream = SplitStream<GatewaySocket>;

/// Reason for the end of a connection.
#[derive(Debug)]
pub(crate) enum ConnectionEnd {
    /// The connection was lost, or the gateway closed it.
    Verdict(ReconnectDecision),
    /// This side asked for it.
    Requested,
}

/// Runs a connection until it ends.
pub(crate) async fn run(
    socket: GatewaySocket,
    shared: &DeviceState,
    session: &mut ResumeState,
    stop: &CancellationToken,
) -> ConnectionEnd {
    let (mut sink, mut stream) = socket.split();
    let greeting = match handshake::perform_handshake(&mut sink, &mut stream, shared, session, stop).await {
        Ok(greeting) => greeting,
        Err(end) => return end,
    };
    let (sender, queue) = mpsc::channel(QUEUE_CAPACITY);
    let link = GatewayLink {
        epoch: session.next_epoch(),
        version: greeting.version,
        frame_limit: greeting.frame_limit,
        queue: sender,
    };
    let mut connection = ConnectionTask::new(shared, sink, stream, queue, link.epoch, &greeting);
    connection.unwritten.extend(shared.calls.attach(link));
    connection.queue_updates();
    shared.set_status(ConnectionStatus::Connected(Live {
        source: greeting.source,
        version: greeting.version,
        tools: None,
    }));
    let end = connection.run_loop(stop).await;
    shared.calls.detach(session.is_resumable());
    end
}

struct ConnectionTask<'a> {
    shared: &'a DeviceState,
    sink: SocketSink,
    stream: SocketStream,
    /// Frames from running calls.
    queue: mpsc::Receiver<Utf8Bytes>,
    /// Frames from this task and from the queue, oldest first.
    unwritten: VecDeque<Utf8Bytes>,
    /// True if the sink holds unflushed data.
    needs_flush: bool,
    epoch: u64,
    version: u32,
    frame_limit: usize,
    /// Tools registered on this connection.
    registered_tools: Option<Arc<ToolTable>>,
    /// Provider report sent on this connection.
    reported_providers: Option<Arc<[AppProvider]>>,
    last_heard: Instant,
    /// Maximum silence before the connection counts as lost.
    silence_timeout: Duration,
    next_ping: Option<Instant>,
    next_orphan: Option<Instant>,
    /// Deadline for closing, even with unwritten frames; set once this side wants to leave.
    close_deadline: Option<Instant>,
}

impl<'a> ConnectionTask<'a> {
    fn new(
        shared: &'a DeviceState,
        sink: SocketSink,
        stream: SocketStream,
        queue: mpsc::Receiver<Utf8Bytes>,
        epoch: u64,
        greeting: &HandshakeReply,
    ) -> Self {
        let now = Instant::now();
        let heartbeat = greeting.heartbeat.unwrap_or(PING_INTERVAL);
        Self {
            shared,
            sink,
            stream,
            queue,
            unwritten: VecDeque::new(),
            needs_flush: false,
            epoch,
            version: greeting.version,
            frame_limit: greeting.frame_limit,
            registered_tools: None,
            reported_providers: None,
            last_heard: now,
            silence_timeout: heartbeat.mul_f64(2.5),
            next_ping: greeting.heartbeat.is_none().then(|| now + PING_INTERVAL),
            next_orphan: Some(now),
            close_deadline: None,
        }
    }

    /// Queues pending updates: the whole list of tools, then the report on app providers. The order matters,
    /// because the report names registered tools.
    fn queue_updates(&mut self) {
        let table = self.shared.current_tools();
        if !self.registered_tools.as_ref().is_some_and(|known| Arc::ptr_eq(known, &table)) {
            let frames = table.frames(self.version, self.frame_limit);
            self.unwritten.extend(frames.into_iter().map(Utf8Bytes::from));
            self.registered_tools = Some(table);
        }
        let providers = self.shared.app_providers.lock().clone().filter(|_| self.version >= 2);
        if let Some(providers) = providers
            && !self.reported_providers.as_ref().is_some_and(|known| Arc::ptr_eq(known, &providers))
        {
            self.unwritten.push_back(app_providers::frame(&providers, self.frame_limit).into());
            self.reported_providers = Some(providers);
        }
    }

    async fn run_loop(mut self, stop: &CancellationToken) -> ConnectionEnd {
        let shared = self.shared;
        let stopping = stop.cancelled();
        let changed = shared.changed.notified();
        let timer = tokio::time::sleep_until(self.next_orphan.unwrap_or(self.last_heard));
        tokio::pin!(stopping, changed, timer);
        loop {
            if let Err(error) = self.feed_sink() {
                return connection_lost(&error);
            }
            tokio::select! {
                flushed = self.sink.flush(), if self.needs_flush => match flushed {
                    Ok(()) => self.needs_flush = false,
                    Err(error) => return connection_lost(&error),
                },
                message = self.stream.next(), if self.unwritten.len() < MAX_UNWRITTEN_FRAMES => {
                    if let Some(verdict) = self.handle_message(message) {
                        // Sends the answer to a closing handshake, if the other side still reads.
                        let _ = tokio::time::timeout(CLOSE_TIMEOUT, self.sink.close()).await;
                        return ConnectionEnd::Verdict(verdict);
                    }
                }
                Some(frame) = self.queue.recv(), if self.unwritten.is_empty() => self.unwritten.push_back(frame),
                () = &mut timer => {
                    if let Some(end) = self.handle_timers() {
                        return end;
                    }
                    timer.as_mut().reset(self.next_timer());
                }
                () = &mut changed => {
                    changed.set(shared.changed.notified());
                    self.queue_updates();
                }
                () = &mut stopping, if self.close_deadline.is_none() => {
                    shared.calls.cancel_all();
                    self.close_deadline = Some(Instant::now() + shared.grace + CLOSE_TIMEOUT);
                    timer.as_mut().reset(self.next_timer());
                }
                () = shared.calls.wait_until_idle(), if self.close_deadline.is_some() && self.is_written() => {
                    if self.queue.is_empty() {
                        break;
                    }
                }
            }
        }
        self.close_gracefully().await;
        ConnectionEnd::Requested
    }

    /// Moves waiting frames to the sink without blocking.
    fn feed_sink(&mut self) -> Result<(), SocketError> {
        for _ in 0..BATCH {
            if self.unwritten.is_empty() {
                match self.queue.try_recv() {
                    Ok(frame) => self.unwritten.push_back(frame),
                    Err(_) => return Ok(()),
                }
            }
            let ready = std::future::poll_fn(|cx| self.sink.poll_ready_unpin(cx)).now_or_never();
            let Some(ready) = ready else {
                self.needs_flush = true;
                return Ok(());
            };
            ready?;
            if let Some(frame) = self.unwritten.pop_front() {
                self.sink.start_send_unpin(Message::Text(frame))?;
                self.needs_flush = true;
            }
        }
        Ok(())
    }

    fn is_written(&self) -> bool {
        self.unwritten.is_empty() && !self.needs_flush
    }

    /// Handles expired timers.
    fn handle_timers(&mut self) -> Option<ConnectionEnd> {
        let now = Instant::now();
        if self.close_deadline.is_some_and(|at| at <= now) {
            return Some(ConnectionEnd::Requested);
        }
        if now.saturating_duration_since(self.last_heard) >= self.silence_timeout {
            let silence = self.silence_timeout.as_secs_f64();
            return Some(ConnectionEnd::Verdict(ReconnectDecision::retry(format!(
                "no message received for {silence} seconds"
            ))));
        }
        if self.next_orphan.is_some_and(|at| at <= now) {
            self.next_orphan = self.shared.calls.cancel_orphans();
        }
        if self.next_ping.is_some_and(|at| at <= now) {
            self.next_ping = Some(now + PING_INTERVAL);
            // If the sink is blocked, the silence timeout detects it.
            if self.sink.start_send_unpin(Message::Ping(bytes::Bytes::new())).is_ok() {
                self.needs_flush = true;
            }
        }
        None
    }

    fn next_timer(&self) -> Instant {
        let others = [self.close_deadline, self.next_orphan, self.next_ping];
        others.into_iter().flatten().fold(self.last_heard + self.silence_timeout, Instant::min)
    }

    async fn close_gracefully(&mut self) {
        let frame =
            CloseFrame { code: CloseCode::Normal, reason: Utf8Bytes::from_static("the device is stopping") };
        let goodbye = async {
            self.sink.send(Message::Close(Some(frame))).await.ok()?;
            while let Some(Ok(_)) = self.stream.next().await {}
            Some(())
        };
        // This side closes even without an answer.
        let _ = tokio::time::timeout(CLOSE_TIMEOUT, goodbye).await;
    }
}

fn connection_lost(error: &SocketError) -> ConnectionEnd {
    ConnectionEnd::Verdict(message_handler::decision_for_error(error))
}
