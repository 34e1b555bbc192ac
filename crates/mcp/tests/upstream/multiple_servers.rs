//! Several servers at once: each by itself.

use std::time::Duration;

use toolway_fake_mcp::{FakeMcp, FakeMcpOptions};
use toolway_mcp::definition::ServerDefinition;
use toolway_mcp::upstream::UpstreamState;

use crate::harness::{UpstreamHarness, at, slug};

/// An address at which connections are taken and nothing is said.
async fn silent_server() -> (String, tokio::net::TcpListener) {
    let listener = tokio::net::TcpListener::bind("127.0.0.1:0").await.unwrap();
    (format!("http://{}/mcp", listener.local_addr().unwrap()), listener)
}

#[tokio::test]
async fn one_bad_server_neither_hides_nor_delays_the_others() {
    let (good, better) =
        (FakeMcp::start(FakeMcpOptions::default()).await, FakeMcp::start(FakeMcpOptions::default()).await);
    let (silent, _listener) = silent_server().await;
    let bench = UpstreamHarness::with_deps(|parts| parts.settings.connect_timeout = Duration::from_secs(3));
    let missing =
        ServerDefinition { command: Some("toolway-no-such-program".to_owned()), ..Default::default() };
    let since = tokio::time::Instant::now();
    bench.apply([
        ("better", at(better.url())),
        ("closed", at("http://127.0.0.1:1/mcp")),
        ("good", at(good.url())),
        ("missing", missing),
        ("off", ServerDefinition { disabled: true, ..at(good.url()) }),
        ("silent", at(silent)),
        ("strange", at("ftp://example.com")),
    ]);
    bench.wait_connected("good").await;
    bench.wait_connected("better").await;
    assert!(since.elapsed() < Duration::from_secs(3), "they were waited for one after the other");
    let problem = async |name: &str| bench.wait_failed(name).await.problem.unwrap();
    assert!(problem("missing").await.message.starts_with("toolway-no-such-program could not be started"));
    assert!(problem("closed").await.message.starts_with("it could not be reached"));
    assert!(problem("strange").await.message.contains("http://"));
    let status = bench.upstreams.status();
    let standing: Vec<_> = status.iter().map(|status| (status.slug.as_str(), status.state)).collect();
    assert_eq!(
        standing,
        [
            ("better", UpstreamState::Connected),
            ("closed", UpstreamState::Failed),
            ("good", UpstreamState::Connected),
            ("missing", UpstreamState::Failed),
            ("off", UpstreamState::Disabled),
            ("silent", UpstreamState::Connecting),
            ("strange", UpstreamState::Failed),
        ]
    );
    let late = problem("silent").await;
    assert!(late.message.contains("did not answer within"), "{late:?}");
    assert!(bench.status("silent").next_try_ms.is_some());
}

#[tokio::test]
async fn same_named_tools_of_two_servers_are_both_listed_m5() {
    let (one, other) =
        (FakeMcp::start(FakeMcpOptions::default()).await, FakeMcp::start(FakeMcpOptions::default()).await);
    let bench = UpstreamHarness::new();
    bench.apply([("one", at(one.url()))]);
    bench.wait_connected("one").await;
    let before = bench.tools("one");
    bench.apply([("one", at(one.url())), ("other", at(other.url()))]);
    bench.wait_connected("other").await;
    assert_eq!(bench.tools("one"), before, "a second server renames nothing");
    bench.call("one__test_trigger_tool_change", "{}").await.unwrap();
    bench.wait_until("one", "changed", |status| status.tools == before.len() + 1).await;
    bench.call("one__test_sometimes", "{}").await.unwrap();
    assert!(bench.call("other__test_sometimes", "{}").await.is_err(), "the other one's did not change");
}

#[tokio::test]
async fn what_changes_is_restarted_and_what_goes_is_forgotten() {
    let server =
        FakeMcp::start(FakeMcpOptions { token: Some("right".to_owned()), ..FakeMcpOptions::default() }).await;
    let with = |token: &str| {
        let mut definition = at(server.url());
        definition.headers.insert("Authorization".to_owned(), format!("Bearer {token}"));
        definition
    };
    let bench = UpstreamHarness::new();
    bench.apply([("kept", with("right")), ("up", with("wrong"))]);
    bench.wait_connected("kept").await;
    bench.wait_failed("up").await;
    let kept = bench.server("kept");
    bench.apply([("kept", with("right")), ("up", with("right"))]);
    bench.wait_connected("up").await;
    assert!(std::sync::Arc::ptr_eq(&kept, &bench.server("kept")), "what is as it was goes on");
    bench.apply([("kept", with("right"))]);
    assert!(bench.upstreams.get(&slug("up")).is_none());
    assert!(bench.tools("up").is_empty());
    bench.upstreams.shut_down(Duration::from_secs(5)).await;
    assert!(bench.tools("kept").is_empty());
}

#[tokio::test]
async fn without_a_token_a_login_is_waited_for() {
    let server =
        FakeMcp::start(FakeMcpOptions { token: Some("right".to_owned()), ..FakeMcpOptions::default() }).await;
    let bench = UpstreamHarness::new();
    bench.apply([("up", at(server.url()))]);
    let status = bench.wait_until("up", "waiting", |status| status.state == UpstreamState::NeedsLogin).await;
    assert_eq!(status.problem.unwrap().hint.as_deref(), Some("run: toolway mcp login up"));
    assert_eq!(status.next_try_ms, None, "nobody can log in but its owner");
}
