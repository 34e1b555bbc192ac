//! Keeps a server connected until it is removed, and reconnects after failures.

use std::sync::Arc;
use std::time::Duration;

use tokio::task::JoinHandle;
use tokio::time::{Instant, sleep, timeout};
use toolway_core::{Lease, SourceRetention, Tool};
use tracing::Instrument as _;

use super::backoff::ReconnectBackoff;
use super::change_listener::follow_changes;
use super::client_group::ServedClients;
use super::connection::UpstreamConnection;
use super::error::UpstreamError;
use super::older_supervisor::supervise_older;
use super::open_connection::{OpenConnection, open_connection};
use super::server::Upstream;
use super::status::UpstreamState;
use super::tool::UpstreamTool;
use crate::offering::UpstreamEvent;

/// Maximum number of lost sessions in a row that are replaced without a pause.
const MAX_NEW_SESSIONS: u32 = 8;

/// Keeps a server connected until it is stopped. `before` is the task of a server with the same name, which must end
/// first.
pub(super) async fn supervise(upstream: Arc<Upstream>, before: Option<JoinHandle<()>>) {
    if let Some(before) = before {
        // Its result does not matter.
        let _ = before.await;
    }
    let stopped = upstream.stop_token().clone();
    if upstream.definition().disabled {
        stopped.cancelled().await;
        return;
    }
    let span = tracing::info_span!("mcp", server = %upstream.slug());
    let both = async { tokio::join!(reconnect_loop(&upstream), supervise_older(&upstream)) };
    both.instrument(span).await;
    upstream.set_connection(None);
}

/// The state that outlives a connection.
struct ReconnectState {
    backoff: ReconnectBackoff,
    /// Number of lost sessions that were replaced immediately, since a connection was last stable.
    new_sessions: u32,
    /// True if the server exits when it gets `server/discover`.
    is_handshake_only: bool,
    lease: Option<Lease>,
}

async fn reconnect_loop(upstream: &Arc<Upstream>) {
    let settings = &upstream.server().deps().settings;
    let mut known = ReconnectState {
        backoff: ReconnectBackoff::new(settings.max_backoff),
        new_sessions: 0,
        is_handshake_only: false,
        lease: None,
    };
    while !upstream.stop_token().is_cancelled() {
        upstream.server().set_state(UpstreamState::Connecting);
        let (fault, stood) = connect_once(upstream, &mut known).await;
        if upstream.stop_token().is_cancelled() {
            break;
        }
        let (Some(fault), stood) = (fault, stood) else { continue };
        tracing::info!(%fault, "not connected");
        let is_ready = stood.is_some();
        if stood.is_some_and(|stood| stood >= settings.stable_after) {
            known.backoff.reset();
            known.new_sessions = 0;
        }
        let wait = match &fault {
            // The server is running, but has lost the session.
            UpstreamError::SessionExpired(_) if is_ready && known.new_sessions < MAX_NEW_SESSIONS => {
                known.new_sessions += 1;
                Duration::ZERO
            }
            _ => known.backoff.next(is_ready),
        };
        if wait.is_zero() {
            continue;
        }
        known.lease = None;
        let state = if matches!(fault, UpstreamError::NeedsLogin(_)) {
            UpstreamState::NeedsLogin
        } else {
            UpstreamState::Failed
        };
        let next = upstream
            .server()
            .deps()
            .clock
            .now_ms()
            .saturating_add_unsigned(u64::try_from(wait.as_millis()).unwrap_or(u64::MAX));
        // Only a login helps, so no further attempts are made.
        let next = (state == UpstreamState::Failed).then_some(next);
        upstream.server().set_failed(state, fault.to_problem(upstream.slug().as_str()), next);
        upstream.set_connection(None);
        tokio::select! {
            () = upstream.stop_token().cancelled() => break,
            () = upstream.wait_for_reconnect_request() => known.backoff.reset(),
            () = sleep(wait), if next.is_some() => {}
        }
    }
}

