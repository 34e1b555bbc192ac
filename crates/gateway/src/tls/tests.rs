use std::fs;

use rcgen::{CertificateParams, KeyPair};

use super::*;

fn names() -> Vec<String> {
    ["box", "192.168.1.5", "::1", "not a name", "localhost"].map(String::from).to_vec()
}

async fn own(dir: &Path) -> Result<ListenerTls, TlsError> {
    ListenerTls::open(&TlsSettings::default(), dir, names()).await
}

fn served(tls: &ListenerTls) -> Vec<u8> {
    tls.current.0.load().certified.cert[0].to_vec()
}

/// Writes a new certificate of the owner. The content is different each time.
fn put_owners(dir: &Path) -> TlsSettings {
    let pair = KeyPair::generate().unwrap();
    let cert =
        CertificateParams::new(vec!["tools.example.org".to_owned()]).unwrap().self_signed(&pair).unwrap();
    let settings = TlsSettings {
        cert: Some(dir.join("owners.pem")),
        key: Some(dir.join("owners.key")),
        ..TlsSettings::default()
    };
    fs::write(settings.cert.as_ref().unwrap(), cert.pem()).unwrap();
    fs::write(settings.key.as_ref().unwrap(), pair.serialize_pem()).unwrap();
    settings
}

#[tokio::test]
async fn the_own_certificate_keeps_its_pin() {
    let dir = tempfile::tempdir().unwrap();
    let first = own(dir.path()).await.unwrap();
    let second = own(dir.path()).await.unwrap();
    assert_eq!(first.own_pin(), second.own_pin());
    assert!(first.own_pin().is_some());
    assert_eq!(served(&first), served(&second));
}

#[cfg(unix)]
#[tokio::test]
async fn only_the_owner_can_read_the_key() {
    use std::os::unix::fs::PermissionsExt;
    let dir = tempfile::tempdir().unwrap();
    own(dir.path()).await.unwrap();
    let mode = |path: &str| fs::metadata(dir.path().join(path)).unwrap().permissions().mode() & 0o777;
    assert_eq!(mode("tls"), 0o700);
    assert_eq!(mode("tls/key.pem"), 0o600);
    assert_eq!(mode("tls/cert.pem"), 0o600);
    fs::set_permissions(dir.path().join("tls/key.pem"), fs::Permissions::from_mode(0o644)).unwrap();
    own(dir.path()).await.unwrap();
    assert_eq!(mode("tls/key.pem"), 0o600, "what was opened up is closed again");
}

#[tokio::test]
async fn a_missing_certificate_is_created_for_the_existing_key() {
    let dir = tempfile::tempdir().unwrap();
    let before = own(dir.path()).await.unwrap();
    fs::remove_file(dir.path().join("tls/cert.pem")).unwrap();
    let after = own(dir.path()).await.unwrap();
    assert_eq!(before.own_pin(), after.own_pin());
}

#[tokio::test]
async fn a_pinned_key_is_never_replaced_silently() {
    let dir = tempfile::tempdir().unwrap();
    own(dir.path()).await.unwrap();
    let key = dir.path().join("tls/key.pem");
    let text = fs::read_to_string(&key).unwrap();
    fs::remove_file(&key).unwrap();
    let error = own(dir.path()).await.unwrap_err().to_string();
    assert!(error.contains("key.pem") && error.contains("paired again"), "{error}");
    fs::write(&key, "garbage").unwrap();
    let error = own(dir.path()).await.unwrap_err().to_string();
    assert!(error.contains("key.pem"), "{error}");
    fs::write(&key, KeyPair::generate().unwrap().serialize_pem()).unwrap();
    let error = own(dir.path()).await.unwrap_err().to_string();
    assert!(error.contains("is not the key of the certificate"), "{error}");
    fs::write(&key, text).unwrap();
    own(dir.path()).await.unwrap();
}

#[tokio::test]
async fn a_valid_certificate_is_reloaded_and_an_invalid_one_is_not() {
    let dir = tempfile::tempdir().unwrap();
    let settings = put_owners(dir.path());
    let tls = ListenerTls::open(&settings, dir.path(), names()).await.unwrap();
    assert_eq!(tls.own_pin(), None, "known by name, not by key");
    assert!(!dir.path().join("tls").exists(), "none of its own is made");
    let first = served(&tls);
    assert!(!tls.reload().await.unwrap(), "nothing changed");

    // The new certificate exists, but not its key yet.
    let key = fs::read_to_string(settings.key.as_ref().unwrap()).unwrap();
    put_owners(dir.path());
    let new_key = fs::read_to_string(settings.key.as_ref().unwrap()).unwrap();
    fs::write(settings.key.as_ref().unwrap(), key).unwrap();
    let error = tls.reload().await.unwrap_err().to_string();
    assert!(error.contains("is not the key"), "{error}");
    assert_eq!(tls.fault(), Some(error));
    assert_eq!(served(&tls), first);

    fs::write(settings.key.as_ref().unwrap(), new_key).unwrap();
    assert!(tls.reload().await.unwrap());
    assert_ne!(served(&tls), first);
    assert_eq!(tls.fault(), None);

    let second = served(&tls);
    fs::remove_file(settings.cert.as_ref().unwrap()).unwrap();
    tls.reload().await.unwrap_err();
    assert_eq!(served(&tls), second);
}

#[tokio::test(start_paused = true)]
async fn changed_files_are_reloaded_automatically() {
    let dir = tempfile::tempdir().unwrap();
    let settings = put_owners(dir.path());
    let tls = Arc::new(ListenerTls::open(&settings, dir.path(), names()).await.unwrap());
    let first = served(&tls);
    let stop = CancellationToken::new();
    let watching = tokio::spawn(Arc::clone(&tls).watch(stop.clone()));
    put_owners(dir.path());
    while served(&tls) == first {
        tokio::time::sleep(Duration::from_secs(1)).await;
    }
    stop.cancel();
    watching.await.unwrap();
}

#[tokio::test]
async fn invalid_files_are_named() {
    let dir = tempfile::tempdir().unwrap();
    let settings = put_owners(dir.path());
    fs::write(settings.cert.as_ref().unwrap(), "").unwrap();
    let error = ListenerTls::open(&settings, dir.path(), names()).await.unwrap_err().to_string();
    assert!(error.contains("owners.pem") && error.contains("no certificate"), "{error}");
    let settings = put_owners(dir.path());
    fs::write(settings.key.as_ref().unwrap(), "x").unwrap();
    let error = ListenerTls::open(&settings, dir.path(), names()).await.unwrap_err().to_string();
    assert!(error.contains("owners.key") && error.contains("no private key"), "{error}");
    let settings = TlsSettings { cert: Some("/nowhere/c.pem".into()), ..settings };
    let error = ListenerTls::open(&settings, dir.path(), names()).await.unwrap_err().to_string();
    assert!(error.contains("/nowhere/c.pem"), "{error}");
}
