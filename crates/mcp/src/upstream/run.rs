//! Keeps a server connected: from its definition to its end, through all that goes wrong.

use std::sync::Arc;
use std::time::Duration;

use secrecy::SecretString;
use tokio::task::JoinHandle;
use tokio::time::{Instant, sleep, timeout};
use toolway_core::{Keep, Lease, Tool};
use tracing::Instrument as _;

use super::backoff::Backoff;
use super::connection::Connection;
use super::fault::Fault;
use super::follow::follow;
use super::open::{Opened, open};
use super::server::Upstream;
use super::status::State;
use super::tool::UpstreamTool;
use crate::offering::Event;

/// Keeps a server connected until it is told to stop. `before` is one of the same name, which has to end first.
pub(super) async fn run(upstream: Arc<Upstream>, before: Option<JoinHandle<()>>) {
    if let Some(before) = before {
        // However it ended, it has.
        let _ = before.await;
    }
    let stopped = upstream.stopped().clone();
    if upstream.definition().disabled {
        stopped.cancelled().await;
        return;
    }
    let span = tracing::info_span!("mcp", server = %upstream.slug());
    keep(&upstream).instrument(span).await;
    upstream.publish(None);
}

/// What is known of a server from one connection to the next.
struct Known {
    backoff: Backoff,
    /// It does not know `server/discover`, so much that it ended over it.
    is_old: bool,
    lease: Option<Lease>,
}

async fn keep(upstream: &Arc<Upstream>) {
    let settings = &upstream.parts().settings;
    let mut known = Known { backoff: Backoff::new(settings.backoff), is_old: false, lease: None };
    while !upstream.stopped().is_cancelled() {
        upstream.enter(State::Connecting);
        let (fault, stood) = once(upstream, &mut known).await;
        if upstream.stopped().is_cancelled() {
            break;
        }
        let (Some(fault), stood) = (fault, stood) else { continue };
        tracing::info!(%fault, "not connected");
        let is_ready = stood.is_some();
        if stood.is_some_and(|stood| stood >= settings.stable) {
            known.backoff.reset();
        }
        let wait = match &fault {
            // The server is there; only what it knew of us is gone.
            Fault::SessionGone if is_ready => Duration::ZERO,
            _ => known.backoff.next(is_ready),
        };
        if wait.is_zero() {
            continue;
        }
        known.lease = None;
        let state = if matches!(fault, Fault::NeedsLogin(_)) { State::NeedsLogin } else { State::Failed };
        let next = upstream
            .parts()
            .clock
            .now_ms()
            .saturating_add_unsigned(u64::try_from(wait.as_millis()).unwrap_or(u64::MAX));
        // A login is waited for, and not tried for.
        let next = (state == State::Failed).then_some(next);
        upstream.failed(state, fault.problem(upstream.slug().as_str()), next);
        upstream.publish(None);
        tokio::select! {
            () = upstream.stopped().cancelled() => break,
            () = upstream.wanted_again() => known.backoff.reset(),
            () = sleep(wait), if next.is_some() => {}
        }
    }
}

/// Connects once and stays for as long as that holds. Gives why it does not any more, and how long it did; no reason
/// where it is to be connected to anew at once.
async fn once(upstream: &Arc<Upstream>, known: &mut Known) -> (Option<Fault>, Option<Duration>) {
    let settings = &upstream.parts().settings;
    let opened = tokio::select! {
        opened = timeout(settings.connect, open(upstream, &mut known.is_old)) => opened,
        () = upstream.stopped().cancelled() => return (None, None),
    };
    let opened = match opened {
        Ok(Ok(opened)) => opened,
        Ok(Err(fault)) => return (Some(fault), None),
        Err(_) => return (Some(Fault::Late(settings.connect)), None),
    };
    let connection = Arc::clone(opened.connection());
    let fault = tokio::select! {
        biased;
        () = upstream.stopped().cancelled() => None,
        result = ready(upstream, &connection, known) => result.err(),
        () = connection.closed() => Some(opened.why(&connection).await),
    };
    if let Some(fault) = fault {
        connection.fail(fault.clone());
        opened.close(settings.stop).await;
        return (Some(fault), None);
    }
    let since = Instant::now();
    let fault = match upstream.stopped().is_cancelled() {
        true => None,
        false => stay(upstream, &connection, &opened, known).await,
    };
    // Whoever has a use for it waits for the next one.
    upstream.enter(State::Connecting);
    upstream.publish(None);
    if fault.is_none() {
        opened.say_goodbye().await;
    }
    connection.fail(fault.clone().unwrap_or_else(|| Fault::Lost("it was closed".to_owned())));
    opened.close(settings.stop).await;
    upstream.tell(Event::Reconnected);
    (fault, Some(since.elapsed()))
}

