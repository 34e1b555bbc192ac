use super::*;
use crate::memory_budget::MemoryBudget;

fn principal(id: &str, role: Role) -> Principal {
    Principal { id: id.into(), role, agent: None }
}

#[tokio::test(start_paused = true)]
async fn the_oldest_connection_without_a_token_makes_room() {
    let pool = ConnectionPool::new(20_000, 256);
    let first = pool.add();
    let owner = pool.add();
    owner.identify(&principal("owner", Role::Owner), false).unwrap();
    let others: Vec<_> = (0..MAX_ANONYMOUS).map(|_| pool.add()).collect();
    assert_eq!(pool.anonymous(), MAX_ANONYMOUS);
    first.wait_until_unwanted(Duration::MAX).await;
    assert!(!owner.0.evicted.is_cancelled() && !others[0].0.evicted.is_cancelled());
    drop((first, others));
    assert_eq!(pool.anonymous(), 0);
}

#[tokio::test(start_paused = true)]
async fn a_connection_has_some_time_to_show_a_token() {
    let pool = ConnectionPool::new(20, 4);
    let (silent, client) = (pool.add(), pool.add());
    client.identify(&principal("client", Role::Client), false).unwrap();
    let started = tokio::time::Instant::now();
    tokio::select! {
        () = silent.wait_until_unwanted(Duration::from_secs(10)) => {}
        () = client.wait_until_unwanted(Duration::from_secs(5)) => panic!("it has shown one"),
    }
    assert_eq!(started.elapsed(), Duration::from_secs(10));
}

#[test]
fn connections_are_shared_out() {
    let pool = ConnectionPool::new(100, 16);
    let phone = principal("phone", Role::Device);
    let held: Vec<_> = (0..2).map(|_| pool.add()).collect();
    assert!(held.iter().all(|connection| connection.identify(&phone, false).is_ok()));
    assert!(held[0].identify(&phone, false).is_ok(), "counted once");
    let third = pool.add();
    assert_eq!(third.identify(&phone, false), Err(NoPlace::ShareUsed(2)));
    // A proxy may use a connection for requests of many clients.
    assert!(third.identify(&phone, true).is_ok());
    drop(held);
    assert!(pool.add().identify(&phone, false).is_ok());
}

#[test]
fn unfinished_frames_are_counted() {
    let budget = MemoryBudget::new(256 << 20, 4 << 20);
    let connection = ConnectionPool::new(20, 4).add();
    connection.count_frames(&budget.open(&principal("phone", Role::Device)));
    let frames = connection.frames().unwrap();
    frames.add(1 << 20);
    frames.add(8 << 10);
    assert_eq!(budget.usage().used, 2 << 20, "twice the bytes, without the first 16 KiB");
    frames.control_frame_complete(125);
    assert_eq!(budget.usage().used, 2 << 20, "131 bytes less, in units");
    frames.begin_message((1 << 20) + (8 << 10)).unwrap();
    assert_eq!(budget.usage().used, 2 << 20, "while the message is handled");
    frames.end_message();
    assert_eq!(budget.usage().used, 0);
}

#[tokio::test]
async fn a_connection_without_memory_for_its_frames_is_closed() {
    let budget = MemoryBudget::new(256 << 20, 4 << 20);
    let account = budget.open(&principal("phone", Role::Device));
    let connection = ConnectionPool::new(20, 4).add();
    connection.count_frames(&account);
    connection.frames().unwrap().add(32 << 20);
    connection.frames().unwrap().add(1 << 20);
    account.closed().await;
}
