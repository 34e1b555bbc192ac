//! Measures two sides in turns: half a slice of the second, a slice of the first, half a slice of the second.
//! On a shared machine, only this makes ratios meaningful.

use std::time::Duration;

use crate::churn::DeviceChurn;
use crate::error::Result;
use crate::stats::ratio;
use crate::target_measurement::{SliceMetrics, TargetMeasurement};

const SLICE: Duration = Duration::from_secs(1);
const WARM_UP: Duration = Duration::from_millis(700);

/// The ratios (first ÷ second) of one round.
#[derive(Debug, Clone, Copy)]
pub(crate) struct RoundRatios {
    pub(crate) p50: f64,
    pub(crate) calls_per_s: f64,
    pub(crate) cpu: f64,
}

/// Measures each side for `length` in total; `churn` runs during the slices of the first.
pub(crate) async fn alternate(
    first: &mut TargetMeasurement,
    second: &mut TargetMeasurement,
    length: Duration,
    rate: Option<f64>,
    churn: Option<&DeviceChurn>,
) -> Result<Vec<RoundRatios>> {
    second.warm_up(WARM_UP).await?;
    first.warm_up(WARM_UP).await?;
    let (count, slice) = slices(length);
    let mut rounds = Vec::new();
    for _ in 0..count {
        let before = second.run_slice(slice / 2, rate, None).await?;
        let measured = first.run_slice(slice, rate, churn).await?;
        let after = second.run_slice(slice / 2, rate, None).await?;
        rounds.push(round(measured, before, after));
    }
    Ok(rounds)
}

/// Returns the minimum and the maximum of one kind of ratio.
pub(crate) fn range(rounds: &[RoundRatios], of: impl Fn(&RoundRatios) -> f64) -> [f64; 2] {
    let values = || rounds.iter().map(&of);
    [values().reduce(f64::min).unwrap_or(0.0), values().reduce(f64::max).unwrap_or(0.0)]
}

/// Returns number and length of the slices.
fn slices(length: Duration) -> (u32, Duration) {
    let count = length.div_duration_f64(SLICE).round().clamp(2.0, 100_000.0) as u32;
    (count, length / count)
}

fn round(measured: SliceMetrics, before: SliceMetrics, after: SliceMetrics) -> RoundRatios {
    let against = |of: fn(&SliceMetrics) -> f64| ratio(of(&measured), f64::midpoint(of(&before), of(&after)));
    RoundRatios {
        p50: against(|slice| slice.p50_us),
        calls_per_s: against(|slice| slice.calls_per_s),
        cpu: against(|slice| slice.cpu_us_per_call),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn slices_are_about_a_second_and_add_up() {
        assert_eq!(slices(Duration::from_secs(10)), (10, Duration::from_secs(1)));
        assert_eq!(slices(Duration::from_secs(1)), (2, Duration::from_millis(500)));
        let (count, slice) = slices(Duration::from_millis(2500));
        assert_eq!(
            slice * count,
            Duration::from_millis(2499) + Duration::from_micros(999) + Duration::from_nanos(999)
        );
    }

    #[test]
    fn a_round_compares_with_what_was_before_and_after() {
        let slice = |value| SliceMetrics { calls_per_s: value, p50_us: value, cpu_us_per_call: value };
        let round = round(slice(6.0), slice(3.0), slice(5.0));
        assert_eq!((round.p50, round.calls_per_s, round.cpu), (1.5, 1.5, 1.5));
    }

    #[test]
    fn the_range_is_lowest_and_highest() {
        let of = |p50| RoundRatios { p50, calls_per_s: 0.0, cpu: 0.0 };
        assert_eq!(range(&[of(1.2), of(1.1), of(1.4)], |round| round.p50), [1.1, 1.4]);
        assert_eq!(range(&[], |round| round.p50), [0.0, 0.0]);
    }
}
