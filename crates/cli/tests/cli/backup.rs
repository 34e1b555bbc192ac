//! Tests of backup and restore, with and without a running gateway.

use crate::support::{CliHarness, file_mode};

fn token_labels(folder: &CliHarness) -> Vec<String> {
    let tokens = folder.json(&["tokens", "list"]);
    let labels =
        tokens["tokens"].as_array().unwrap().iter().map(|it| it["label"].as_str().unwrap().to_owned());
    let mut labels: Vec<String> = labels.filter(|label| label.starts_with("token")).collect();
    labels.sort();
    labels
}

#[test]
fn a_backup_is_restored_into_a_running_gateway() {
    let folder = CliHarness::new();
    let gateway = folder.serve(&["--no-local-device"]);
    folder.run(["tokens", "create", "--label", "token one"]).assert_success();
    let backup = folder.sibling_path("backup.tar");
    let path = backup.to_str().unwrap();
    let said = folder.run(["backup", path]).assert_success();
    assert!(said.stderr.contains("the backup contains secrets"), "{said:#?}");
    assert_eq!(file_mode(&backup), 0o600);
    folder.run(["backup", path]).assert_failure(1, "cannot write the backup");

    let later = folder.run(["tokens", "create", "--label", "token two"]).assert_success();
    folder.run(["tokens", "rotate-owner"]).assert_success();
    let owner = std::fs::read_to_string(folder.file("owner.token")).unwrap();
    assert_eq!(token_labels(&folder), ["token one", "token two"]);

    folder.run(["restore", path]).assert_failure(2, "Replace the contents of");
    assert_eq!(token_labels(&folder), ["token one", "token two"], "nobody agreed");
    folder.run(["restore", path, "--yes"]).assert_success();
    assert_eq!(token_labels(&folder), ["token one"]);
    assert_ne!(std::fs::read_to_string(folder.file("owner.token")).unwrap(), owner, "the old one is back");
    let token = folder.sibling_path("token");
    std::fs::write(&token, later.stdout).unwrap();
    folder.run(["tools", "list", "--token-file", token.to_str().unwrap()]).assert_failure(1, "token");
    let (code, log) = gateway.stop();
    assert_eq!(code, 0, "{log}");
    assert_no_leftovers(&folder);
}

#[test]
fn a_backup_is_restored_without_a_gateway_on_another_machine() {
    let folder = CliHarness::new();
    folder.write_settings("[timeouts]\ntool_s = 12\n");
    let gateway = folder.serve(&["--no-local-device", "--tls", "on"]);
    folder.run(["tokens", "create", "--label", "token one"]).assert_success();
    let key = gateway.ready["key"].clone();
    gateway.stop();
    let backup = folder.sibling_path("backup.tar");
    let made = folder.json(&["backup", backup.to_str().unwrap()]);
    let names: Vec<_> = made["files"].as_array().unwrap().iter().map(|it| it["name"].clone()).collect();
    assert_eq!(names, ["toolway.db", "owner.token", "tls/cert.pem", "tls/key.pem", "toolway.toml"]);

    let elsewhere = CliHarness::new();
    let restored = elsewhere.json(&["restore", backup.to_str().unwrap(), "--yes"]);
    assert_eq!(restored["restart_needed"], false);
    for file in ["toolway.db", "owner.token", "tls/key.pem", "toolway.toml"] {
        assert_eq!(file_mode(&elsewhere.file(file)), 0o600, "{file}");
    }
    assert_no_leftovers(&elsewhere);
    let gateway = elsewhere.serve(&["--no-local-device", "--tls", "on"]);
    assert_eq!(gateway.ready["key"], key, "devices know it again");
    assert_eq!(token_labels(&elsewhere), ["token one"]);
    let shown = elsewhere.run(["config", "show", "tool_s"]).assert_success().stdout;
    assert!(shown.contains("12"), "{shown}");
}

#[test]
fn an_invalid_backup_changes_nothing() {
    let folder = CliHarness::new();
    folder
        .run(["backup", folder.sibling_path("x.tar").to_str().unwrap()])
        .assert_failure(1, "no database in");
    let gateway = folder.serve(&["--no-local-device"]);
    folder.run(["tokens", "create", "--label", "token one"]).assert_success();
    let backup = folder.sibling_path("backup.tar");
    folder.run(["backup", backup.to_str().unwrap()]).assert_success();
    let mut bytes = std::fs::read(&backup).unwrap();
    let owner = std::fs::read_to_string(folder.file("owner.token")).unwrap();

    let broken = folder.sibling_path("broken.tar");
    let path = broken.to_str().unwrap();
    std::fs::write(&broken, "hello").unwrap();
    folder.run(["restore", path, "--yes"]).assert_failure(1, "cannot restore");
    std::fs::write(&broken, &bytes[..bytes.len() / 2]).unwrap();
    folder.run(["restore", path, "--yes"]).assert_failure(1, "cannot restore");
    let at = bytes.windows(6).position(|window| window == b"SQLite").unwrap() + 200;
    bytes[at] ^= 1;
    std::fs::write(&broken, &bytes).unwrap();
    folder.run(["restore", path, "--yes"]).assert_failure(1, "is damaged");
    folder.run(["restore", "/nowhere.tar", "--yes"]).assert_failure(1, "cannot read the backup");
    assert_eq!(token_labels(&folder), ["token one"]);
    assert_eq!(std::fs::read_to_string(folder.file("owner.token")).unwrap(), owner);
    gateway.stop();
    assert_no_leftovers(&folder);
}

/// Asserts that no temporary file remains.
fn assert_no_leftovers(folder: &CliHarness) {
    let names = std::fs::read_dir(folder.path()).unwrap().map(|entry| entry.unwrap().file_name());
    let left: Vec<_> = names.filter(|name| name.to_string_lossy().starts_with('.')).collect();
    assert!(left.is_empty(), "{left:?}");
}
