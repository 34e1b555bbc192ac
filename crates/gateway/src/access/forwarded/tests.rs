use super::*;

fn seen(trusted: &[&str], peer: &str, headers: &[(&'static str, &str)]) -> EffectiveClient {
    let mut map = HeaderMap::new();
    for (name, value) in headers {
        map.append(*name, value.parse().unwrap());
    }
    let connection =
        ConnectionInfo { peer: peer.parse().unwrap(), local: "10.0.0.1:7717".parse().unwrap(), tls: false };
    let trusted: Vec<String> = trusted.iter().map(|it| (*it).to_owned()).collect();
    TrustedProxies::new(&trusted).client(&connection, &map)
}

const ALL: &[(&str, &str)] = &[
    ("x-forwarded-for", "203.0.113.9"),
    ("x-forwarded-proto", "https"),
    ("x-forwarded-host", "tools.example.org"),
];

#[test]
fn no_proxy_is_trusted_by_default() {
    for peer in ["127.0.0.1:5", "10.0.0.7:5", "[::1]:5"] {
        let client = seen(&[], peer, ALL);
        assert_eq!(client.ip, peer.parse::<SocketAddr>().unwrap().ip());
        assert!(!client.https);
        assert_eq!(client.forwarded_host, None);
    }
}

#[test]
fn headers_of_a_trusted_proxy_are_used() {
    let client = seen(&["10.0.0.7"], "[::ffff:10.0.0.7]:5", ALL);
    assert_eq!(client.ip.to_string(), "203.0.113.9");
    assert!(client.https);
    assert_eq!(client.forwarded_host.as_deref(), Some("tools.example.org"));
}

#[test]
fn addresses_added_by_the_client_are_ignored() {
    let forged = [("x-forwarded-for", "127.0.0.1, 203.0.113.9"), ("x-forwarded-for", "10.1.1.1")];
    assert_eq!(seen(&["10.0.0.0/8"], "10.0.0.7:5", &forged).ip.to_string(), "203.0.113.9");
    let garbage = [("x-forwarded-for", "127.0.0.1, what, 10.1.1.1")];
    assert_eq!(seen(&["10.0.0.0/8"], "10.0.0.7:5", &garbage).ip.to_string(), "10.1.1.1");
    let host = [("x-forwarded-host", "localhost, tools.example.org")];
    assert_eq!(seen(&["10.0.0.7"], "10.0.0.7:5", &host).forwarded_host.unwrap(), "tools.example.org");
}

#[test]
fn hops_may_have_ports() {
    let hops = [("x-forwarded-for", "[2001:db8::1]:443")];
    assert_eq!(seen(&["10.0.0.7"], "10.0.0.7:5", &hops).ip.to_string(), "2001:db8::1");
}
