use std::sync::Barrier;

use super::*;
use crate::testkit::{document, document_with_parameters, raw};

const SCHEMA: &str = r#"{"type":"object","properties":{"n":{"type":"integer"}}}"#;

fn live<V>(interned: &Mutex<InternPool<V>>) -> usize {
    interned.lock().values.values().filter(|value| value.strong_count() > 0).count()
}

#[test]
fn equal_specs_share_one_instance() {
    let cache = SpecCache::default();
    let one = cache.compile(document_with_parameters("x", SCHEMA)).unwrap();
    let two = cache.compile(document_with_parameters("x", SCHEMA)).unwrap();
    assert!(Arc::ptr_eq(&one, &two));
}

#[test]
fn different_specs_are_not_shared() {
    let cache = SpecCache::default();
    let one = cache.compile(document_with_parameters("x", SCHEMA)).unwrap();
    for other in [
        document_with_parameters("y", SCHEMA),
        document_with_parameters("x", r#"{"type":"object","properties":{"n":{"type":"number"}}}"#),
        document_with_parameters("x", &SCHEMA.replace(':', ": ")),
        SpecDocument { timeout_ms: Some(1), ..document_with_parameters("x", SCHEMA) },
        SpecDocument { sequential: true, ..document_with_parameters("x", SCHEMA) },
        SpecDocument { description: None, ..document_with_parameters("x", SCHEMA) },
    ] {
        let spec = cache.compile(other.clone()).unwrap();
        assert!(!Arc::ptr_eq(&one, &spec), "{other:?}");
        assert_eq!(**spec.document(), other);
        assert_eq!(spec.parameters().raw(), other.parameters.as_ref(), "its own bytes");
    }
}

#[test]
fn a_thousand_equal_schemas_share_one_validator() {
    let cache = SpecCache::default();
    let compile = |n: usize| cache.compile(document_with_parameters(&format!("tool_{n}"), SCHEMA)).unwrap();
    let specs: Vec<_> = (0..1000).map(compile).collect();
    assert!(specs.iter().all(|spec| std::ptr::eq(spec.parameters(), specs[0].parameters())));
    assert_eq!((live(&cache.specs), live(&cache.parameters)), (1000, 1));
}

#[test]
fn tools_without_parameters_share_one_validator() {
    let cache = SpecCache::default();
    let absent = cache.compile(document("a")).unwrap();
    for other in [document("b"), document_with_parameters("c", "null"), document_with_parameters("d", "[]")] {
        let other = cache.compile(other).unwrap();
        assert!(std::ptr::eq(absent.parameters(), other.parameters()), "{other:?}");
    }
}

#[test]
fn argument_and_result_schemas_are_not_shared() {
    let cache = SpecCache::default();
    let schema = r#"{"type":"object"}"#;
    let both = SpecDocument { output_schema: Some(raw(schema)), ..document_with_parameters("x", schema) };
    let spec = cache.compile(both).unwrap();
    assert!(!std::ptr::eq(spec.parameters(), spec.output().unwrap()));
    // A schema that is invalid for arguments may be valid for results.
    let list = SpecDocument { output_schema: Some(raw(r#"{"type":"array"}"#)), ..document("x") };
    assert!(cache.compile(list).is_ok());
    assert!(cache.compile(document_with_parameters("x", r#"{"type":"array"}"#)).is_err());
}

#[test]
fn unused_specs_are_dropped_at_once() {
    let cache = SpecCache::default();
    let spec = cache.compile(document_with_parameters("x", SCHEMA)).unwrap();
    let text = Arc::downgrade(spec.document());
    drop(spec);
    assert!(text.upgrade().is_none(), "the cache holds on to the source's text");
    assert_eq!((live(&cache.specs), live(&cache.parameters)), (0, 0));
    assert!(cache.compile(document_with_parameters("x", SCHEMA)).is_ok());
}

#[test]
fn unused_entries_are_swept() {
    let cache = SpecCache::default();
    for n in 0..10_000 {
        drop(cache.compile(document(&format!("tool_{n}"))).unwrap());
    }
    assert!(cache.specs.lock().values.len() <= SWEEP_AT);

    let kept: Vec<_> = (0..500).map(|n| cache.compile(document(&format!("kept_{n}"))).unwrap()).collect();
    for n in 0..10_000 {
        drop(cache.compile(document(&format!("gone_{n}"))).unwrap());
    }
    assert!(cache.specs.lock().values.len() <= 2 * kept.len() + 1);
    assert_eq!(live(&cache.specs), 500);
    for (n, spec) in kept.iter().enumerate() {
        assert!(Arc::ptr_eq(spec, &cache.compile(document(&format!("kept_{n}"))).unwrap()));
    }
}

#[test]
fn concurrent_compilations_share_one_instance() {
    let cache = SpecCache::default();
    for round in 0..50 {
        let together = Barrier::new(4);
        let specs: Vec<_> = std::thread::scope(|scope| {
            let compile = || {
                together.wait();
                cache.compile(document_with_parameters(&format!("tool_{round}"), SCHEMA)).unwrap()
            };
            let threads: Vec<_> = (0..4).map(|_| scope.spawn(compile)).collect();
            threads.into_iter().map(|thread| thread.join().unwrap()).collect()
        });
        assert!(specs.iter().all(|spec| Arc::ptr_eq(spec, &specs[0])));
    }
}

#[test]
fn values_with_the_same_hash_are_not_confused() {
    let mut interned = InternPool::default();
    let equal = |one: &&str, other: &&str| one == other;
    let one = interned.intern(7, "one", equal);
    let two = interned.intern(7, "two", equal);
    assert_eq!((*one, *two), ("one", "two"));
    assert!(interned.get(7, |it| *it == "one").is_none());
    assert!(Arc::ptr_eq(&two, &interned.intern(7, "two", equal)));
}
