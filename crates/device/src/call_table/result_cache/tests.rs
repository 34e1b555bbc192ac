use super::*;
use proptest::prelude::*;

fn memory(ids: usize, bytes: usize) -> ResultCache {
    ResultCache::new(ResultCacheBounds { age: Duration::from_secs(600), ids, bytes })
}

fn remember(memory: &mut ResultCache, id: &str, length: usize, acknowledged: bool, now: Instant) {
    memory.remember(id.into(), "x".repeat(length).into(), acknowledged, now);
}

#[tokio::test(start_paused = true)]
async fn results_are_kept_for_ten_minutes() {
    let start = Instant::now();
    let mut memory = memory(10, 100);
    remember(&mut memory, "a", 3, true, start);
    assert_eq!(memory.recall("a", start + Duration::from_secs(599)), Some(Some("xxx".into())));
    assert_eq!(memory.recall("a", start + Duration::from_secs(600)), None);
    assert_eq!((memory.bytes, memory.bodies.len(), memory.order.len()), (0, 0, 0));
}

#[tokio::test(start_paused = true)]
async fn bodies_are_dropped_before_ids_and_acknowledged_ones_first() {
    let now = Instant::now();
    let mut memory = memory(10, 10);
    remember(&mut memory, "waiting", 4, false, now);
    remember(&mut memory, "taken", 4, true, now);
    remember(&mut memory, "new", 4, false, now);
    assert_eq!(memory.recall("taken", now), Some(None));
    assert_eq!(memory.recall("waiting", now), Some(Some("xxxx".into())));
    remember(&mut memory, "newer", 6, false, now);
    assert_eq!(memory.recall("waiting", now), Some(None), "the oldest where nothing is acknowledged");
    assert_eq!(memory.unacknowledged().len(), 2);
}

#[tokio::test(start_paused = true)]
async fn the_number_of_ids_is_limited() {
    let now = Instant::now();
    let mut memory = memory(3, 1000);
    for at in 0..5 {
        remember(&mut memory, &at.to_string(), 1, false, now);
    }
    assert_eq!(memory.recall("1", now), None);
    assert!(memory.recall("2", now).is_some());
    assert_eq!((memory.entries.len(), memory.order.len(), memory.bodies.len()), (3, 3, 3));
}

proptest! {
    /// The byte count always matches the stored bodies, and the bounds hold.
    #[test]
    fn sizes_match_the_stored_bodies(steps in proptest::collection::vec((0u8..3, 0usize..12, 0u64..300), 0..80)) {
        let runtime = tokio::runtime::Builder::new_current_thread().enable_time().build().unwrap();
        let _inside = runtime.enter();
        let mut now = Instant::now();
        let mut memory = memory(6, 20);
        for (at, (kind, length, seconds)) in steps.into_iter().enumerate() {
            now += Duration::from_secs(seconds);
            match kind {
                0 | 1 => remember(&mut memory, &at.to_string(), length, kind == 1, now),
                _ => memory.acknowledge(&at.saturating_sub(length).to_string()),
            }
            let sum: usize = memory.entries.values().filter_map(|it| it.frame.as_ref()).map(|it| it.len()).sum();
            prop_assert_eq!(memory.bytes, sum);
            prop_assert!(memory.bytes <= 20 && memory.entries.len() <= 6);
            prop_assert_eq!(memory.entries.len(), memory.order.len());
            prop_assert!(memory.bodies.len() <= memory.order.len());
        }
    }
}
