use std::fs;

use tokio::time::{sleep, timeout};

use super::*;

#[tokio::test(start_paused = true)]
async fn a_change_counts_once_the_file_is_stable() {
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("toolway.toml");
    fs::write(&path, "all of the rules").unwrap();
    let mut watched = WatchedFile::new(path.clone());
    let written = path.clone();
    let writing = tokio::spawn(async move {
        // Writing starts before the first check and ends long after it.
        sleep(POLL_INTERVAL - SETTLE_DELAY).await;
        for length in 1..40 {
            fs::write(&written, "x".repeat(length)).unwrap();
            sleep(SETTLE_DELAY / 2).await;
        }
        fs::write(&written, "whole").unwrap();
    });
    watched.wait_for_change().await;
    assert_eq!(fs::read_to_string(&path).unwrap(), "whole");
    writing.await.unwrap();
    assert!(timeout(POLL_INTERVAL * 3, watched.wait_for_change()).await.is_err());
}

#[tokio::test(start_paused = true)]
async fn a_file_that_is_briefly_missing_does_not_count_as_removed() {
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("toolway.toml");
    let aside = dir.path().join("aside");
    fs::write(&path, "rules").unwrap();
    let mut watched = WatchedFile::new(path.clone());
    let moving = tokio::spawn({
        let (path, aside) = (path.clone(), aside.clone());
        async move {
            sleep(POLL_INTERVAL - SETTLE_DELAY / 3).await;
            fs::rename(&path, &aside).unwrap();
            sleep(SETTLE_DELAY).await;
            fs::rename(&aside, &path).unwrap();
        }
    });
    assert!(timeout(POLL_INTERVAL * 3, watched.wait_for_change()).await.is_err());
    moving.await.unwrap();
    fs::remove_file(&path).unwrap();
    watched.wait_for_change().await;
}