/// Opens one connection and serves it. Returns the reason of its end and its uptime; no reason if the next connection
/// must follow immediately.
async fn connect_once(
    upstream: &Arc<Upstream>,
    known: &mut ReconnectState,
) -> (Option<UpstreamError>, Option<Duration>) {
    let settings = &upstream.server().deps().settings;
    let opened = tokio::select! {
        opened = timeout(settings.connect_timeout, open_connection(upstream.server(), ServedClients::All, &mut known.is_handshake_only)) => opened,
        () = upstream.stop_token().cancelled() => return (None, None),
    };
    let opened = match opened {
        Ok(Ok(opened)) => opened,
        Ok(Err(fault)) => return (Some(fault), None),
        Err(_) => return (Some(UpstreamError::TimedOut(settings.connect_timeout)), None),
    };
    let connection = Arc::clone(opened.connection());
    let fault = tokio::select! {
        biased;
        () = upstream.stop_token().cancelled() => None,
        result = announce_ready(upstream, &connection, known) => result.err(),
        () = connection.closed() => Some(opened.close_reason(&connection).await),
    };
    if let Some(fault) = fault {
        connection.fail(fault.clone());
        opened.close(settings.stop_timeout).await;
        return (Some(fault), None);
    }
    let since = Instant::now();
    let fault = match upstream.stop_token().is_cancelled() {
        true => None,
        false => serve_connection(upstream, &connection, &opened, known).await,
    };
    // Callers now wait for the next connection.
    upstream.server().set_state(UpstreamState::Connecting);
    upstream.set_connection(None);
    if fault.is_none() {
        opened.end_session().await;
    }
    connection
        .fail(fault.clone().unwrap_or_else(|| UpstreamError::ConnectionLost("it was closed".to_owned())));
    opened.close(settings.stop_timeout).await;
    connection.emit(UpstreamEvent::Reconnected);
    (fault, Some(since.elapsed()))
}

/// Registers the tools, and marks the server as connected.
async fn announce_ready(
    upstream: &Arc<Upstream>,
    connection: &Arc<UpstreamConnection>,
    known: &mut ReconnectState,
) -> Result<(), UpstreamError> {
    register_tools(upstream, connection, known).await?;
    upstream.set_connected(connection);
    upstream.set_connection(Some(Arc::clone(connection)));
    upstream.older().retry();
    connection.emit(UpstreamEvent::Reconnected);
    Ok(())
}

/// Serves a connection, and follows changes of the server.
async fn serve_connection(
    upstream: &Arc<Upstream>,
    connection: &Arc<UpstreamConnection>,
    opened: &OpenConnection,
    known: &mut ReconnectState,
) -> Option<UpstreamError> {
    tokio::select! {
        biased;
        () = upstream.stop_token().cancelled() => None,
        () = connection.closed() => Some(opened.close_reason(connection).await),
        () = upstream.wait_for_reconnect_request() => None,
        fault = opened.listen() => Some(fault),
        () = refresh_tools(upstream, connection, known) => None,
        () = follow_changes(connection) => None,
    }
}

/// Lists the tools again after each change: one listing at a time, with a pause after each, so that constant changes
/// cost little.
async fn refresh_tools(
    upstream: &Arc<Upstream>,
    connection: &Arc<UpstreamConnection>,
    known: &mut ReconnectState,
) {
    /// Time to collect changes that belong together.
    const GATHER: Duration = Duration::from_millis(50);
    /// The pause after a listing, as a multiple of its duration, and its minimum.
    const REST: u32 = 10;
    const REST_LEAST: Duration = Duration::from_secs(1);
    loop {
        upstream.server().wait_for_tool_change().await;
        sleep(GATHER).await;
        let since = Instant::now();
        if let Err(fault) = register_tools(upstream, connection, known).await {
            let problem = fault.to_problem(upstream.slug().as_str());
            tracing::info!(%fault, "the tools could not be listed again; the previous ones stay");
            upstream.server().update_status(|status| status.problem = Some(problem));
        }
        sleep((since.elapsed() * REST).clamp(REST_LEAST, upstream.server().deps().settings.list_timeout))
            .await;
    }
}

/// Lists all tools and registers them.
async fn register_tools(
    upstream: &Arc<Upstream>,
    connection: &Arc<UpstreamConnection>,
    known: &mut ReconnectState,
) -> Result<(), UpstreamError> {
    let limit = upstream.server().deps().settings.list_timeout;
    let listing = timeout(limit, super::listing::list_tools(connection))
        .await
        .unwrap_or(Err(UpstreamError::TimedOut(limit)))?;
    let lease = known.lease.get_or_insert_with(|| {
        upstream.server().deps().registry.lease(upstream.slug().clone(), SourceRetention::Names)
    });
    let specs: Vec<_> = listing.tools.iter().map(|(spec, _)| Arc::clone(spec)).collect();
    // Equal specs are shared, so an equal list has the same pointers.
    let held = lease.tools();
    let is_same = !specs.is_empty()
        && held.len() == specs.len()
        && held.iter().zip(&specs).all(|(held, new)| Arc::ptr_eq(held.spec(), new));
    if !is_same {
        let tool =
            |(spec, params)| Arc::new(UpstreamTool::new(spec, params, Arc::clone(upstream))) as Arc<dyn Tool>;
        (upstream.server().deps().on_registered)(upstream.slug().clone(), specs.clone()).await;
        lease.replace(listing.tools.into_iter().map(tool).collect());
    }
    upstream.server().update_status(|status| {
        status.tools = specs.len();
        status.left_out = listing.skipped;
        status.problem = listing.problem;
    });
    Ok(())
}
