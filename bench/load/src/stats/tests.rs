use super::*;

fn of(micros: impl IntoIterator<Item = u64>) -> LatencySamples {
    let mut latencies = LatencySamples::default();
    micros.into_iter().for_each(|us| latencies.record(Duration::from_micros(us)));
    latencies
}

#[test]
fn percentiles_are_by_nearest_rank_whatever_the_order() {
    let summary = of((1..=100).rev()).summary();
    assert_eq!(
        summary,
        LatencySummary { count: 100, p50_us: 50.0, p90_us: 90.0, p99_us: 99.0, max_us: 100.0 }
    );
}

#[test]
fn one_sample_is_every_percentile() {
    assert_eq!(
        of([7]).summary(),
        LatencySummary { count: 1, p50_us: 7.0, p90_us: 7.0, p99_us: 7.0, max_us: 7.0 }
    );
}

#[test]
fn no_samples_are_zeros() {
    assert_eq!(LatencySamples::default().summary(), LatencySummary::default());
}

#[test]
fn a_sample_keeps_tenths_and_never_wraps() {
    let mut latencies = LatencySamples::default();
    latencies.record(Duration::from_nanos(12_345));
    assert_eq!(latencies.summary().p50_us, 12.3);
    latencies.record(Duration::from_secs(3600));
    assert_eq!(latencies.summary().max_us, f64::from(u32::MAX) / 10.0);
}

#[test]
fn sets_add_up() {
    let mut all = of([1, 2]);
    all.append(of([3, 4]));
    assert_eq!((all.summary().count, all.summary().max_us), (4, 4.0));
}

#[test]
fn the_median_is_the_middle_or_between_the_two() {
    assert_eq!(median(vec![3.0, 1.0, 2.0]), 2.0);
    assert_eq!(median(vec![4.0, 1.0, 2.0, 3.0]), 2.5);
    assert_eq!(median(vec![]), 0.0);
}

#[test]
fn a_ratio_to_nothing_is_zero() {
    assert_eq!(ratio(1.0, 0.0), 0.0);
    assert_eq!(ratio(3.0, 2.0), 1.5);
}

#[test]
fn rounding_keeps_three_places_of_small_numbers() {
    assert_eq!(rounded(1.234_56), 1.235);
    assert_eq!(rounded(12_345.678), 12_345.7);
}
