use super::lock::{FolderLock, is_locked};
use super::private_file::{read, read_token, replace};
use super::running_gateway::RunningGateway;
use toolway_wire::pairing::KeyPin;

use super::*;

fn folder() -> (tempfile::TempDir, DataFolder) {
    let temp = tempfile::tempdir().unwrap();
    let folder = DataFolder::new(temp.path().join("data"), true);
    folder.create().unwrap();
    (temp, folder)
}

#[test]
fn only_one_gateway_can_lock_a_folder() {
    let (_temp, folder) = folder();
    assert!(!is_locked(&folder));
    assert!(!folder.lock().exists(), "looking leaves no trace");
    let lock = FolderLock::acquire(&folder).unwrap();
    assert!(is_locked(&folder));
    let running =
        RunningGateway { url: "http://127.0.0.1:7717".to_owned(), pid: 4711, key: None, certificate: None };
    running.write(&folder).unwrap();
    let refused = FolderLock::acquire(&folder).unwrap_err();
    assert_eq!(refused.code(), "already_running");
    let text = refused.render_text(false);
    assert!(text.contains("process 4711") && text.contains("http://127.0.0.1:7717"), "{text}");
    drop(lock);
    assert!(!is_locked(&folder));
    FolderLock::acquire(&folder).unwrap();
}

#[test]
fn the_gateways_state_file_can_be_read_back() {
    let (_temp, folder) = folder();
    assert_eq!(RunningGateway::read(&folder).unwrap(), None);
    let said = RunningGateway {
        url: "https://127.0.0.1:7717".to_owned(),
        pid: 1,
        key: Some(KeyPin::from_bytes([7; 32])),
        certificate: None,
    };
    said.write(&folder).unwrap();
    assert_eq!(RunningGateway::read(&folder).unwrap(), Some(said));
    std::fs::write(folder.running(), "{").unwrap();
    assert!(
        RunningGateway::read(&folder).unwrap_err().render_text(false).contains("hint: restart the gateway")
    );
}

#[cfg(unix)]
#[test]
fn files_are_accessible_only_by_the_owner() {
    use std::os::unix::fs::PermissionsExt;
    let mode = |path: &Path| std::fs::metadata(path).unwrap().permissions().mode() & 0o777;
    let (_temp, folder) = folder();
    assert_eq!(mode(folder.path()), 0o700);
    let token = folder.owner_token();
    // A file with open permissions becomes private when it is replaced.
    std::fs::write(&token, "old").unwrap();
    std::fs::set_permissions(&token, std::fs::Permissions::from_mode(0o644)).unwrap();
    assert_eq!(permissions_for_others(&token), Some(0o044));
    replace(&token, b"new").unwrap();
    assert_eq!((mode(&token), permissions_for_others(&token)), (0o600, None));
    let _lock = FolderLock::acquire(&folder).unwrap();
    assert_eq!(mode(&folder.lock()), 0o600);
    let left: Vec<_> =
        std::fs::read_dir(folder.path()).unwrap().map(|entry| entry.unwrap().file_name()).collect();
    assert_eq!(left.len(), 2, "nothing is left beside: {left:?}");
}

#[cfg(unix)]
#[test]
fn only_our_own_folder_is_restricted() {
    use std::os::unix::fs::PermissionsExt;
    let (_temp, folder) = folder();
    let open = || std::fs::set_permissions(folder.path(), std::fs::Permissions::from_mode(0o755)).unwrap();
    std::fs::write(folder.settings(), "").unwrap();
    open();
    folder.create().unwrap();
    assert_eq!(permissions_for_others(folder.path()), None);
    std::fs::write(folder.path().join("thesis.odt"), "").unwrap();
    open();
    folder.create().unwrap();
    assert_eq!(permissions_for_others(folder.path()), Some(0o055), "somebody keeps other things there");
}

#[test]
fn a_token_file_must_contain_one_word() {
    use secrecy::ExposeSecret;
    let (_temp, folder) = folder();
    let path = folder.owner_token();
    assert!(read_token(&path).unwrap().is_none());
    std::fs::write(&path, " twy_o_abc \n").unwrap();
    assert_eq!(read_token(&path).unwrap().unwrap().expose_secret(), "twy_o_abc");
    for wrong in ["", "\n", "two words", "twy_\u{200b}"] {
        std::fs::write(&path, wrong).unwrap();
        assert!(read_token(&path).is_err(), "{wrong:?}");
    }
    assert_eq!(read(&folder.settings()).unwrap(), None);
}

#[test]
fn quoted_words_survive_a_shell() {
    for (text, word) in [
        ("/data/x-1", "/data/x-1"),
        ("", "''"),
        ("/a b", "'/a b'"),
        ("it's", r"'it'\''s'"),
        ("$(x)", "'$(x)'"),
    ] {
        assert_eq!(shell_quote(text), word);
    }
}
