use std::time::Duration;

use tempfile::TempDir;
use toolway_core::policy::definition::{ChangedToolAction, PolicySettings};
use toolway_core::{EngineParts, Policy, Registry};
use toolway_store::StoreOptions;
use toolway_types::{RawJson, SpecDocument};

use super::*;
use crate::testing::ManualClock;

struct ToolChangesHarness {
    changes: Arc<ToolChangeTracker>,
    engine: Arc<Engine>,
    store: Store,
    clock: ManualClock,
    _dir: TempDir,
}

fn spec(json: &str) -> Arc<ToolSpec> {
    let document: SpecDocument = serde_json::from_str(json).unwrap();
    Arc::new(ToolSpec::compile(document).unwrap())
}

fn lamp(description: &str) -> Arc<ToolSpec> {
    spec(&format!(r#"{{"name":"lamp","description":"{description}"}}"#))
}

fn pixel() -> Slug {
    "pixel".parse().unwrap()
}

fn id() -> ToolId {
    "pixel/lamp".parse().unwrap()
}

fn holding() -> Policy {
    let policy = PolicySettings { changed_tools: ChangedToolAction::Ask, ..PolicySettings::default() };
    Policy::compile(&policy, &Default::default(), &Default::default()).unwrap()
}

/// Creates a tracker that holds changed tools back, so that registering waits for the comparison.
async fn bench() -> ToolChangesHarness {
    let dir = tempfile::tempdir().unwrap();
    let clock = ManualClock::new(1000);
    let store = Store::open(dir.path(), Arc::new(clock.clone()), StoreOptions::default()).await.unwrap();
    let parts =
        EngineParts { policy: holding(), ..EngineParts::new(Registry::new(), Arc::new(clock.clone())) };
    let engine = Engine::new(parts);
    let (changes, work) =
        ToolChangeTracker::open(engine.clone(), store.clone(), Arc::new(clock.clone())).await.unwrap();
    tokio::spawn(work);
    ToolChangesHarness { changes, engine, store, clock, _dir: dir }
}

impl ToolChangesHarness {
    async fn register(&self, specs: &[Arc<ToolSpec>]) {
        self.changes.submit(&pixel(), specs).await;
    }

    fn is_marked(&self) -> bool {
        self.engine.changed_tools().contains(&id())
    }

    async fn difference(&self) -> SpecDifference {
        self.changes.difference(&id()).await.unwrap().unwrap()
    }
}

#[test]
fn the_canonical_form_is_independent_of_field_order() {
    let one = spec(r#"{"name":"a","parameters":{"type":"object","properties":{"x":{"enum":[1,2]},"y":{}}}}"#);
    let same = spec(
        r#"{"parameters": {"properties": {"y": {}, "x": {"enum": [1, 2]}}, "type": "object"}, "name": "a"}"#,
    );
    assert_eq!(document::fingerprint(&one), document::fingerprint(&same));
    assert_eq!(document::pretty(&one), document::pretty(&same));
    // The order of a list is significant.
    let other =
        spec(r#"{"name":"a","parameters":{"type":"object","properties":{"x":{"enum":[2,1]},"y":{}}}}"#);
    assert_ne!(document::fingerprint(&one), document::fingerprint(&other));
    let lines = "{\n  \"name\": \"a\",\n  \"parameters\": {\n    \"properties\": {\n      \"x\": {\n";
    assert!(document::pretty(&one).starts_with(lines), "{}", document::pretty(&one));
}

#[tokio::test]
async fn the_first_spec_is_accepted_and_a_changed_one_is_marked() {
    let bench = bench().await;
    bench.register(&[lamp("One")]).await;
    assert!(!bench.is_marked());
    let first = bench.difference().await;
    assert_eq!((first.changed_ms, first.diff.as_str()), (None, ""));
    bench.clock.set(2000);
    bench.register(&[lamp("Two")]).await;
    assert!(bench.is_marked());
    let second = bench.difference().await;
    assert_eq!((second.changed_ms, &second.before), (Some(2000), &first.now));
    assert_eq!(
        second.diff,
        "--- accepted\n+++ now\n@@ -1,4 +1,4 @@\n {\n-  \"description\": \"One\",\n+  \"description\": \"Two\",\n   \
         \"name\": \"lamp\"\n }\n"
    );
    assert!(!bench.changes.accept(&id(), AcceptedVersion::Fingerprint(first.fingerprint)).await.unwrap());
    assert!(bench.is_marked());
    assert!(bench.changes.accept(&id(), AcceptedVersion::Fingerprint(second.fingerprint)).await.unwrap());
    assert!(!bench.is_marked());
    bench.register(&[lamp("One")]).await;
    assert!(bench.is_marked(), "what passed before is another now");
    assert!(bench.changes.accept(&id(), AcceptedVersion::Current).await.unwrap());
    assert!(!bench.is_marked());
    assert!(!bench.changes.accept(&"pixel/none".parse().unwrap(), AcceptedVersion::Current).await.unwrap());
}

#[tokio::test]
async fn a_later_change_is_not_accepted_with_an_earlier_one() {
    let bench = bench().await;
    bench.register(&[lamp("One")]).await;
    bench.clock.set(2000);
    bench.register(&[lamp("Two")]).await;
    bench.clock.set(3000);
    bench.register(&[lamp("Three")]).await;
    assert!(!bench.changes.accept(&id(), AcceptedVersion::AsOf(2999)).await.unwrap());
    assert!(bench.is_marked());
    assert!(bench.changes.accept(&id(), AcceptedVersion::AsOf(3000)).await.unwrap());
    assert!(!bench.is_marked());
}

#[tokio::test]
async fn marks_are_restored_after_a_restart_and_a_database_replacement() {
    let bench = bench().await;
    bench.register(&[lamp("One")]).await;
    bench.register(&[lamp("Two")]).await;
    let engine = Engine::new(EngineParts::new(Registry::new(), Arc::new(bench.clock.clone())));
    let opened =
        ToolChangeTracker::open(engine.clone(), bench.store.clone(), Arc::new(bench.clock.clone())).await;
    assert!(opened.is_ok() && engine.changed_tools().contains(&id()));
    bench.store.specs().approve(&pixel(), "lamp", bench.difference().await.fingerprint).await.unwrap();
    assert!(bench.is_marked());
    bench.changes.reload().await.unwrap();
    assert!(!bench.is_marked());
}

#[tokio::test]
async fn registering_does_not_wait_if_changed_tools_do_not() {
    let bench = bench().await;
    bench.engine.set_policy(Policy::default());
    bench.register(&[]).await;
    bench.register(&[lamp("One")]).await;
    bench.register(&[lamp("Two")]).await;
    let seen = async {
        while !bench.is_marked() {
            tokio::task::yield_now().await;
        }
    };
    tokio::time::timeout(Duration::from_secs(30), seen).await.expect("it is compared in time");
}

#[tokio::test]
async fn tools_that_cannot_be_compared_wait_for_the_owner() {
    let bench = bench().await;
    bench.register(&[lamp("One")]).await;
    bench.store.close().await;
    bench.register(&[lamp("One"), spec(r#"{"name":"door"}"#)]).await;
    assert!(bench.is_marked() && bench.engine.changed_tools().contains(&"pixel/door".parse().unwrap()));
}

#[tokio::test]
async fn each_tool_is_compared_separately() {
    let bench = bench().await;
    let door = spec(r#"{"name":"door","parameters":{"type":"object"}}"#);
    bench.register(&[lamp("One"), door.clone()]).await;
    let description = SpecDocument { description: Some("New".to_owned()), ..SpecDocument::named("window") };
    let window = Arc::new(ToolSpec::compile(description).unwrap());
    bench.register(&[lamp("Two"), door, window]).await;
    assert!(bench.is_marked());
    for other in ["pixel/door", "pixel/window"] {
        assert!(!bench.engine.changed_tools().contains(&other.parse().unwrap()), "{other}");
    }
    // A tool of another source is another tool.
    bench.changes.submit(&"desk".parse().unwrap(), &[lamp("Three")]).await;
    assert!(!bench.engine.changed_tools().contains(&"desk/lamp".parse().unwrap()));
    let raw = |text: &str| RawJson::parse(text).unwrap().to_value();
    let now = bench.changes.difference(&id()).await.unwrap().unwrap().now.unwrap();
    assert_eq!(raw(&now), raw(r#"{"description":"Two","name":"lamp"}"#));
}
