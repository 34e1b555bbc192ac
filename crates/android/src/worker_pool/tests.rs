use std::sync::mpsc::channel;
use std::thread::ThreadId;

use super::*;

/// A timeout that is only reached in a failing test.
const AMPLE: Duration = Duration::from_secs(30);

/// Returns the owner for the only provider of an app.
fn lane(name: &str) -> JobOwner {
    JobOwner::new(name, format!("{name}.tools"))
}

#[tokio::test]
async fn the_thread_of_a_job_is_reused() {
    let workers = WorkerPool::default();
    let here = std::thread::current().id();
    let mut threads: Vec<ThreadId> = Vec::new();
    for _ in 0..3 {
        let thread = workers.run(&lane("a"), AMPLE, || std::thread::current().id()).await.unwrap();
        assert_ne!(thread, here);
        threads.push(thread);
        // The thread is added to the idle list after it has answered.
        while workers.state.lock().idle.is_empty() {
            tokio::task::yield_now().await;
        }
    }
    threads.dedup();
    assert_eq!(threads.len(), 1);
}

#[tokio::test]
async fn a_hanging_provider_is_abandoned_counted_and_not_called_again_a1() {
    let workers = WorkerPool::default();
    let mut releases = Vec::new();
    for already in 0..MAX_STUCK_PER_PROVIDER {
        assert_eq!(workers.stuck_in(&lane("hung")), already);
        let (release, hold) = channel::<()>();
        releases.push(release);
        let missed = workers.run(&lane("hung"), Duration::from_millis(20), move || hold.recv().ok()).await;
        assert_eq!(missed, Err(JobError::TimedOut));
    }
    assert_eq!(workers.run(&lane("hung"), AMPLE, || 1).await, Err(JobError::Hanging));
    assert_eq!(workers.run(&lane("other"), AMPLE, || 1).await, Ok(1), "nobody else is kept waiting");
    drop(releases);
    while workers.stuck_in(&lane("hung")) > 0 {
        tokio::task::yield_now().await;
    }
    assert_eq!(workers.run(&lane("hung"), AMPLE, || 1).await, Ok(1), "it answers again");
    assert!(workers.state.lock().apps.is_empty(), "nothing is kept of apps that are done with");
}

#[tokio::test]
async fn a_cancelled_call_counts_as_abandoned() {
    let workers = WorkerPool::default();
    let (started, has_started) = tokio::sync::oneshot::channel();
    let (release, hold) = channel::<()>();
    let call = tokio::spawn({
        let workers = workers.clone();
        async move {
            workers
                .run(&lane("a"), AMPLE, move || {
                    let _ = started.send(());
                    hold.recv().ok()
                })
                .await
        }
    });
    has_started.await.unwrap();
    call.abort();
    assert!(call.await.is_err());
    assert_eq!(workers.stuck_in(&lane("a")), 1);
    drop(release);
    while workers.stuck_in(&lane("a")) > 0 {
        tokio::task::yield_now().await;
    }
}

#[tokio::test]
async fn a_panic_is_an_error_and_costs_no_thread() {
    let workers = WorkerPool::default();
    let quiet = || std::panic::resume_unwind(Box::new("no message"));
    let result: Result<(), JobError> = workers.run(&lane("a"), AMPLE, quiet).await;
    assert_eq!(result, Err(JobError::Panicked));
    assert_eq!(workers.stuck_in(&lane("a")), 0);
    assert_eq!(workers.run(&lane("a"), AMPLE, || 1).await, Ok(1));
}

#[tokio::test]
async fn the_number_of_parallel_jobs_per_provider_is_limited() {
    let workers = WorkerPool::default();
    let running = Arc::new(Mutex::new((0usize, 0usize)));
    let calls = (0..MAX_WAITING_PER_APP).map(|_| {
        let (workers, running) = (workers.clone(), Arc::clone(&running));
        tokio::spawn(async move {
            workers
                .run(&lane("a"), AMPLE, move || {
                    {
                        let mut running = running.lock();
                        running.0 += 1;
                        running.1 = running.1.max(running.0);
                    }
                    std::thread::yield_now();
                    running.lock().0 -= 1;
                })
                .await
        })
    });
    for call in calls.collect::<Vec<_>>() {
        assert_eq!(call.await.unwrap(), Ok(()));
    }
    let most = running.lock().1;
    assert!((1..=MAX_RUNNING_PER_APP).contains(&most), "{most} at a time");
}

#[tokio::test]
async fn many_hanging_providers_of_one_app_do_not_block_other_apps() {
    let workers = WorkerPool::default();
    let mut releases = Vec::new();
    let mut missed = Vec::new();
    for n in 0..300 {
        let (release, hold) = channel::<()>();
        releases.push(release);
        let lane = JobOwner::new("many", format!("many.{n}"));
        missed.push(workers.run(&lane, Duration::from_millis(5), move || hold.recv().ok()).await);
    }
    let hung = |missed: &&Result<_, JobError>| **missed == Err(JobError::TimedOut);
    assert_eq!(missed.iter().filter(hung).count(), MAX_STUCK_PER_APP);
    assert!(missed.iter().skip(MAX_STUCK_PER_APP).all(|missed| *missed == Err(JobError::Hanging)));
    assert_eq!(workers.run(&lane("other"), AMPLE, || 1).await, Ok(1));
}

#[tokio::test]
async fn jobs_over_the_limit_of_an_app_fail_at_once() {
    let workers = WorkerPool::default();
    let (release, hold) = channel::<()>();
    let hold = Arc::new(Mutex::new(hold));
    let call = |timeout| {
        let (workers, hold) = (workers.clone(), Arc::clone(&hold));
        tokio::spawn(async move { workers.run(&lane("a"), timeout, move || hold.lock().recv().ok()).await })
    };
    let running: Vec<_> = (0..MAX_RUNNING_PER_APP).map(|_| call(AMPLE)).collect();
    while workers.state.lock().apps.get("a").is_none_or(|app| app.permits.available_permits() > 0) {
        tokio::task::yield_now().await;
    }
    assert_eq!(call(Duration::from_millis(5)).await.unwrap(), Err(JobError::NotStarted));
    let waiting: Vec<_> = (MAX_RUNNING_PER_APP..MAX_WAITING_PER_APP).map(|_| call(AMPLE)).collect();
    while workers.state.lock().apps.get("a").is_some_and(|app| app.running < MAX_WAITING_PER_APP) {
        tokio::task::yield_now().await;
    }
    assert_eq!(workers.run(&lane("a"), AMPLE, || 1).await, Err(JobError::QueueFull));
    drop(release);
    for call in running.into_iter().chain(waiting) {
        assert_eq!(call.await.unwrap(), Ok(None));
    }
}
