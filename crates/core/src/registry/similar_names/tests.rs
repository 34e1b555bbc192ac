use std::time::Duration;

use tokio::time::Instant;

use super::super::{Lease, Registry, SourceRetention};
use crate::testkit::{answering_tool, slug};

fn registry(sources: &[(&str, &[&str])]) -> (std::sync::Arc<Registry>, Vec<Lease>) {
    let registry = Registry::new();
    let leases = sources.iter().map(|(source, names)| {
        let lease = registry.lease(slug(source), SourceRetention::Names);
        lease.replace(names.iter().map(|name| answering_tool(name, "x")).collect());
        lease
    });
    let leases = leases.collect();
    (registry, leases)
}

#[test]
fn a_misspelled_tool_is_found_at_its_own_source() {
    let (registry, _leases) = registry(&[
        ("builtin", &["get_current_time", "read_file"]),
        ("phone", &["camera", "ring"]),
        ("pc", &["ring"]),
    ]);
    for (name, expected) in [
        ("builtin__get_current_time", &["get_current_time"][..]),
        ("get_curent_time", &["get_current_time"]),
        ("builtin/get_current_tme", &["get_current_time"]),
        ("phone__camra", &["phone__camera"]),
        ("phone__Camera", &["phone__camera"]),
        ("camra", &["phone__camera"]),
        ("tv__ring", &[]),
        ("ringg", &["pc__ring", "phone__ring"]),
        ("phone__sing", &["phone__ring"]),
        ("weather", &[]),
        ("phone__", &[]),
        ("", &[]),
    ] {
        assert_eq!(registry.snapshot().similar_names(name, |_, _| true), expected, "{name}");
    }
}

#[test]
fn a_tool_that_the_caller_may_not_use_is_never_suggested() {
    let (registry, _leases) = registry(&[("phone", &["camera"]), ("pc", &["camera"])]);
    let similar = registry.snapshot().similar_names("camra", |id, _| id.source == slug("pc"));
    assert_eq!(similar, ["pc__camera"]);
    assert!(registry.snapshot().similar_names("phone/camra", |_, _| false).is_empty());
}

#[test]
fn suggestions_take_bounded_time_with_many_tools_and_long_names() {
    let names: Vec<_> = (0..10_000).map(|n| format!("{}{n}", "a".repeat(120))).collect();
    let names: Vec<_> = names.iter().map(String::as_str).collect();
    let (registry, _leases) = registry(&[("phone", &names)]);
    let began = Instant::now();
    assert!(registry.snapshot().similar_names(&"b".repeat(120), |_, _| true).is_empty());
    assert!(registry.snapshot().similar_names(&"a".repeat(1 << 20), |_, _| true).is_empty());
    assert!(began.elapsed() < Duration::from_secs(1), "{:?}", began.elapsed());
}
