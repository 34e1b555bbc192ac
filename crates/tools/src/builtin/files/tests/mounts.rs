//! What needs mounts of its own: a full disk, a read-only one, and the data folder mounted a second time. Each
//! of these tests starts itself again in a mount namespace, where mounting harms nobody. Where that is not
//! allowed it says so and shows nothing.

use std::fs;
use std::path::Path;
use std::process::Command;

use toolway_types::Code;

use super::super::FileAccess;
use super::harness::{FileAccessHarness, SECRET, assert_no_parts, listed, names};

/// Says to the second run that it is one.
const INSIDE: &str = "TOOLWAY_TEST_IN_MOUNT_NAMESPACE";

/// Runs the test of this name in a mount namespace; true in that run, where the test then goes on.
fn in_mount_namespace(test: &str) -> bool {
    if std::env::var_os(INSIDE).is_some() {
        return true;
    }
    let possible = |flags: &[&str]| {
        let script = "mount -t tmpfs -o size=16k tmpfs /mnt";
        let tried = Command::new("unshare").args(flags).args(["--", "sh", "-c", script]).output();
        tried.is_ok_and(|output| output.status.success())
    };
    let ways: [&[&str]; 2] = [&["--mount"], &["--mount", "--map-root-user"]];
    let Some(flags) = ways.into_iter().find(|flags| possible(flags)) else {
        println!("{test}: not shown, for this system lets nobody mount");
        return false;
    };
    let test = format!("builtin::files::tests::mounts::{test}");
    let output = Command::new("unshare")
        .args(flags)
        .arg("--")
        .arg(std::env::current_exe().unwrap())
        .args(["--exact", &test, "--nocapture"])
        .env(INSIDE, "1")
        .output()
        .unwrap();
    let told =
        format!("{}{}", String::from_utf8_lossy(&output.stdout), String::from_utf8_lossy(&output.stderr));
    assert!(output.status.success() && told.contains("1 passed"), "{told}");
    false
}

#[track_caller]
fn mount(arguments: &[&str], at: &Path) {
    let output = Command::new("mount").args(arguments).arg(at).output().unwrap();
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
}

#[track_caller]
fn bind(from: &Path, to: &Path) {
    mount(&["--bind", from.to_str().unwrap()], to);
}

#[test]
fn a_full_disk_leaves_the_old_content() {
    if !in_mount_namespace("a_full_disk_leaves_the_old_content") {
        return;
    }
    let world = FileAccessHarness::new();
    mount(&["-t", "tmpfs", "-o", "size=64k", "tmpfs"], &world.at("docs"));
    world.write("docs/a.txt", "old").unwrap();
    world.append("docs/log.txt", "line\n").unwrap();
    let much = "x".repeat(200 << 10);
    let failures = [
        world.write("docs/a.txt", &much).unwrap_err(),
        world.append("docs/log.txt", &much).unwrap_err(),
        world.write("docs/new.txt", &much).unwrap_err(),
        world.append("docs/new-log.txt", &much).unwrap_err(),
    ];
    for error in failures {
        assert_eq!(error.code, Code::ToolFailed, "{error:?}");
        assert!(error.message.ends_with("there is no space left on the disk"), "{error:?}");
    }
    assert_eq!(world.read("docs/a.txt").unwrap(), "old");
    assert_eq!(world.read("docs/log.txt").unwrap(), "line\n");
    assert_no_parts(&world.at("docs"));
    let mut left = names(&world.at("docs"));
    left.sort();
    assert_eq!(left, ["a.txt", "log.txt"]);
    // What failed has given its room back.
    world.write("docs/a.txt", &"y".repeat(20 << 10)).unwrap();
}

#[test]
fn a_read_only_disk_is_told_as_such() {
    if !in_mount_namespace("a_read_only_disk_is_told_as_such") {
        return;
    }
    let world = FileAccessHarness::new();
    fs::write(world.at("docs/a.txt"), "old").unwrap();
    bind(&world.at("docs"), &world.at("docs"));
    mount(&["-o", "remount,bind,ro"], &world.at("docs"));
    for path in ["docs/a.txt", "docs/new.txt", "docs/new/new.txt"] {
        for error in [world.write(path, "x").unwrap_err(), world.append(path, "x").unwrap_err()] {
            assert_eq!(error.message, format!("Can't write {path}: the disk is read-only"));
        }
    }
    assert_eq!(world.read("docs/a.txt").unwrap(), "old");
}

