use std::time::Duration;

use futures_util::FutureExt as _;

use super::*;

#[tokio::test]
async fn entries_arrive_in_order_up_to_the_capacity() {
    let (sender, mut receiver) = bounded(3);
    for number in 0..3 {
        assert_eq!(sender.try_send(number), Ok(()));
    }
    assert_eq!(sender.try_send(3), Err(NotQueued::Full(3)));
    for number in 0..3 {
        assert_eq!(receiver.recv().await, Some(number));
    }
    assert_eq!(receiver.try_recv(), None);
}

#[tokio::test]
async fn a_receiver_that_waits_is_woken_by_an_entry_and_by_the_last_sender_that_leaves() {
    let (sender, mut receiver) = bounded(3);
    let received = tokio::spawn(async move {
        let first = receiver.recv().await;
        (first, receiver.recv().await)
    });
    tokio::task::yield_now().await;
    let other = sender.clone();
    sender.try_send("a").unwrap();
    drop(sender);
    tokio::task::yield_now().await;
    drop(other);
    assert_eq!(received.await.unwrap(), (Some("a"), None));
}

#[tokio::test(start_paused = true)]
async fn every_sender_that_waits_gets_its_place() {
    const SENDERS: usize = 20;
    let (sender, mut receiver) = bounded(2);
    let mut sending = tokio::task::JoinSet::new();
    for number in 0..SENDERS {
        let sender = sender.clone();
        sending.spawn(async move {
            for entry in 0..10 {
                assert!(sender.send((number, entry)).await);
            }
        });
    }
    drop(sender);
    let mut received = Vec::new();
    // Takes two at once, so that more places become free than senders are woken for.
    while let Ok(Some(first)) = tokio::time::timeout(Duration::from_secs(60), receiver.recv()).await {
        received.extend(std::iter::once(first).chain(receiver.try_recv()));
    }
    assert_eq!(received.len(), SENDERS * 10);
    for number in 0..SENDERS {
        let entries = received.iter().filter(|(of, _)| *of == number).map(|(_, entry)| *entry);
        assert_eq!(entries.collect::<Vec<_>>(), (0..10).collect::<Vec<_>>(), "in the order of one sender");
    }
    sending.join_all().await;
}

#[tokio::test(start_paused = true)]
async fn a_place_that_a_cancelled_sender_was_woken_for_goes_to_the_next() {
    let (sender, mut receiver) = bounded(1);
    sender.try_send(0).unwrap();
    let mut first = Box::pin(sender.send(1));
    let mut second = Box::pin(sender.send(2));
    assert_eq!((first.as_mut().now_or_never(), second.as_mut().now_or_never()), (None, None));
    assert_eq!(receiver.try_recv(), Some(0));
    drop(first);
    assert_eq!(tokio::time::timeout(Duration::from_secs(60), second).await, Ok(true));
    assert_eq!(receiver.try_recv(), Some(2));
}

#[tokio::test]
async fn a_closed_queue_takes_nothing_and_gives_what_it_has() {
    let (sender, mut receiver) = bounded(1);
    sender.try_send(0).unwrap();
    let waiting = tokio::spawn({
        let sender = sender.clone();
        async move { sender.send(1).await }
    });
    tokio::task::yield_now().await;
    receiver.close();
    assert!(!waiting.await.unwrap());
    assert_eq!(sender.try_send(2), Err(NotQueued::Closed));
    assert_eq!(receiver.recv().await, Some(0));
    assert_eq!(receiver.recv().await, None);
}

#[test]
fn dropping_the_receiver_drops_the_entries_and_closes_the_queue() {
    let (sender, receiver) = bounded(4);
    let entry = Arc::new(());
    sender.try_send(Arc::clone(&entry)).unwrap();
    drop(receiver);
    assert_eq!(Arc::strong_count(&entry), 1);
    assert_eq!(sender.try_send(entry), Err(NotQueued::Closed));
}

#[test]
fn an_empty_queue_keeps_little_memory() {
    let (sender, mut receiver) = bounded(1000);
    assert_eq!(receiver.0.state.lock().entries.capacity(), 0);
    for number in 0..1000 {
        sender.try_send(number).unwrap();
    }
    while receiver.try_recv().is_some() {}
    assert!(receiver.0.state.lock().entries.capacity() <= KEPT_PLACES);
}
