//! TLS listeners as seen by clients.

use std::fs;
use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

use rcgen::{CertificateParams, KeyPair};
use rustls::pki_types::pem::PemObject;
use rustls::pki_types::{CertificateDer, ServerName};
use rustls::{ClientConfig, RootCertStore};
use serde_json::{Value, json};
use sha2::{Digest, Sha256};
use tokio::io::AsyncReadExt;
use tokio::net::TcpStream;
use tokio_rustls::TlsConnector;

use crate::support::{GatewayHarness, HttpAnswer, exchange};

/// Sends a request over TLS to a server that must prove to be `name` with one of the certificates in this
/// file.
async fn get(
    bench: &GatewayHarness,
    trusted: &Path,
    name: &str,
    path: &str,
) -> std::io::Result<(HttpAnswer, Vec<u8>)> {
    let mut roots = RootCertStore::empty();
    roots.add(CertificateDer::from_pem_file(trusted).unwrap()).unwrap();
    let provider = Arc::new(rustls::crypto::ring::default_provider());
    let config = ClientConfig::builder_with_provider(provider)
        .with_safe_default_protocol_versions()
        .unwrap()
        .with_root_certificates(roots)
        .with_no_client_auth();
    let stream = TcpStream::connect(bench.address()).await.unwrap();
    let name = ServerName::try_from(name.to_owned()).unwrap();
    let stream = TlsConnector::from(Arc::new(config)).connect(name, stream).await?;
    let served = stream.get_ref().1.peer_certificates().unwrap()[0].to_vec();
    let headers = [
        ("Host".to_owned(), bench.address().to_string()),
        ("Authorization".to_owned(), format!("Bearer {}", bench.owner)),
    ];
    Ok((exchange(stream, "GET", path, &headers, "").await, served))
}

fn on() -> Value {
    json!({"tls": "on"})
}

fn pin(cert: &[u8]) -> String {
    let der = CertificateDer::from(cert);
    let parsed = rustls::server::ParsedCertificate::try_from(&der).unwrap();
    let hash = Sha256::digest(parsed.subject_public_key_info());
    format!("sha256:{}", hash.iter().map(|byte| format!("{byte:02x}")).collect::<String>())
}

#[tokio::test]
async fn the_own_certificate_survives_restarts() {
    let bench = GatewayHarness::with(on()).await;
    let cert = bench.dir.path().join("tls/cert.pem");
    for name in ["localhost", "127.0.0.1", "box"] {
        let (answer, _) = get(&bench, &cert, name, "/api/status").await.unwrap();
        assert_eq!(answer.status, 200, "{name}");
    }
    let (status, served) = get(&bench, &cert, "localhost", "/api/status").await.unwrap();
    let key = status.text("key");
    assert_eq!(key, pin(&served));
    assert!(bench.gateway.url().starts_with("https://127.0.0.1:"));
    let bench = bench.restart(on()).await;
    let (status, served_again) = get(&bench, &cert, "localhost", "/api/status").await.unwrap();
    assert_eq!(served_again, served);
    assert_eq!(status.text("key"), key);
}

