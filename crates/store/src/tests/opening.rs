use std::fs;

use super::support::{StoreHarness, call, execute, number, options, other_connection};
use crate::migrations::{MIGRATIONS, Migration};
use crate::tokens::TokenRecord;
use crate::{CallFilter, Store, StoreError};
use std::sync::Arc;
use toolway_types::{Code, Role};

const NEXT: &[Migration] = &[
    MIGRATIONS[0],
    MIGRATIONS[1],
    MIGRATIONS[2],
    MIGRATIONS[3],
    MIGRATIONS[4],
    MIGRATIONS[5],
    Migration { version: 7, sql: "ALTER TABLE tokens ADD COLUMN colour TEXT;" },
];
const BROKEN: &[Migration] = &[
    MIGRATIONS[0],
    MIGRATIONS[1],
    MIGRATIONS[2],
    MIGRATIONS[3],
    MIGRATIONS[4],
    MIGRATIONS[5],
    Migration { version: 7, sql: "CREATE TABLE half (x INTEGER); INSERT INTO nowhere VALUES (1);" },
];

fn token(id: &str) -> TokenRecord {
    TokenRecord {
        id: id.to_owned(),
        hash: [3; 32],
        role: Role::Client,
        label: "laptop".to_owned(),
        agent: None,
        device_id: None,
        device_name: None,
        platform: None,
        created_ms: 5,
        expires_ms: None,
        revoked_ms: None,
        last_used_ms: None,
    }
}

#[cfg(unix)]
#[tokio::test]
async fn only_the_owner_can_read_folder_and_files() {
    use std::os::unix::fs::PermissionsExt;
    let mode = |path: &std::path::Path| fs::metadata(path).unwrap().permissions().mode() & 0o777;

    let folder = StoreHarness::new();
    let store = folder.open().await;
    store.tokens().insert(&token("a")).await.unwrap();
    assert_eq!(mode(&folder.path()), 0o700);
    let backup = folder.sibling_path("backup.db");
    store.backup(&backup).await.unwrap();
    assert_eq!(mode(&backup), 0o600);
    for suffix in ["", "-wal", "-shm"] {
        let file = folder.path().join(format!("toolway.db{suffix}"));
        assert_eq!(mode(&file), 0o600, "{}", file.display());
    }
    store.close().await;

    // Opening restricts a file that others could read.
    fs::set_permissions(folder.database(), fs::Permissions::from_mode(0o644)).unwrap();
    let store = folder.open_migrated(NEXT).await.unwrap();
    assert_eq!(mode(&folder.database()), 0o600);
    assert_eq!(mode(&folder.path().join("backups")), 0o700);
    for copy in fs::read_dir(folder.path().join("backups")).unwrap() {
        assert_eq!(mode(&copy.unwrap().path()), 0o600);
    }
    store.close().await;
}

#[tokio::test]
async fn an_upgrade_keeps_a_copy_from_before() {
    let folder = StoreHarness::new();
    let store = folder.open().await;
    store.tokens().insert(&token("before")).await.unwrap();
    store.close().await;
    let backups = folder.path().join("backups");
    assert!(!backups.exists());

    let store = folder.open_migrated(NEXT).await.unwrap();
    assert_eq!(store.tokens().list().await.unwrap(), [token("before")]);
    store.close().await;
    let copy = backups.join("toolway-6-20270115T080000Z.db");
    assert_eq!(number(&copy, "SELECT count(*) FROM tokens WHERE id = 'before'").await, 1);
    assert_eq!(number(&copy, "PRAGMA user_version").await, 6);
    assert_eq!(number(&folder.database(), "PRAGMA user_version").await, 7);

    // An up-to-date database is not copied.
    folder.open_migrated(NEXT).await.unwrap().close().await;
    assert_eq!(fs::read_dir(&backups).unwrap().count(), 1);
}

#[tokio::test]
async fn the_newest_three_copies_are_kept() {
    let folder = StoreHarness::new();
    folder.open().await.close().await;
    let backups = folder.path().join("backups");
    fs::create_dir(&backups).unwrap();
    for year in [2023, 2024, 2025, 2026] {
        fs::write(backups.join(format!("toolway-1-{year}0101T000000Z.db")), "").unwrap();
    }
    fs::write(backups.join("mine.db"), "").unwrap();

    folder.open_migrated(NEXT).await.unwrap().close().await;
    let mut names: Vec<String> = fs::read_dir(&backups)
        .unwrap()
        .map(|entry| entry.unwrap().file_name().into_string().unwrap())
        .collect();
    names.sort();
    let kept = [
        "mine.db",
        "toolway-1-20250101T000000Z.db",
        "toolway-1-20260101T000000Z.db",
        "toolway-6-20270115T080000Z.db",
    ];
    assert_eq!(names, kept);
}

#[tokio::test]
async fn a_step_that_fails_leaves_the_version_before() {
    let folder = StoreHarness::new();
    folder.open().await.close().await;
    assert!(matches!(folder.open_migrated(BROKEN).await, Err(StoreError::Database { doing: "upgrade", .. })));
    assert_eq!(number(&folder.database(), "PRAGMA user_version").await, 6);
    assert_eq!(number(&folder.database(), "SELECT count(*) FROM sqlite_schema WHERE name = 'half'").await, 0);
    folder.open().await.close().await;
}

