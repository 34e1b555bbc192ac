//! Opens the second connection to a server when a client of the older era needs it, opens it again after failures, and
//! closes it when it is unused.

use std::sync::Arc;
use std::time::Duration;

use futures_util::FutureExt as _;
use rmcp::model::ErrorCode;
use tokio::time::{Instant, sleep, timeout};
use tracing::Instrument as _;

use super::backoff::ReconnectBackoff;
use super::change_listener::restore_interest;
use super::client_group::ServedClients;
use super::error::UpstreamError;
use super::open_connection::{OpenConnection, open_connection};
use super::server::Upstream;
use super::transport::McpTransport;
use crate::offering::UpstreamEvent;

/// Time in which a new connection learns the clients' interest before requests use it.
const RESTORE_TIMEOUT: Duration = Duration::from_secs(5);
/// Time that requests wait for the stream of messages. Some servers answer it with their first message only.
const STREAM_TIMEOUT: Duration = Duration::from_secs(1);

/// The reason why the second connection could not be opened.
enum OpenFailure {
    /// The server has no older era in which it can ask clients.
    NotOffered(String),
    /// Another attempt may succeed.
    Fault(UpstreamError),
}

/// Serves clients of the older era until the server is stopped.
pub(super) async fn supervise_older(upstream: &Arc<Upstream>) {
    let (settings, older) = (&upstream.server().deps().settings, upstream.older());
    let mut backoff = ReconnectBackoff::new(settings.max_backoff);
    // The delay until the next attempt, for clients that watch resources. Others ask for the connection.
    let mut reopen_after = None;
    loop {
        let is_again = reopen_after.is_some();
        tokio::select! {
            () = upstream.stop_token().cancelled() => return,
            () = older.wait_until_needed() => {}
            () = sleep(reopen_after.unwrap_or_default()), if is_again => {}
        }
        older.set_opening();
        let opened = tokio::select! {
            opened = open(upstream) => opened,
            () = upstream.stop_token().cancelled() => return,
        };
        let wait = match opened {
            Ok(opened) => {
                let since = Instant::now();
                let span = tracing::info_span!("older_era");
                let is_lost = serve(upstream, opened, is_again).instrument(span).await;
                if since.elapsed() >= settings.stable_after {
                    backoff.reset();
                }
                Some(if is_lost { backoff.next(true) } else { Duration::ZERO })
            }
            Err(OpenFailure::NotOffered(why)) => {
                tracing::debug!(%why, "no connection of the older era");
                None
            }
            Err(OpenFailure::Fault(fault)) => {
                tracing::info!(%fault, "no connection of the older era");
                Some(backoff.next(false))
            }
        };
        reopen_after = wait.filter(|_| older.is_used());
        match wait {
            Some(Duration::ZERO) => older.set_closed(),
            wait => older.set_unavailable(wait),
        }
    }
}

async fn open(upstream: &Arc<Upstream>) -> Result<OpenConnection, OpenFailure> {
    let limit = upstream.server().deps().settings.connect_timeout;
    let mut is_old = true;
    let opening = open_connection(upstream.server(), ServedClients::Older, &mut is_old);
    let opened = timeout(limit, opening).await.unwrap_or(Err(UpstreamError::TimedOut(limit)));
    let opened = opened.map_err(|fault| match fault {
        UpstreamError::RpcError(error) if error.code != ErrorCode::INTERNAL_ERROR => {
            OpenFailure::NotOffered(error.message.into_owned())
        }
        UpstreamError::Status(status, text)
            if matches!(status.as_u16(), 400 | 404 | 405 | 406 | 415 | 422) =>
        {
            OpenFailure::NotOffered(text)
        }
        UpstreamError::Malformed(text) => OpenFailure::NotOffered(text),
        fault => OpenFailure::Fault(fault),
    })?;
    let connection = opened.connection();
    // Without a session, an answer of a client does not find the request that waits for it.
    let can_be_answered = match connection.transport() {
        McpTransport::StreamableHttp(_) => connection.transport().has_session(),
        McpTransport::Stdio(_) | McpTransport::Sse(_) => true,
    };
    if connection.is_stateless() || !can_be_answered {
        opened.close(upstream.server().deps().settings.stop_timeout).await;
        return Err(OpenFailure::NotOffered("it starts no session".to_owned()));
    }
    Ok(opened)
}

/// Serves a connection until it is closed. Returns true if it was lost. `is_again` is true if it replaces a lost one.
async fn serve(upstream: &Arc<Upstream>, opened: OpenConnection, is_again: bool) -> bool {
    let (server, older) = (upstream.server(), upstream.older());
    let settings = &server.deps().settings;
    let connection = Arc::clone(opened.connection());
    let clients = server.clients(ServedClients::Older);
    // The first call should already run with the log level of its client, and no change after it should be missed.
    let mut listening = Box::pin(opened.listen());
    let mut restoring = Box::pin(restore_interest(&connection).fuse());
    let ready = async {
        (&mut restoring).await;
        if let McpTransport::StreamableHttp(http) = connection.transport() {
            let _ = timeout(STREAM_TIMEOUT, http.wait_for_stream()).await;
        }
    };
    tokio::select! {
        _ = timeout(RESTORE_TIMEOUT, ready) => {}
        fault = &mut listening => connection.fail(fault),
        () = connection.closed() => {}
    }
    clients.set_own_events(Some(connection.transport().has_message_stream()));
    older.set_open(Arc::clone(&connection));
    if is_again {
        connection.emit(UpstreamEvent::Reconnected);
    }
    let restore_rest = async {
        restoring.await;
        std::future::pending::<()>().await;
    };
    let fault = tokio::select! {
        biased;
        () = upstream.stop_token().cancelled() => None,
        () = connection.closed() => Some(opened.close_reason(&connection).await),
        () = older.wait_for_reconnect_request() => None,
        fault = listening => Some(fault),
        () = older.close_when_unused(settings.older_idle_timeout) => None,
        () = restore_rest => None,
    };
    // Callers wait for the next connection.
    older.set_opening();
    clients.set_own_events(None);
    match &fault {
        Some(fault) => tracing::info!(%fault, "lost"),
        None => opened.end_session().await,
    }
    let is_lost = fault.is_some();
    connection.fail(fault.unwrap_or_else(|| UpstreamError::ConnectionLost("it was closed".to_owned())));
    opened.close(settings.stop_timeout).await;
    is_lost
}
