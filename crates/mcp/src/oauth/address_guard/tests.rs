use std::collections::HashMap;
use std::io;
use std::net::TcpListener;

use async_trait::async_trait;

use super::super::error::OauthError;
use super::super::transport::OauthHttpClient;
use super::*;

/// A name server with fixed answers.
struct FixedResolver(HashMap<&'static str, Vec<&'static str>>);

#[async_trait]
impl DnsResolver for FixedResolver {
    async fn resolve(&self, name: &str) -> io::Result<Vec<IpAddr>> {
        let found = self.0.get(name).ok_or_else(|| io::Error::other("unknown"))?;
        Ok(found.iter().map(|address| address.parse().unwrap()).collect())
    }
}

fn resolver() -> Arc<dyn DnsResolver> {
    Arc::new(FixedResolver(HashMap::from([
        ("mcp.example.org", vec!["93.184.215.14"]),
        ("login.example.org", vec!["93.184.215.15", "2606:2800:21f::1"]),
        ("to-loopback.example.org", vec!["127.0.0.1"]),
        ("to-loopback6.example.org", vec!["::1"]),
        ("to-zero.example.org", vec!["0.0.0.0"]),
        ("to-private.example.org", vec!["10.0.0.7"]),
        ("to-mapped.example.org", vec!["::ffff:192.168.1.1"]),
        ("to-link-local.example.org", vec!["fe80::1"]),
        ("to-metadata.example.org", vec!["169.254.169.254"]),
        ("mixed.example.org", vec!["93.184.215.16", "127.0.0.1"]),
        ("mcp.corp.example", vec!["10.1.0.1"]),
        ("login.corp.example", vec!["10.1.0.2"]),
        ("half-private.example.org", vec!["93.184.215.17", "10.1.0.3"]),
    ])))
}

async fn resolved(server: &str, name: &str) -> Result<Vec<IpAddr>, Box<dyn Error + Send + Sync>> {
    AddressGuard::new(&Url::parse(server).unwrap(), resolver()).resolve(name).await
}

#[tokio::test]
async fn a_name_that_leads_into_this_computer_or_network_is_refused_for_a_public_server() {
    for name in [
        "to-loopback.example.org",
        "to-loopback6.example.org",
        "to-zero.example.org",
        "to-private.example.org",
        "to-mapped.example.org",
        "to-link-local.example.org",
        "to-metadata.example.org",
        "mixed.example.org",
        "localhost",
        "a.localhost.",
    ] {
        let error = resolved("https://mcp.example.org/mcp", name).await.unwrap_err();
        assert!(error.downcast_ref::<ForbiddenAddress>().is_some(), "{name}: {error}");
    }
    let found = resolved("https://mcp.example.org/mcp", "login.example.org").await.unwrap();
    assert_eq!(found.len(), 2);
}

#[tokio::test]
async fn a_server_in_a_private_network_may_use_an_authorization_server_there() {
    let server = "https://mcp.corp.example/mcp";
    assert!(resolved(server, "login.corp.example").await.is_ok());
    assert!(resolved(server, "login.example.org").await.is_ok());
    assert!(resolved(server, "to-loopback.example.org").await.is_err());
    assert!(resolved(server, "to-metadata.example.org").await.is_err());
    // With one public address, the server counts as public.
    assert!(resolved("https://half-private.example.org/mcp", "login.corp.example").await.is_err());
    // A server on this computer reaches the network by itself.
    for name in ["login.corp.example", "to-loopback.example.org", "login.example.org"] {
        assert!(resolved("http://127.0.0.1:9000/mcp", name).await.is_ok(), "{name}");
        assert!(resolved("http://localhost:9000/mcp", name).await.is_ok(), "{name}");
    }
    assert!(resolved("http://127.0.0.1:9000/mcp", "to-metadata.example.org").await.is_err());
    // The owner chose the server itself.
    assert!(resolved("https://to-private.example.org/mcp", "to-private.example.org").await.is_ok());
}

#[tokio::test]
async fn nothing_is_sent_to_a_forbidden_address() {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    listener.set_nonblocking(true).unwrap();
    let port = listener.local_addr().unwrap().port();
    let http = OauthHttpClient::new(|| Ok(no_authorities())).with_resolver(resolver());
    let http = http.for_server(&Url::parse("https://mcp.example.org/mcp").unwrap());
    for host in [
        "to-loopback.example.org",
        "mixed.example.org",
        "0.0.0.0",
        "127.0.0.1",
        "[::]",
        "[::ffff:7f00:1]",
        "localhost",
    ] {
        let url = Url::parse(&format!("https://{host}:{port}/.well-known/openid-configuration")).unwrap();
        let error = http.get(&url).await.unwrap_err();
        assert!(matches!(error, OauthError::Address { .. }), "{host}: {error}");
        assert!(!error.is_transient());
    }
    assert_eq!(listener.accept().unwrap_err().kind(), io::ErrorKind::WouldBlock);
}

fn no_authorities() -> rustls::ClientConfig {
    let provider = Arc::new(rustls::crypto::ring::default_provider());
    let config = rustls::ClientConfig::builder_with_provider(provider);
    let config = config.with_safe_default_protocol_versions().unwrap();
    config.with_root_certificates(rustls::RootCertStore::empty()).with_no_client_auth()
}
