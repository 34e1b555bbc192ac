use parking_lot::Mutex;
use tokio::task::JoinSet;
use toolway_types::{Principal, Role};

use super::*;
use crate::peer_connection::ConnectionPool;
use crate::turn_queue::FREE_TIME;

/// Number of steps of each connection.
const STEPS: usize = 50;

fn principal(id: &str, role: Role) -> Principal {
    Principal { id: id.into(), role, agent: None }
}

/// Starts work of a principal that is always ready, and records each of its steps.
fn start_busy_work(
    tasks: &mut JoinSet<()>,
    pool: &Arc<ConnectionPool>,
    principal: &Principal,
    steps: &Arc<Mutex<Vec<String>>>,
) {
    let connection = pool.add();
    connection.identify(principal, false).unwrap();
    let (steps, name) = (Arc::clone(steps), principal.id.to_string());
    let work = Box::pin(async move {
        for _ in 0..STEPS {
            steps.lock().push(name.clone());
            // As if the step had taken so long. Then the others go on.
            tokio::time::advance(FREE_TIME).await;
        }
    });
    tasks.spawn(FairTask::new(work, Some(connection)));
}

#[tokio::test(start_paused = true)]
async fn a_principal_with_many_connections_gets_no_more_turns_than_another() {
    let pool = ConnectionPool::new(1000, 200);
    let steps = Arc::default();
    let mut tasks = JoinSet::new();
    for _ in 0..100 {
        start_busy_work(&mut tasks, &pool, &principal("many", Role::Client), &steps);
    }
    start_busy_work(&mut tasks, &pool, &principal("one", Role::Client), &steps);
    while tasks.join_next().await.is_some() {}
    let steps = steps.lock();
    let last = steps.iter().rposition(|name| name == "one").unwrap();
    let others = steps.iter().take(last).filter(|name| *name == "many").count();
    // In turns of one step each. Otherwise the hundred connections would make a hundred times as many.
    assert!(others <= 4 * STEPS, "{others}");
    assert_eq!(steps.len(), 101 * STEPS, "all of it is done");
}

#[tokio::test(start_paused = true)]
async fn a_connection_that_ends_while_it_waits_holds_up_nobody() {
    let pool = ConnectionPool::new(1000, 200);
    let steps = Arc::default();
    let mut tasks = JoinSet::new();
    let client = principal("client", Role::Client);
    for _ in 0..10 {
        start_busy_work(&mut tasks, &pool, &client, &steps);
    }
    tokio::task::yield_now().await;
    tasks.abort_all();
    while tasks.join_next().await.is_some() {}
    steps.lock().clear();
    start_busy_work(&mut tasks, &pool, &client, &steps);
    while tasks.join_next().await.is_some() {}
    assert_eq!(steps.lock().len(), STEPS);
}

#[test]
fn connections_of_the_owner_do_not_wait_for_each_other() {
    let pool = ConnectionPool::new(1000, 200);
    let connection = pool.add();
    connection.identify(&principal("owner", Role::Owner), false).unwrap();
    assert!(connection.turn_queue().is_none());
    let client = pool.add();
    assert!(client.turn_queue().is_none(), "it has shown no token");
    client.identify(&principal("client", Role::Client), false).unwrap();
    assert!(client.turn_queue().is_some());
}

#[tokio::test(start_paused = true)]
async fn a_connection_handles_short_messages_without_a_turn_for_each() {
    let pool = ConnectionPool::new(1000, 200);
    let client = principal("client", Role::Client);
    let connection = pool.add();
    connection.identify(&client, false).unwrap();
    let mut task = FairTask::new(
        Box::pin(async {
            loop {
                tokio::time::advance(QUANTUM / 4).await;
            }
        }),
        Some(connection),
    );
    let mut polls = 0;
    let mut cx = Context::from_waker(std::task::Waker::noop());
    while task.turn.is_none() {
        let polled: Poll<()> = Pin::new(&mut task).poll(&mut cx);
        assert!(polled.is_pending());
        polls += 1;
    }
    // The first quantum starts the window. The free time is 25 quanta of four messages; the next poll waits.
    assert_eq!(polls, 4 + 25 * 4 + 1);
}
