//! Tests of the addresses that the client may reach.

use std::sync::atomic::{AtomicUsize, Ordering};

use reqwest::Method;

use super::super::testing::{
    ScriptedResolver, StubServer, allowing, answer, get, loopback_client, redirect, tls,
};
use super::super::{GuardedClient, WebErrorKind, WebRequest, WebSettings, parse_url};

/// Requests a URL with an empty allow list. An address that is not refused fails to connect.
async fn verdict(url: &str) -> Result<(), (WebErrorKind, String)> {
    let names = ScriptedResolver::of(&[
        ("public.example", &[&["1.1.1.1"]]),
        ("private.example", &[&["10.0.0.1"]]),
        ("mixed.example", &[&["1.1.1.1", "192.168.0.1"]]),
        ("mapped.example", &[&["::ffff:127.0.0.1"]]),
        ("nat64.example", &[&["64:ff9b::169.254.169.254"]]),
        ("six.example", &[&["fe80::1"]]),
        ("zero.example", &[&["0.0.0.0"]]),
        ("empty.example", &[&[]]),
        ("metadata.goog", &[&["1.1.1.1"]]),
        ("metadata.google.internal", &[&["1.1.1.1"]]),
        ("a.localhost", &[&["1.1.1.1"]]),
        ("localhost", &[&["1.1.1.1"]]),
    ]);
    let url = parse_url(url).map_err(|error| (error.kind, error.message))?;
    let request = WebRequest::new(Method::GET, url);
    match super::super::address_check::allowed_addresses(&request, &WebSettings::default(), &*names).await {
        Ok(addresses) => {
            assert!(!addresses.is_empty());
            Ok(())
        }
        Err(error) => Err((error.kind, error.message)),
    }
}

/// The classes of addresses are those of IANA's registries; see the table in the tests of `address.rs`.
#[tokio::test]
async fn only_urls_with_public_or_allowed_addresses_are_fetched_e11() {
    use WebErrorKind::{BadRequest, Dns, Refused};
    let table = [
        ("http://1.1.1.1/", None),
        ("https://1.1.1.1:8443/", None),
        ("https://[2606:4700:4700::1111]/", None),
        ("http://[::ffff:1.1.1.1]/", None),
        ("http://[64:ff9b::1.1.1.1]/", None),
        ("http://16843009/", None),
        ("https://public.example/", None),
        ("https://PUBLIC.example./", None),
        ("http://127.0.0.1/", Some(Refused)),
        ("http://127.255.255.254:8080/", Some(Refused)),
        ("http://2130706433/", Some(Refused)),
        ("http://0x7f000001/", Some(Refused)),
        ("http://0x7f.0.0.1/", Some(Refused)),
        ("http://0177.0.0.1/", Some(Refused)),
        ("http://017700000001/", Some(Refused)),
        ("http://127.1/", Some(Refused)),
        ("http://127.0.0.1./", Some(Refused)),
        ("http://１２７。０。０。１/", Some(Refused)),
        ("http://%31%32%37.0.0.1/", Some(Refused)),
        ("http://0/", Some(Refused)),
        ("http://0.0.0.0/", Some(Refused)),
        ("http://10.0.0.1/", Some(Refused)),
        ("http://0xa000001/", Some(Refused)),
        ("http://012.1/", Some(Refused)),
        ("http://100.64.0.1/", Some(Refused)),
        ("http://169.254.1.1/", Some(Refused)),
        ("http://169.254.169.254/latest/meta-data/", Some(Refused)),
        ("http://2852039166/", Some(Refused)),
        ("http://0xa9fea9fe/", Some(Refused)),
        ("http://0251.0376.0251.0376/", Some(Refused)),
        ("http://172.16.0.1/", Some(Refused)),
        ("http://192.168.1.1/", Some(Refused)),
        ("http://192.0.2.1/", Some(Refused)),
        ("http://198.18.0.1/", Some(Refused)),
        ("http://224.0.0.1/", Some(Refused)),
        ("http://240.0.0.1/", Some(Refused)),
        ("http://255.255.255.255/", Some(Refused)),
        ("http://[::]/", Some(Refused)),
        ("http://[::1]/", Some(Refused)),
        ("http://[0:0:0:0:0:0:0:1]/", Some(Refused)),
        ("http://[::ffff:127.0.0.1]/", Some(Refused)),
        ("http://[::ffff:7f00:1]/", Some(Refused)),
        ("http://[::127.0.0.1]/", Some(Refused)),
        ("http://[64:ff9b::10.0.0.1]/", Some(Refused)),
        ("http://[64:ff9b:1::10.0.0.1]/", Some(Refused)),
        ("http://[2002:7f00:1::]/", Some(Refused)),
        ("http://[2001:0:4136:e378:8000:63bf:f5ff:fffe]/", Some(Refused)),
        ("http://[fc00::1]/", Some(Refused)),
        ("http://[fd00:ec2::254]/", Some(Refused)),
        ("http://[fe80::1]/", Some(Refused)),
        ("http://[fec0::1]/", Some(Refused)),
        ("http://[ff02::1]/", Some(Refused)),
        ("http://[2001:db8::1]/", Some(Refused)),
        ("http://localhost/", Some(Refused)),
        ("http://LocalHost./", Some(Refused)),
        ("http://a.localhost:3000/", Some(Refused)),
        ("http://metadata.google.internal/", Some(Refused)),
        ("http://metadata.goog./", Some(Refused)),
        ("http://private.example/", Some(Refused)),
        ("http://mixed.example/", Some(Refused)),
        ("http://mapped.example/", Some(Refused)),
        ("http://nat64.example/", Some(Refused)),
        ("http://six.example/", Some(Refused)),
        ("http://zero.example/", Some(Refused)),
        ("http://empty.example/", Some(Dns)),
        ("http://unknown.example/", Some(Dns)),
        ("http://[fe80::1%25eth0]/", Some(BadRequest)),
        ("http://public.example@127.0.0.1/", Some(BadRequest)),
        ("http://user:pass@public.example/", Some(BadRequest)),
        ("ftp://public.example/", Some(BadRequest)),
        ("file:///etc/passwd", Some(BadRequest)),
        ("gopher://127.0.0.1:25/", Some(BadRequest)),
        ("http://public.example:0/", Some(BadRequest)),
        ("http://300.0.0.1/", Some(BadRequest)),
    ];
    assert!(table.len() >= 60);
    for (url, expected) in table {
        let found = verdict(url).await;
        assert_eq!(found.as_ref().err().map(|(kind, _)| *kind), expected, "{url}: {found:?}");
    }
}