#[tokio::test]
async fn a_pairing_code_contains_the_key() {
    let bench = GatewayHarness::with(on()).await;
    let app = bench.gateway.app();
    let cert = bench.dir.path().join("tls/cert.pem");
    let (_, served) = get(&bench, &cert, "localhost", "/health").await.unwrap();
    assert_eq!(app.address.pin.unwrap().to_string(), pin(&served));
    let mut roots = RootCertStore::empty();
    roots.add(CertificateDer::from_pem_file(&cert).unwrap()).unwrap();
    let provider = Arc::new(rustls::crypto::ring::default_provider());
    let config = ClientConfig::builder_with_provider(provider)
        .with_safe_default_protocol_versions()
        .unwrap()
        .with_root_certificates(roots)
        .with_no_client_auth();
    let connector = TlsConnector::from(Arc::new(config));
    let post = async |path: &str, headers: &[(&str, &str)], body: &str| {
        let stream = TcpStream::connect(bench.address()).await.unwrap();
        let stream = connector.connect(ServerName::try_from("localhost").unwrap(), stream).await.unwrap();
        let mut all = vec![("Host".to_owned(), bench.address().to_string())];
        all.extend(headers.iter().map(|(name, value)| ((*name).to_owned(), (*value).to_owned())));
        exchange(stream, "POST", path, &all, body).await
    };
    let bearer = format!("Bearer {}", bench.owner);
    let headers = [("Authorization", bearer.as_str()), ("Content-Type", "application/json")];
    let made = post("/api/pair", &headers, r#"{"role":"device"}"#).await;
    assert_eq!(made.status, 201, "{made:?}");
    let (code, link, key) = (made.text("code"), made.text("link"), made.text("key"));
    assert_eq!(key, pin(&served));
    assert_eq!(code.len(), "ABCD-EFGH-KKKK-KKKK-KKKK".len());
    assert!(link.ends_with(&format!("&key={key}")) && link.contains("url=https%3A"), "{link}");
    let paired = post("/pair", &[("X-Pairing-Code", &code)], "").await;
    assert_eq!(paired.status, 200, "{paired:?}");
}

#[tokio::test]
async fn http_on_a_tls_port_gets_a_hint_to_use_https() {
    let bench = GatewayHarness::with(on()).await;
    let answer = bench.send("GET", "/health", None, None).await;
    assert_eq!((answer.status, answer.code().as_str()), (400, "https_needed"));
    // Silent and interrupted connections do not affect others.
    drop(TcpStream::connect(bench.address()).await.unwrap());
    let cert = bench.dir.path().join("tls/cert.pem");
    assert_eq!(get(&bench, &cert, "localhost", "/health").await.unwrap().0.status, 200);
}

#[tokio::test]
async fn an_unfinished_handshake_times_out() {
    let bench = GatewayHarness::with(json!({"tls": "on", "timeouts": {"request_s": 0.2}})).await;
    let mut silent = TcpStream::connect(bench.address()).await.unwrap();
    let mut rest = Vec::new();
    let closed = tokio::time::timeout(Duration::from_secs(20), silent.read_to_end(&mut rest)).await;
    closed.unwrap().unwrap();
    assert_eq!(rest, b"");
}

/// Writes a certificate for a name and returns the settings for it.
fn put(dir: &Path, name: &str) -> Value {
    let pair = KeyPair::generate().unwrap();
    let cert = CertificateParams::new(vec![name.to_owned()]).unwrap().self_signed(&pair).unwrap();
    fs::write(dir.join("owners.pem"), cert.pem()).unwrap();
    fs::write(dir.join("owners.key"), pair.serialize_pem()).unwrap();
    json!({"tls": {"mode": "on", "cert": dir.join("owners.pem"), "key": dir.join("owners.key")}})
}

#[tokio::test]
async fn the_owners_certificate_is_reloaded_while_running() {
    let files = tempfile::tempdir().unwrap();
    let bench = GatewayHarness::with(put(files.path(), "one.example")).await;
    let cert = files.path().join("owners.pem");
    let (status, first) = get(&bench, &cert, "one.example", "/api/status").await.unwrap();
    assert!(status.json().get("key").is_none(), "known by its name");
    assert!(!bench.dir.path().join("tls").exists());

    put(files.path(), "two.example");
    bench.gateway.reload().await.unwrap();
    let (_, second) = get(&bench, &cert, "two.example", "/api/status").await.unwrap();
    assert_ne!(first, second);

    let good = fs::read(&cert).unwrap();
    fs::write(&cert, "nonsense").unwrap();
    bench.gateway.reload().await.unwrap_err();
    fs::write(files.path().join("good.pem"), good).unwrap();
    let trusted = files.path().join("good.pem");
    let (status, third) = get(&bench, &trusted, "two.example", "/api/status").await.unwrap();
    assert_eq!(second, third, "the one before is served still");
    assert_eq!(status.json()["warnings"][0]["subject"], "tls");
}

#[tokio::test]
async fn tls_is_on_automatically_off_loopback() {
    let bench = GatewayHarness::with(json!({"listen": "0.0.0.0:0"})).await;
    assert!(bench.gateway.url().starts_with("https://127.0.0.1:"));
    let plain = GatewayHarness::with(json!({"listen": "0.0.0.0:0", "tls": "off"})).await;
    assert!(plain.gateway.url().starts_with("http://127.0.0.1:"));
    let address = format!("127.0.0.1:{}", plain.address().port());
    let stream = TcpStream::connect(&address).await.unwrap();
    let headers =
        [("Host".to_owned(), address), ("Authorization".to_owned(), format!("Bearer {}", plain.owner))];
    let status = exchange(stream, "GET", "/api/status", &headers, "").await;
    assert_eq!(status.json()["warnings"][0]["subject"], "tls.mode");
}