#[tokio::test]
async fn a_newer_database_is_refused_and_not_changed() {
    let folder = StoreHarness::new();
    folder.open_migrated(NEXT).await.unwrap().close().await;
    let before = fs::read(folder.database()).unwrap();

    let error = Store::open(&folder.path(), folder.clock.clone(), options()).await.unwrap_err();
    assert!(matches!(error, StoreError::TooNew { found: 7, known: 6, .. }));
    let words = error.to_string();
    for part in ["toolway.db", "its version is 7", "versions up to 6", "newer program", "backups"] {
        assert!(words.contains(part), "{words}");
    }
    assert!(before == fs::read(folder.database()).unwrap());
}

#[tokio::test]
async fn a_newer_version_that_is_only_in_the_log_is_refused() {
    let folder = StoreHarness::new();
    folder.open().await.close().await;
    let mut other = other_connection(&folder.database()).await;
    sqlx::raw_sql("PRAGMA user_version = 9").execute(&mut other).await.unwrap();
    assert_eq!(fs::read(folder.database()).unwrap()[60..64], [0, 0, 0, 6]);

    let error = Store::open(&folder.path(), folder.clock.clone(), options()).await.unwrap_err();
    assert!(matches!(error, StoreError::TooNew { found: 9, known: 6, .. }));
}

#[tokio::test]
async fn a_file_that_is_not_a_database_is_refused_and_not_changed() {
    let half_a_head = *b"SQLite format 3\0\x10\0";
    for garbage in [&b"not a database, but somebody's letter"[..], &[0; 5000], &half_a_head] {
        let folder = StoreHarness::new();
        fs::create_dir(folder.path()).unwrap();
        fs::write(folder.database(), garbage).unwrap();
        let error = Store::open(&folder.path(), folder.clock.clone(), options()).await.unwrap_err();
        assert!(matches!(error, StoreError::NotADatabase { .. }), "{error}");
        assert!(error.to_string().contains("the file was not changed"), "{error}");
        assert!(fs::read(folder.database()).unwrap() == garbage);
        assert_eq!(fs::read_dir(folder.path()).unwrap().count(), 1);
    }
}

#[tokio::test]
async fn another_programs_database_is_refused_and_not_changed() {
    let folder = StoreHarness::new();
    fs::create_dir(folder.path()).unwrap();
    let mut other = other_connection(&folder.database()).await;
    sqlx::raw_sql("CREATE TABLE theirs (x)").execute(&mut other).await.unwrap();
    let before = fs::read(folder.database()).unwrap();

    let error = Store::open(&folder.path(), folder.clock.clone(), options()).await.unwrap_err();
    assert!(matches!(error, StoreError::ForeignDatabase { .. }), "{error}");
    assert!(before == fs::read(folder.database()).unwrap());
}

#[tokio::test]
async fn calls_open_at_a_crash_are_closed_as_gateway_restarted() {
    let folder = StoreHarness::new();
    let store = folder.open().await;
    let open = Arc::new(call("phone/battery"));
    drop(store.recorder().open(Arc::clone(&open)));
    let done = super::support::record(&store, call("phone/battery"), super::support::success("87"));
    store.flush().await.unwrap();

    let after = folder.copy_after_crash();
    let reopened = after.open().await;
    assert_eq!(reopened.closed_at_open(), 1);
    let row = reopened.calls().get(open.id).await.unwrap().unwrap();
    assert_eq!(row.code, Some(Code::GatewayRestarted));
    let envelope = row.outcome.unwrap().to_value();
    assert_eq!(envelope["status"], "error");
    assert_eq!(envelope["code"], "gateway_restarted");
    assert_eq!(envelope["dispatched"], true);
    assert!(envelope["hint"].as_str().unwrap().contains("may have had its effects"));
    assert_eq!((row.total_us, row.running_us), (0, 0));
    let other = reopened.calls().get(done).await.unwrap().unwrap();
    assert_eq!(other.code, None);

    // The next start finds no open calls.
    reopened.close().await;
    let again = after.open().await;
    assert_eq!(again.closed_at_open(), 0);
    assert_eq!(again.calls().list(&CallFilter::default(), None, 10).await.unwrap().calls.len(), 2);
}

#[tokio::test]
async fn a_crash_during_creation_is_recovered() {
    // The most that the file can contain before its first table.
    let folder = StoreHarness::new();
    fs::create_dir(folder.path()).unwrap();
    fs::write(folder.database(), "").unwrap();
    folder.open().await.close().await;

    let folder = StoreHarness::new();
    fs::create_dir(folder.path()).unwrap();
    let claim = format!("PRAGMA application_id = {}", crate::migrations::APPLICATION_ID);
    execute(&folder.database(), &claim).await;
    folder.open().await.close().await;
    assert_eq!(number(&folder.database(), "PRAGMA user_version").await, 6);
}