#[tokio::test]
async fn a_refused_address_explains_why_and_how_to_allow_it_e11() {
    let client = GuardedClient::new(
        WebSettings::default(),
        tls(),
        ScriptedResolver::of(&[("nas.example", &[&["192.168.7.8"]])]),
    );
    let refused = get(&client, "http://nas.example:5000/x?key=k").await.unwrap_err();
    assert_eq!(refused.kind, WebErrorKind::Refused);
    assert_eq!(refused.message, "nas.example resolves to a private address, which is not allowed");
    assert_eq!(
        refused.hint.as_deref(),
        Some("The owner can allow it with the setting tools.http_request.allow, for example \"nas.example\"")
    );
    assert!(!refused.sent);
    let refused = get(&client, "http://[::1]/").await.unwrap_err();
    assert_eq!(refused.message, "[::1] is a loopback address, which is not allowed");
    assert!(refused.hint.unwrap().ends_with("for example \"::1\""));
    let refused = get(&client, "http://169.254.169.254/").await.unwrap_err();
    assert!(refused.message.contains("is the address of a cloud's metadata service"), "{refused}");
    assert!(refused.hint.unwrap().ends_with("by its address alone, for example \"169.254.169.254\""));
}

#[tokio::test]
async fn an_allowed_host_is_reached() {
    let server = StubServer::start(|_| answer("200 OK", &[], b"hi")).await;
    let names = ScriptedResolver::of(&[
        ("nas.example", &[&["127.0.0.1"]]),
        ("a.lab.example", &[&["127.0.0.1"]]),
        ("other.example", &[&["127.0.0.1"]]),
    ]);
    for (entry, host, open) in [
        ("127.0.0.1", "127.0.0.1", true),
        ("127.0.0.0/8", "127.0.0.1", true),
        ("127.0.0.0/8", "other.example", true),
        ("127.0.0.0/8", "localhost", true),
        ("127.0.0.0/8", "[::ffff:127.0.0.1]", true),
        ("nas.example", "nas.example", true),
        ("nas.example", "other.example", false),
        ("*.lab.example", "a.lab.example", true),
        ("nas.example:1", "nas.example", false),
        ("127.0.0.1:1", "127.0.0.1", false),
        ("10.0.0.0/8", "127.0.0.1", false),
    ] {
        let client = GuardedClient::new(allowing(&[entry]), tls(), names.clone());
        let answer = get(&client, &server.url_as("http", host, "/")).await;
        match answer {
            Ok(answer) => assert!(open && answer.body.bytes == b"hi", "{entry} opened {host}"),
            Err(error) => {
                assert!(!open, "{entry} did not open {host}: {error}");
                assert_eq!(error.kind, WebErrorKind::Refused);
            }
        }
    }
    let port = server.port();
    let client = GuardedClient::new(allowing(&[&format!("nas.example:{port}")]), tls(), names);
    assert_eq!(get(&client, &server.url_as("http", "nas.example", "/")).await.unwrap().status, 200);
}

#[tokio::test]
async fn allowing_a_host_name_never_opens_a_metadata_service_e11() {
    let names = || {
        ScriptedResolver::of(&[
            ("a.lab.example", &[&["169.254.169.254"]]),
            ("metadata.goog", &[&["127.0.0.1"]]),
        ])
    };
    for (entries, url) in [
        (&["*.lab.example"] as &[_], "http://a.lab.example/"),
        (&["a.lab.example"], "http://a.lab.example/"),
        (&["*.goog", "127.0.0.0/8"], "http://metadata.goog/"),
        (&["metadata.google.internal"], "http://metadata.goog/"),
    ] {
        let client = GuardedClient::new(allowing(entries), tls(), names());
        let error = get(&client, url).await.unwrap_err();
        assert_eq!(error.kind, WebErrorKind::Refused, "{entries:?} {url}");
    }
}