/// Registers what it has, and says that it is there.
async fn ready(
    upstream: &Arc<Upstream>,
    connection: &Arc<Connection>,
    known: &mut Known,
) -> Result<(), Fault> {
    list(upstream, connection, known).await?;
    upstream.connected_to(connection);
    upstream.publish(Some(Arc::clone(connection)));
    upstream.tell(Event::Reconnected);
    Ok(())
}

/// Stays connected, and follows what changes.
async fn stay(
    upstream: &Arc<Upstream>,
    connection: &Arc<Connection>,
    opened: &Opened,
    known: &mut Known,
) -> Option<Fault> {
    tokio::select! {
        biased;
        () = upstream.stopped().cancelled() => None,
        () = connection.closed() => Some(opened.why(connection).await),
        () = upstream.wanted_again() => None,
        fault = opened.listen() => Some(fault),
        () = relist(upstream, connection, known) => None,
        () = follow(upstream, connection) => None,
    }
}

/// Lists the tools anew whenever they change: one listing at a time, with a pause after each, so that a list that
/// never rests costs little.
async fn relist(upstream: &Arc<Upstream>, connection: &Arc<Connection>, known: &mut Known) {
    /// What changes together mostly changes within this time.
    const GATHER: Duration = Duration::from_millis(50);
    /// How much longer than a listing took the next one waits, and at least.
    const REST: u32 = 10;
    const REST_LEAST: Duration = Duration::from_secs(1);
    loop {
        upstream.tools_have_changed().await;
        sleep(GATHER).await;
        let since = Instant::now();
        if let Err(fault) = list(upstream, connection, known).await {
            let problem = fault.problem(upstream.slug().as_str());
            tracing::info!(%fault, "its tools could not be listed anew; they stay as they were");
            upstream.note(|status| status.problem = Some(problem));
        }
        sleep((since.elapsed() * REST).clamp(REST_LEAST, upstream.parts().settings.list)).await;
    }
}

/// Lists the tools and registers them, whole.
async fn list(
    upstream: &Arc<Upstream>,
    connection: &Arc<Connection>,
    known: &mut Known,
) -> Result<(), Fault> {
    let limit = upstream.parts().settings.list;
    let listing =
        timeout(limit, super::listing::list(connection)).await.unwrap_or(Err(Fault::Late(limit)))?;
    let lease = known
        .lease
        .get_or_insert_with(|| upstream.parts().registry.lease(upstream.slug().clone(), Keep::Known));
    let specs: Vec<_> = listing.tools.iter().map(|(spec, _)| Arc::clone(spec)).collect();
    // Equal specs are shared, so that an equal list is one of the same specs.
    let held = lease.tools();
    let is_same = !specs.is_empty()
        && held.len() == specs.len()
        && held.iter().zip(&specs).all(|(held, new)| Arc::ptr_eq(held.spec(), new));
    if !is_same {
        let tool =
            |(spec, params)| Arc::new(UpstreamTool::new(spec, params, Arc::clone(upstream))) as Arc<dyn Tool>;
        (upstream.parts().on_registered)(upstream.slug().clone(), specs.clone()).await;
        lease.replace(listing.tools.into_iter().map(tool).collect());
    }
    upstream.note(|status| {
        status.tools = specs.len();
        status.left_out = listing.left_out;
        status.problem = None;
    });
    Ok(())
}

/// The environment and headers of a server, with secrets in their places.
pub(super) async fn with_secrets(
    upstream: &Upstream,
    values: &std::collections::BTreeMap<String, String>,
) -> Result<Vec<(String, SecretString)>, Fault> {
    let resolved = super::secrets::resolve(&upstream.parts().secrets, values).await;
    resolved.map_err(Fault::Definition)
}
