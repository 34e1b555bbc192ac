//! A data folder and a backup of version 0.1, on which the present program is started: nothing in them may be lost.
//!
//! `tests/data/data-folder-0.1` has what that version left behind, and what it answered about it.

#![cfg(unix)]
#![allow(
    clippy::unwrap_used,
    clippy::indexing_slicing,
    clippy::panic,
    reason = "helpers of tests fail by panicking"
)]

use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};

use former_names::RENAMED_FILE_KEYS;
use reports::check_former_names_are_told;
use serde_json::Value;
use tables::check_every_table_is_shown;
use toolway_tests::process::TestFolder;
use upgraded_gateway::{Upgrade, serve};
use walk::each_field;

#[path = "upgrade/former_names.rs"]
mod former_names;
#[path = "upgrade/reports.rs"]
mod reports;
#[path = "upgrade/tables.rs"]
mod tables;
#[path = "upgrade/upgraded_gateway.rs"]
mod upgraded_gateway;
#[path = "upgrade/walk.rs"]
mod walk;

/// A session and a call that are missing in the backup: they were made after it, before the last start.
const AFTER_THE_BACKUP: (&str, &str) = ("half-said", "01a2254a-53f1-7453-a24c-69d354f6b241");
const LAST_SEEN_BEFORE_THE_BACKUP_MS: i64 = 1_795_921_957_400;

fn golden(name: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("data/data-folder-0.1").join(name)
}

/// Copies files, for their owner alone.
fn copy_private(from: &Path, to: &Path) {
    fs::create_dir_all(to).unwrap();
    fs::set_permissions(to, fs::Permissions::from_mode(0o700)).unwrap();
    for entry in fs::read_dir(from).unwrap() {
        let entry = entry.unwrap();
        let copy = to.join(entry.file_name());
        if entry.file_type().unwrap().is_dir() {
            copy_private(&entry.path(), &copy);
        } else {
            fs::write(&copy, fs::read(entry.path()).unwrap()).unwrap();
            fs::set_permissions(&copy, fs::Permissions::from_mode(0o600)).unwrap();
        }
    }
}

/// Writes the present names into the owner's files, as the changelog says.
fn rename_file_keys(folder: &Path) {
    for (file, former, present) in RENAMED_FILE_KEYS {
        let path = folder.join(file);
        let text = fs::read_to_string(&path).unwrap();
        let renamed: Vec<String> = text
            .lines()
            .map(|line| match line.strip_prefix(former) {
                Some(rest) => format!("{present}{rest}\n"),
                None => format!("{line}\n"),
            })
            .collect();
        assert_ne!(renamed.concat(), text, "{file}: {former}");
        fs::write(path, renamed.concat()).unwrap();
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_data_folder_of_version_0_1_shows_everything_that_it_held() {
    let folder = TestFolder::new();
    copy_private(&golden("data"), &folder.data_path());
    let settings = fs::read(folder.data_path().join("toolway.toml")).unwrap();

    // The first start says what the owner should write anew, and loses nothing of what it can't read.
    let (code, log) = serve(&folder).await.program.stop().await;
    assert_eq!(code, 0, "{log}");
    let doctor = folder.run(["doctor"]).await.stdout;
    check_former_names_are_told(&log, &doctor, &folder.data_path());
    rename_file_keys(&folder.data_path());
    let upgrade = Upgrade::start(folder).await;

    let answers = upgrade.answers().await;
    upgrade.check_answers(&answers, |_, _| true);
    upgrade.check_policy_tests().await;
    upgrade.check_tokens().await;
    upgrade.check_settings_and_prices().await;
    upgrade.check_commands(&answers).await;
    check_every_table_is_shown(&golden("data/toolway.db"), &answers).await;

    let folder = upgrade.folder;
    let (_, log) = upgrade.gateway.program.stop().await;
    assert!(!log.contains(" ERROR "), "{log}");
    assert_eq!(fs::read(folder.data_path().join("toolway.toml")).unwrap(), settings);
    let copies = fs::read_dir(folder.data_path().join("backups")).unwrap();
    let copies: Vec<String> = copies.map(|copy| copy.unwrap().file_name().into_string().unwrap()).collect();
    assert!(copies.len() == 1 && copies[0].starts_with("toolway-4-"), "{copies:?}");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_backup_of_version_0_1_is_restored_with_everything_in_it() {
    let folder = TestFolder::new();
    let backup = golden("backup.toolway");
    let restored = folder.run_json(&["restore", "--yes", backup.to_str().unwrap()]).await;
    assert!(restored["files"].as_array().is_some_and(|files| files.len() == 18), "{restored}");
    // Files that the settings name by themselves are not in a backup, and neither are those of the tools.
    for kept_elsewhere in ["own-files", "files"] {
        copy_private(&golden("data").join(kept_elsewhere), &folder.data_path().join(kept_elsewhere));
    }
    rename_file_keys(&folder.data_path());
    let upgrade = Upgrade::start(folder).await;

    let answers = upgrade.answers().await;
    let (session, call) = AFTER_THE_BACKUP;
    upgrade.check_answers(&answers, |path, expected| {
        for (list, id) in [("sessions", session), ("calls", call)] {
            if let Some(elements) = expected.get_mut(list).and_then(Value::as_array_mut) {
                elements.retain(|element| element["id"] != id && element["call_id"] != id);
            }
        }
        // The tool of that call was called once less by then, and its device was last seen in an earlier start.
        each_field(expected, "devices[0].last_seen_ms", &mut |fields, name| {
            assert_eq!(fields["id"], "kitchen-tablet");
            fields[name] = LAST_SEEN_BEFORE_THE_BACKUP_MS.into();
        });
        if path == "/api/devices/kitchen-tablet" {
            expected["last_seen_ms"] = LAST_SEEN_BEFORE_THE_BACKUP_MS.into();
        }
        each_field(expected, "rows[].errors", &mut |fields, _| {
            if fields["key"] == "kitchen-tablet/hold" {
                fields["calls"] = 4.into();
                fields["errors"] = 4.into();
            }
        });
        !path.contains(session) && !path.contains(call)
    });
    upgrade.check_policy_tests().await;
    upgrade.check_tokens().await;
    upgrade.check_settings_and_prices().await;
}
