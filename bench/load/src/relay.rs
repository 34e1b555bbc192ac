//! The bare relay: the cost of passing a frame from one socket to another with the runtime, the WebSocket
//! library and the buffer sizes of the gateway, without parsing, checks or records. A separate process, so
//! that its CPU time can be measured.
//!
//! `/caller/N` and `/device/N` are connected as soon as both exist; one task then passes frames in both
//! directions.

use std::collections::HashMap;
use std::net::Ipv4Addr;
use std::sync::Arc;

use axum::Router;
use axum::extract::ws::{Message, WebSocket, WebSocketUpgrade};
use axum::extract::{Path, State};
use axum::response::Response;
use axum::routing::{any, get};
use axum::serve::ListenerExt;
use futures_util::stream::{SplitSink, SplitStream};
use futures_util::{FutureExt, SinkExt, StreamExt};
use parking_lot::Mutex;
use tokio::net::TcpListener;
use tokio::sync::oneshot;

use crate::error::{ErrorContext, Result};
use crate::gateway::{create_data_folder, wait_for_authority};
use crate::output::print_line;
use crate::process::{ChildProcess, ChildProgram};
use crate::socket::{READ_BUFFER, WRITE_BUFFER};

/// Sockets that wait for their other half.
type WaitingSockets = Arc<Mutex<HashMap<usize, oneshot::Sender<WebSocket>>>>;

/// The relay as a process.
#[derive(Debug)]
pub(crate) struct RelayProcess {
    /// `host:port`.
    pub(crate) authority: String,
    process: ChildProcess,
    _folder: tempfile::TempDir,
}

impl RelayProcess {
    /// Starts the process.
    pub(crate) async fn start(workers: usize, pairs: usize) -> Result<Self> {
        let folder = create_data_folder()?;
        let files = u64::try_from(pairs * 2 + 200).unwrap_or(u64::MAX);
        let args = ["relay", "--workers", &workers.to_string()];
        let mut process =
            ChildProcess::start(&ChildProgram::current_harness("relay", &args, folder.path(), files)?)?;
        let authority = wait_for_authority(&mut process).await?;
        Ok(Self { authority, process, _folder: folder })
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

/// Runs the relay until standard input ends.
pub(crate) fn serve_process(workers: usize) -> Result<()> {
    let mut runtime = tokio::runtime::Builder::new_multi_thread();
    let runtime =
        runtime.worker_threads(workers).enable_all().build().context("starting the relay's runtime")?;
    runtime.block_on(async {
        let (authority, serving) = serve().await?;
        let mut input = crate::input_lines::input_lines();
        print_line(&serde_json::json!({"event": "ready", "url": format!("http://{authority}")}).to_string())?;
        tokio::select! {
            result = tokio::spawn(serving) => match result {
                Ok(served) => served,
                Err(error) => Err(crate::error::LoadBenchError::Unexpected(error.to_string())),
            },
            () = async { while input.recv().await.is_some() {} } => Ok(()),
        }
    })
}

/// Binds a free port. Returns the address and the server to run.
pub(crate) async fn serve() -> Result<(String, impl Future<Output = Result<()>>)> {
    let waiting = WaitingSockets::default();
    let router = Router::new()
        .route("/health", get(|| async { "{}" }))
        .route("/caller/{number}", any(upgrade))
        .route("/device/{number}", any(upgrade))
        .with_state(waiting);
    let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).await.context("listening for the relay")?;
    let authority = listener.local_addr().context("listening for the relay")?.to_string();
    // A socket without this option still works; the figures would show it.
    let listener = listener.tap_io(|stream| drop(stream.set_nodelay(true)));
    Ok((authority, async move { axum::serve(listener, router).await.context("serving the relay") }))
}

async fn upgrade(
    Path(number): Path<usize>,
    State(waiting): State<WaitingSockets>,
    upgrade: WebSocketUpgrade,
) -> Response {
    upgrade
        .read_buffer_size(READ_BUFFER)
        .write_buffer_size(WRITE_BUFFER)
        .on_upgrade(move |socket| pair_sockets(number, socket, waiting))
}

/// The first of a pair waits for the second, which passes frames for both.
async fn pair_sockets(number: usize, socket: WebSocket, waiting: WaitingSockets) {
    let first = waiting.lock().remove(&number);
    match first {
        Some(first) => {
            // If the first has disconnected, there is nothing to relay.
            let _gone = first.send(socket);
        }
        None => {
            let (sender, receiver) = oneshot::channel();
            waiting.lock().insert(number, sender);
            if let Ok(other) = receiver.await {
                relay_both_ways(socket, other).await;
            }
        }
    }
}

async fn relay_both_ways(one: WebSocket, other: WebSocket) {
    let (one_out, one_in) = one.split();
    let (other_out, other_in) = other.split();
    tokio::select! {
        () = forward_frames(one_in, other_out) => {}
        () = forward_frames(other_in, one_out) => {}
    }
}

/// Passes frames on; all available frames are written at once.
async fn forward_frames(mut from: SplitStream<WebSocket>, mut to: SplitSink<WebSocket, Message>) {
    while let Some(Ok(frame)) = from.next().await {
        let mut next = Some(frame);
        while let Some(frame) = next {
            match frame {
                Message::Text(_) | Message::Binary(_) => {
                    if to.feed(frame).await.is_err() {
                        return;
                    }
                }
                Message::Close(_) => return,
                Message::Ping(_) | Message::Pong(_) => {}
            }
            next = from.next().now_or_never().flatten().and_then(std::result::Result::ok);
        }
        if to.flush().await.is_err() {
            return;
        }
    }
}

#[cfg(test)]
mod tests;
