use parking_lot::Mutex;
use secrecy::ExposeSecret as _;
use toolway_secrets::SecretError;

use super::*;

/// A keyring in memory, which may be missing.
#[derive(Default)]
struct MemoryKeyring(Arc<Mutex<Option<String>>>);

impl SecretReader for MemoryKeyring {
    fn read(&self, location: &SecretLocation) -> Result<SecretString, SecretError> {
        assert_eq!(*location, SecretLocation::Keyring("mcp-tokens".to_owned()));
        self.0.lock().clone().map(SecretString::from).ok_or_else(|| SecretError::Unreadable {
            location: location.clone(),
            problem: "there is none".to_owned(),
        })
    }
}

fn key(folder: &Path, ring: &Arc<Mutex<Option<String>>>, keeps: bool) -> KeyringOrFileKey {
    let keep = Arc::clone(ring);
    KeyringOrFileKey {
        file: StoreKeyFile::new(folder.join("store.key")),
        secrets: Arc::new(MemoryKeyring(Arc::clone(ring))),
        write_to_keyring: keeps.then(|| -> KeyringWriter {
            Arc::new(move |_, secret| {
                *keep.lock() = Some(secret.expose_secret().to_owned());
                Ok(())
            })
        }),
    }
}

fn text(key: &StoreKey) -> String {
    key.to_text().expose_secret().to_owned()
}

#[test]
fn a_login_stores_the_key_in_the_keyring_for_the_gateway() {
    let folder = tempfile::tempdir().unwrap();
    let ring = Arc::default();
    let gateway = key(folder.path(), &ring, false);
    assert!(gateway.load().unwrap().is_none());
    let made = key(folder.path(), &ring, true).load_or_create().unwrap();
    assert_eq!(text(&gateway.load().unwrap().unwrap()), text(&made));
    assert!(!folder.path().join("store.key").exists());
}

#[test]
fn without_a_keyring_the_key_is_in_a_file_that_wins_later() {
    let folder = tempfile::tempdir().unwrap();
    let ring = Arc::default();
    let made = key(folder.path(), &ring, false).load_or_create().unwrap();
    assert!(folder.path().join("store.key").is_file());
    let later = key(folder.path(), &ring, true).load_or_create().unwrap();
    assert_eq!(text(&later), text(&made));
    assert!(ring.lock().is_none());
}
