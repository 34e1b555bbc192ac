use super::*;

#[test]
fn backoff_delays_double_from_half_a_second_to_half_a_minute_r17() {
    let backoff = Backoff::default();
    let lowest: Vec<_> = (0..8).map(|attempt| backoff.delay(attempt, 0.0).as_millis()).collect();
    assert_eq!(lowest, [500, 1000, 2000, 4000, 8000, 15_000, 15_000, 15_000]);
    let highest: Vec<_> = (0..8).map(|attempt| backoff.delay(attempt, 1.0).as_millis()).collect();
    assert_eq!(highest, [1000, 2000, 4000, 8000, 16_000, 30_000, 30_000, 30_000]);
    assert_eq!(backoff.delay(u32::MAX, 1.0).as_millis(), 30_000);
}

#[test]
fn two_devices_have_different_backoff_delays_r17() {
    let drawn: std::collections::HashSet<_> = (0..100).map(|_| Backoff::default().random_delay(3)).collect();
    assert!(drawn.len() > 90, "{}", drawn.len());
    assert!((0..1000).map(|_| random_fraction()).all(|it| (0.0..1.0).contains(&it)));
}
