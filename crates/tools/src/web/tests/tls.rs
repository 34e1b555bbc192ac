//! Tests of TLS and certificates.

use std::sync::atomic::{AtomicUsize, Ordering};

use super::super::testing::{
    ScriptedResolver, StubServer, TestCertificate, TestCertificateAuthority, allowing, answer, get, tls,
};
use super::super::{GuardedClient, TlsConfigFactory, WebError, WebErrorKind};

fn client(config: impl Into<TlsConfigFactory>) -> GuardedClient {
    let names = ScriptedResolver::of(&[("a.example", &[&["127.0.0.1"]]), ("b.example", &[&["127.0.0.1"]])]);
    GuardedClient::new(allowing(&["127.0.0.1"]), config, names)
}

async fn serving(identity: &TestCertificate) -> StubServer {
    StubServer::start_tls(identity, |_| answer("200 OK", &[], b"secure")).await
}

async fn refused(identity: &TestCertificate, config: rustls::ClientConfig) -> WebError {
    let server = serving(identity).await;
    let error = get(&client(config), &server.url_as("https", "a.example", "/?key=k")).await.unwrap_err();
    let start = format!("No secure connection to a.example:{}: its certificate ", server.port());
    assert!(error.message.starts_with(&start), "{error}");
    assert_eq!(error.kind, WebErrorKind::Certificate);
    assert!(!error.sent && server.requests().is_empty());
    error
}

#[tokio::test]
async fn a_certificate_of_a_trusted_authority_is_accepted() {
    let authority = TestCertificateAuthority::new();
    let server = serving(&authority.issue("a.example")).await;
    let client = client(authority.client_config());
    let answer = get(&client, &server.url_as("https", "a.example", "/")).await.unwrap();
    assert_eq!(answer.body.bytes, b"secure");
}

#[tokio::test]
async fn other_certificates_are_refused_with_the_reason() {
    let authority = TestCertificateAuthority::new();
    let error =
        refused(&authority.issue("a.example"), TestCertificateAuthority::named("Another").client_config())
            .await;
    assert!(error.message.ends_with("was issued by an unknown authority"), "{error}");
    let error = refused(&authority.issue("b.example"), authority.client_config()).await;
    assert!(error.message.ends_with("is for another name"), "{error}");
    let error = refused(&authority.issue_until("a.example", 2020), authority.client_config()).await;
    assert!(error.message.ends_with("has expired"), "{error}");
}

#[tokio::test]
async fn a_server_without_tls_is_reported() {
    let server = StubServer::start(|_| answer("200 OK", &[], b"plain")).await;
    // The stub server waits for the end of a request head, which a TLS handshake does not contain, so this
    // server answers at once.
    let listener = tokio::net::TcpListener::bind("127.0.0.1:0").await.unwrap();
    let address = listener.local_addr().unwrap();
    tokio::spawn(async move {
        use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
        let (mut stream, _) = listener.accept().await.unwrap();
        let _ = stream.read(&mut [0; 1024]).await;
        let _ = stream.write_all(b"HTTP/1.1 400 Bad Request\r\n\r\n").await;
        let _ = stream.read(&mut [0; 1024]).await;
    });
    let error = get(&client(tls()), &format!("https://{address}/")).await.unwrap_err();
    assert_eq!(error.kind, WebErrorKind::Tls);
    assert_eq!(error.message, format!("{address} does not speak TLS; it may be an http address"));
    assert!(!error.sent);
    // A plain request to a TLS server.
    drop(server);
    let authority = TestCertificateAuthority::new();
    let server = serving(&authority.issue("a.example")).await;
    let error = get(&client(tls()), &server.url("/")).await.unwrap_err();
    assert!(matches!(error.kind, WebErrorKind::Malformed | WebErrorKind::Reset), "{error}");
}

#[tokio::test]
async fn a_server_that_closes_during_the_handshake_is_reported() {
    let listener = tokio::net::TcpListener::bind("127.0.0.1:0").await.unwrap();
    let address = listener.local_addr().unwrap();
    tokio::spawn(async move {
        use tokio::io::AsyncReadExt as _;
        let (mut stream, _) = listener.accept().await.unwrap();
        let _ = stream.read(&mut [0; 4096]).await;
    });
    let error = get(&client(tls()), &format!("https://{address}/")).await.unwrap_err();
    assert_eq!(error.kind, WebErrorKind::Tls);
    assert_eq!(error.message, format!("TLS with {address} failed: the server closed the connection"));
}

#[tokio::test]
async fn tls_settings_are_created_on_first_use_and_again_after_a_failure() {
    let authority = TestCertificateAuthority::new();
    let secure = serving(&authority.issue("a.example")).await;
    let plain = StubServer::start(|_| answer("200 OK", &[], b"plain")).await;
    let trusted = authority.client_config();
    let asked = AtomicUsize::new(0);
    let client = client(TlsConfigFactory::new(move || match asked.fetch_add(1, Ordering::SeqCst) {
        0 => Err("no certificates here".to_owned()),
        1 => Ok(trusted.clone()),
        _ => Err("asked too often".to_owned()),
    }));
    assert!(get(&client, &plain.url("/")).await.is_ok());
    let url = secure.url_as("https", "a.example", "/");
    let error = get(&client, &url).await.unwrap_err();
    assert_eq!(error.message, "TLS cannot be set up on the gateway: no certificates here");
    assert_eq!((error.kind, error.sent), (WebErrorKind::Tls, false));
    assert!(get(&client, &url).await.is_ok());
    assert!(get(&client, &url).await.is_ok());
}
