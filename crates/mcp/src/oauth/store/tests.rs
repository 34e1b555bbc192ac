use std::path::Path;
use std::sync::Arc;

use secrecy::ExposeSecret as _;

use super::*;

fn slug(text: &str) -> Slug {
    text.parse().unwrap()
}

fn text(store: &FileTokenStore, server: &str) -> Option<String> {
    store.load(&slug(server)).unwrap().map(|it| it.expose_secret().to_owned())
}

fn secret(text: &str) -> SecretString {
    text.to_owned().into()
}

fn files(folder: &Path) -> Vec<String> {
    let mut names: Vec<_> =
        std::fs::read_dir(folder).unwrap().map(|it| it.unwrap().file_name().into_string().unwrap()).collect();
    names.sort();
    names
}

#[test]
fn what_is_kept_is_found_replaced_and_forgotten() {
    let folder = tempfile::tempdir().unwrap();
    let folder = folder.path().join("mcp-tokens");
    let store = FileTokenStore::with_key_file(folder.clone());
    assert_eq!(text(&store, "one"), None);
    assert!(!folder.exists(), "looking makes no folder");
    store.save(&slug("one"), &secret("first")).unwrap();
    store.save(&slug("one"), &secret("second")).unwrap();
    store.save(&slug("two"), &secret("other")).unwrap();
    assert_eq!(text(&FileTokenStore::with_key_file(folder.clone()), "one").as_deref(), Some("second"));
    assert_eq!(files(&folder), ["one", "store.key", "two"]);
    assert!(store.remove(&slug("one")).unwrap());
    assert!(!store.remove(&slug("one")).unwrap());
    assert_eq!(text(&store, "one"), None);
}

#[test]
fn nothing_of_it_stands_in_the_file_and_two_files_of_one_text_differ() {
    let folder = tempfile::tempdir().unwrap();
    let store = FileTokenStore::with_key_file(folder.path().to_owned());
    let read = || std::fs::read(folder.path().join("one")).unwrap();
    store.save(&slug("one"), &secret("a very secret token")).unwrap();
    let first = read();
    store.save(&slug("one"), &secret("a very secret token")).unwrap();
    assert!(!first.windows(6).any(|it| it == b"secret"));
    assert_ne!(first, read());
    // The form, a nonce of 96 bits, the text and a tag of 128 bits.
    assert_eq!(first.len(), 1 + 12 + "a very secret token".len() + 16);
}

#[cfg(unix)]
#[test]
fn files_are_for_their_owner_alone() {
    use std::os::unix::fs::PermissionsExt as _;
    let outer = tempfile::tempdir().unwrap();
    let folder = outer.path().join("mcp-tokens");
    FileTokenStore::with_key_file(folder.clone()).save(&slug("one"), &secret("x")).unwrap();
    let mode = |path: &Path| std::fs::metadata(path).unwrap().permissions().mode() & 0o777;
    assert_eq!(mode(&folder), 0o700);
    assert_eq!(mode(&folder.join("one")), 0o600);
    assert_eq!(mode(&folder.join("store.key")), 0o600);
}

#[test]
fn a_file_that_was_changed_moved_or_sealed_with_another_key_is_not_read() {
    let folder = tempfile::tempdir().unwrap();
    let store = FileTokenStore::with_key_file(folder.path().to_owned());
    store.save(&slug("one"), &secret("text")).unwrap();
    let path = folder.path().join("one");
    let good = std::fs::read(&path).unwrap();
    let refused = |server: &str| {
        let error = store.load(&slug(server)).unwrap_err();
        assert!(matches!(error, TokenStoreError::Sealed { .. }), "{error}");
    };
    for at in 0..good.len() {
        let mut bad = good.clone();
        bad[at] ^= 1;
        std::fs::write(&path, bad).unwrap();
        refused("one");
    }
    for length in 0..good.len() {
        std::fs::write(&path, &good[..length]).unwrap();
        refused("one");
    }
    std::fs::write(folder.path().join("two"), &good).unwrap();
    refused("two");
    std::fs::write(&path, &good).unwrap();
    std::fs::write(folder.path().join("store.key"), StoreKey::random().unwrap().to_text().expose_secret())
        .unwrap();
    refused("one");
}

#[test]
fn keys_are_read_as_they_were_written() {
    let key = StoreKey::random().unwrap();
    let again = StoreKey::parse(&key.to_text()).unwrap();
    assert_eq!(again.to_text().expose_secret(), key.to_text().expose_secret());
    for bad in ["", "abc", "%%%", &"A".repeat(44)] {
        assert!(StoreKey::parse(&secret(bad)).is_err(), "{bad}");
    }
}

#[test]
fn programs_that_make_a_key_at_once_agree_on_one() {
    let folder = tempfile::tempdir().unwrap();
    let file = Arc::new(StoreKeyFile::new(folder.path().join("store.key")));
    let made: Vec<_> = std::thread::scope(|scope| {
        let threads: Vec<_> = (0..8)
            .map(|_| {
                let file = Arc::clone(&file);
                scope.spawn(move || file.load_or_create().map(|key| key.to_text().expose_secret().to_owned()))
            })
            .collect();
        threads.into_iter().filter_map(|it| it.join().unwrap().ok()).collect()
    });
    let kept = file.load().unwrap().unwrap().to_text().expose_secret().to_owned();
    assert!(!made.is_empty());
    assert!(made.iter().all(|it| *it == kept));
}
