use super::*;
use crate::tests::support::{call, end, keyed, success};

fn queue(options: StoreOptions) -> WriteQueue {
    WriteQueue::new(&options)
}

fn opening(opened: OpenedCall) -> QueuedCall {
    QueuedCall::Opened(Arc::new(opened))
}

#[test]
fn the_number_of_records_is_limited() {
    let queue = queue(StoreOptions { queue_records: 2, ..StoreOptions::default() });
    assert!(queue.push(opening(call("a/b"))).is_ok());
    assert!(queue.push(opening(call("a/b"))).is_ok());
    assert!(queue.push(opening(call("a/b"))).is_err());
    // Records in the writer's hands count until they are settled.
    let taken = queue.take(Vec::new());
    assert_eq!(taken.records.len(), 2);
    assert!(queue.push(opening(call("a/b"))).is_err());
    queue.settle(&taken.records);
    assert!(queue.push(opening(call("a/b"))).is_ok());
    assert_eq!(queue.waiting(), 1);
}

#[test]
fn the_size_of_records_is_limited_but_one_always_fits() {
    let queue = queue(StoreOptions { queue_bytes: 1000, ..StoreOptions::default() });
    let large = || QueuedCall::Closed(end(&Arc::new(call("a/b")), success(&"x".repeat(5000))));
    assert!(queue.push(large()).is_ok());
    assert!(queue.push(large()).is_err());
    assert!(queue.push(opening(call("a/b"))).is_err());
    let taken = queue.take(Vec::new());
    queue.settle(&taken.records);
    assert!(queue.push(opening(call("a/b"))).is_ok());
    assert!(queue.push(large()).is_err());
}

#[test]
fn waiting_depends_on_durability_and_key() {
    let batch = queue(StoreOptions::default());
    let each = queue(StoreOptions { durability: Durability::Each, ..StoreOptions::default() });
    let plain = Arc::new(call("a/b"));
    let with_key = Arc::new(keyed("a/b", "k"));
    let waits = |queue: &WriteQueue, record| matches!(queue.push(record).unwrap(), RecordCommit::Pending(_));
    assert!(!waits(&batch, QueuedCall::Opened(Arc::clone(&plain))));
    assert!(!batch.status().urgent);
    assert!(waits(&batch, QueuedCall::Opened(Arc::clone(&with_key))));
    assert!(batch.status().urgent);
    assert!(!waits(&batch, QueuedCall::Closed(end(&with_key, success("")))));
    assert!(waits(&each, QueuedCall::Opened(Arc::clone(&plain))));
    assert!(waits(&each, QueuedCall::Closed(end(&plain, success("")))));
    each.set_degraded(true);
    assert!(!waits(&each, QueuedCall::Opened(plain)));
    assert!(!waits(&each, QueuedCall::Opened(with_key)));
}

#[test]
fn a_key_is_known_until_its_last_record_is_settled() {
    let queue = queue(StoreOptions::default());
    let opened = Arc::new(keyed("a/b", "k"));
    let ended = |found: Option<QueuedCall>| found.map(|record| matches!(record, QueuedCall::Closed(_)));
    let look = || ended(queue.find_keyed(&opened.principal, "k"));
    drop(queue.push(QueuedCall::Opened(Arc::clone(&opened))));
    assert_eq!(look(), Some(false));
    let first = queue.take(Vec::new());
    drop(queue.push(QueuedCall::Closed(end(&opened, success("")))));
    assert_eq!(look(), Some(true));
    queue.settle(&first.records);
    assert_eq!(look(), Some(true));
    let second = queue.take(Vec::new());
    queue.settle(&second.records);
    assert_eq!(look(), None);
}

#[tokio::test]
async fn closing_releases_all_waiters_and_returns_the_number_of_records() {
    let queue = queue(StoreOptions::default());
    let commit = queue.push(opening(keyed("a/b", "k"))).unwrap();
    let (answer, answered) = oneshot::channel();
    queue.push_work(WriterJob::Flush(answer)).unwrap();
    assert_eq!(queue.close(), 1);
    commit.wait().await;
    assert!(answered.await.is_err());
    assert!(queue.push(opening(call("a/b"))).is_err());
    assert!(queue.find_keyed(&call("a/b").principal, "k").is_none());
}