#[test]
fn a_second_mount_does_not_reach_the_data_folder_e10() {
    if !in_mount_namespace("a_second_mount_does_not_reach_the_data_folder_e10") {
        return;
    }
    let mut world = FileAccessHarness::new();
    world.write("a.txt", "mine").unwrap();
    for folder in ["data", "tls", "other", "everything", "harmless", "own"] {
        fs::create_dir(world.at("docs").join(folder)).unwrap();
    }
    for file in ["docs/token.txt", "docs/page.txt"] {
        fs::write(world.at(file), "").unwrap();
    }
    let at = |path: &str| world.at(path);
    bind(&at("data"), &at("docs/data"));
    bind(&at("data/tls"), &at("docs/tls"));
    bind(&at("data/files/other"), &at("docs/other"));
    bind(&at("data/files/helper"), &at("docs/own"));
    bind(&at("data/owner.token"), &at("docs/token.txt"));
    bind(&at("manual/page.txt"), &at("docs/page.txt"));
    bind(&at("manual"), &at("docs/harmless"));
    // What contains the data folder may be mounted; the data folder in it stays what it is.
    bind(&at(""), &at("docs/everything"));
    let paths = [
        "docs/data/owner.token",
        "docs/tls/key.pem",
        "docs/tls",
        "docs/other/x.txt",
        "docs/everything/data/tls",
        "docs/everything/data/owner.token",
        "docs/own/a.txt",
    ];
    for path in paths {
        let error = world.read(path).unwrap_err();
        assert_eq!(error.code, Code::Denied, "{path}: {error:?}");
        assert_eq!(world.write(path, "x").unwrap_err().code, Code::Denied, "{path}");
        assert_eq!(world.append(path, "x").unwrap_err().code, Code::Denied, "{path}");
    }
    assert_eq!(world.read("docs/token.txt").unwrap_err().code, Code::Denied);
    assert_eq!(world.append("docs/token.txt", "x").unwrap_err().code, Code::Denied);
    assert_eq!(world.write("docs/token.txt", "x").unwrap_err().code, Code::Denied);
    assert_eq!(world.list("docs/tls").unwrap_err().code, Code::Denied);
    let listing = world.list_all("docs").unwrap();
    let shown: Vec<_> = listing.entries.iter().map(|entry| entry.name.as_str()).collect();
    for name in ["key.pem", "owner.token", "toolway.db", "other/x.txt", "own/a.txt"] {
        assert!(shown.iter().all(|shown| !shown.ends_with(name)), "{name} in {shown:?}");
    }
    assert!(shown.contains(&"harmless/page.txt"));
    // Other mounts are as good as folders.
    assert_eq!(world.read("docs/page.txt").unwrap(), "read me");
    assert_eq!(world.read("docs/harmless/page.txt").unwrap(), "read me");
    assert_eq!(world.read("docs/everything/manual/page.txt").unwrap(), "read me");
    world.assert_untouched();
    // A listed folder that is such a mount itself.
    for path in ["docs/tls", "docs/other"] {
        world.replace_folders(vec![listed("a", &world.at(path), true)]).unwrap();
        assert_eq!(world.list("a").unwrap_err().code, Code::Denied, "{path}");
        assert_eq!(world.write("a/new.txt", "x").unwrap_err().code, Code::Denied, "{path}");
    }
    let whole = FileAccess::new(&world.at("data"), vec![listed("a", &world.at("docs/data"), true)]);
    assert!(whole.is_err());
    world.assert_untouched();
    assert_eq!(fs::read_to_string(world.at("docs/token.txt")).unwrap(), SECRET);
}

#[test]
fn a_disk_that_is_mounted_later_is_found() {
    if !in_mount_namespace("a_disk_that_is_mounted_later_is_found") {
        return;
    }
    let world = FileAccessHarness::new();
    world.write("docs/a.txt", "below").unwrap();
    mount(&["-t", "tmpfs", "-o", "size=64k", "tmpfs"], &world.at("docs"));
    assert_eq!(world.read("docs/a.txt").unwrap_err().code, Code::FileNotFound);
    world.write("docs/a.txt", "above").unwrap();
    assert_eq!(world.read("docs/a.txt").unwrap(), "above");
}