#[tokio::test]
async fn a_host_name_that_rebinds_to_another_address_gains_nothing_e11() {
    let good = StubServer::start(|_| answer("200 OK", &[], b"good")).await;
    // The second lookup has another answer.
    let names = ScriptedResolver::of(&[("rebind.example", &[&["127.0.0.1"], &["127.0.0.2"]])]);
    let client = GuardedClient::new(allowing(&["127.0.0.1"]), tls(), names.clone());
    let url = good.url_as("http", "rebind.example", "/");
    let answer = get(&client, &url).await.unwrap();
    assert_eq!(answer.body.bytes, b"good");
    assert_eq!(names.queries(), ["rebind.example"], "asked once, and the connection went to that answer");
    let error = get(&client, &url).await.unwrap_err();
    assert_eq!(error.kind, WebErrorKind::Refused, "judged anew the next time");
    assert_eq!(good.connections(), 1);
    assert_eq!(good.single_request().header("host"), Some(&*format!("rebind.example:{}", good.port())));
}

#[tokio::test]
async fn a_redirect_target_is_checked_like_the_first_address_e11() {
    let inner = StubServer::start_at("127.0.0.2", |_| answer("200 OK", &[], b"inside")).await;
    let there = inner.url("/secret");
    let (port, asked) = (inner.port(), AtomicUsize::new(0));
    let places = vec![
        there,
        format!("http://inside.example:{port}/"),
        format!("//127.0.0.2:{port}/"),
        format!("http://[::ffff:127.0.0.2]:{port}/"),
        "http://169.254.169.254/latest/meta-data/".to_owned(),
        "http://[::1]:1/".to_owned(),
        "http://metadata.google.internal/".to_owned(),
        "http://[fd00:ec2::254]/".to_owned(),
        "http://10.0.0.1/".to_owned(),
    ];
    let count = places.len();
    let outer =
        StubServer::start(move |_| redirect(302, &places[asked.fetch_add(1, Ordering::SeqCst) % count]))
            .await;
    let names = ScriptedResolver::of(&[("inside.example", &[&["127.0.0.2"]])]);
    let client = GuardedClient::new(allowing(&["127.0.0.1"]), tls(), names);
    for _ in 0..count {
        let error = get(&client, &outer.url("/")).await.unwrap_err();
        assert_eq!(error.kind, WebErrorKind::Refused, "{error}");
        assert!(error.message.starts_with(&format!("Redirected from {}: ", outer.address)), "{error}");
        assert!(error.sent, "the first server has had the request");
    }
    assert_eq!(outer.connections(), count);
    assert_eq!(inner.connections(), 0);
}

#[tokio::test]
async fn a_host_name_that_rebinds_between_two_redirects_is_refused_e11() {
    let server = StubServer::start(|seen| match seen.target.as_str() {
        "/" => redirect(302, "/next"),
        _ => answer("200 OK", &[], b"no"),
    })
    .await;
    let names = ScriptedResolver::of(&[("rebind.example", &[&["127.0.0.1"], &["10.0.0.1"]])]);
    let client = GuardedClient::new(allowing(&["127.0.0.1"]), tls(), names);
    let error = get(&client, &server.url_as("http", "rebind.example", "/")).await.unwrap_err();
    assert_eq!(error.kind, WebErrorKind::Refused);
    assert_eq!(server.connections(), 1);
}

#[tokio::test]
async fn the_owners_own_host_is_allowed_for_that_request_only() {
    let server = StubServer::start(|seen| match seen.target.as_str() {
        "/same" => redirect(302, "/end"),
        "/away" => redirect(302, "http://127.0.0.2:1/"),
        _ => answer("200 OK", &[], b"end"),
    })
    .await;
    let client = GuardedClient::new(WebSettings::default(), tls(), ScriptedResolver::of(&[]));
    let own = |path: &str| {
        let mut request = WebRequest::new(Method::GET, parse_url(&server.url(path)).unwrap());
        request.own_host = true;
        request
    };
    assert_eq!(client.send(own("/same"), &|| ()).await.unwrap().redirects, 1);
    assert_eq!(client.send(own("/away"), &|| ()).await.unwrap_err().kind, WebErrorKind::Refused);
    assert_eq!(get(&client, &server.url("/")).await.unwrap_err().kind, WebErrorKind::Refused);
}

#[tokio::test]
async fn new_settings_apply_to_the_next_request() {
    let server = StubServer::start(|_| answer("200 OK", &[], b"hi")).await;
    let client = loopback_client();
    assert!(get(&client, &server.url("/")).await.is_ok());
    client.set_settings(WebSettings::default());
    assert_eq!(get(&client, &server.url("/")).await.unwrap_err().kind, WebErrorKind::Refused);
}
