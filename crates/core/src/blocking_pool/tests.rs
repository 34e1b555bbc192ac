use std::sync::mpsc;

use super::*;

/// Starts a job that runs until its sender is dropped. Returns after it has started.
async fn start_job(pool: &Arc<BlockingPool>, owner: &'static str) -> mpsc::Sender<()> {
    let (end, ended) = mpsc::channel::<()>();
    let (start, started) = tokio::sync::oneshot::channel();
    let pool = Arc::clone(pool);
    tokio::spawn(async move {
        pool.run(owner, move || {
            let _ = start.send(());
            let _ = ended.recv();
        })
        .await
    });
    started.await.unwrap();
    end
}

#[tokio::test]
async fn jobs_of_one_owner_leave_a_place_to_others() {
    let pool = Arc::new(BlockingPool::new(2, 1));
    let running = start_job(&pool, "a").await;
    let second = tokio::spawn({
        let pool = Arc::clone(&pool);
        async move { pool.run("a", || "second").await }
    });
    assert_eq!(pool.run("b", || "other").await, Ok("other"));
    assert!(!second.is_finished(), "the owner's first job still runs");
    drop(running);
    assert_eq!(second.await.unwrap(), Ok("second"));
}

#[tokio::test]
async fn a_job_without_a_place_waits() {
    let pool = Arc::new(BlockingPool::new(1, 1));
    let running = start_job(&pool, "a").await;
    let other = tokio::spawn({
        let pool = Arc::clone(&pool);
        async move { pool.run("b", || 1).await }
    });
    tokio::task::yield_now().await;
    assert!(!other.is_finished());
    drop(running);
    assert_eq!(other.await.unwrap(), Ok(1));
}

#[tokio::test]
async fn a_job_that_panics_fails_alone() {
    let pool = BlockingPool::new(1, 1);
    let failed: Result<(), _> = pool.run("a", || panic!("as expected")).await;
    assert_eq!(failed, Err(JobFailed));
    assert_eq!(pool.run("a", || 2).await, Ok(2));
}

#[tokio::test]
async fn owners_without_jobs_are_forgotten() {
    let pool = BlockingPool::new(1, 1);
    for owner in 0..1000 {
        assert_eq!(pool.run(&owner.to_string(), move || owner).await, Ok(owner));
    }
    assert!(pool.owners.lock().len() <= SWEEP_AT);
}
