//! Latencies and their statistics. Every sample is kept (four bytes each), so percentiles are exact.

use std::time::Duration;

/// Samples, in tenths of a microsecond.
#[derive(Debug, Default, Clone)]
pub(crate) struct LatencySamples(Vec<u32>);

/// Statistics of samples, in microseconds; zeros if there are none.
#[derive(Debug, Default, Clone, Copy, PartialEq)]
pub(crate) struct LatencySummary {
    /// Number of samples.
    pub(crate) count: usize,
    /// Median.
    pub(crate) p50_us: f64,
    /// 90th percentile.
    pub(crate) p90_us: f64,
    /// 99th percentile.
    pub(crate) p99_us: f64,
    /// Maximum.
    pub(crate) max_us: f64,
}

impl LatencySamples {
    /// Records a sample; anything over seven minutes counts as seven minutes.
    pub(crate) fn record(&mut self, took: Duration) {
        self.0.push(u32::try_from(took.as_nanos() / 100).unwrap_or(u32::MAX));
    }

    /// Adds the samples of another set.
    pub(crate) fn append(&mut self, mut other: Self) {
        self.0.append(&mut other.0);
    }

    /// Sorts the samples and calculates the percentiles (nearest rank).
    pub(crate) fn summary(&mut self) -> LatencySummary {
        self.0.sort_unstable();
        LatencySummary {
            count: self.0.len(),
            p50_us: self.at_percent(50),
            p90_us: self.at_percent(90),
            p99_us: self.at_percent(99),
            max_us: self.at_percent(100),
        }
    }

    fn at_percent(&self, percent: usize) -> f64 {
        let rank = (self.0.len() * percent).div_ceil(100);
        self.0.get(rank.saturating_sub(1)).map_or(0.0, |tenths| f64::from(*tenths) / 10.0)
    }
}

/// Returns the median: the middle value, or the mean of the two in the middle; zero if there are none.
pub(crate) fn median(mut values: Vec<f64>) -> f64 {
    values.sort_unstable_by(f64::total_cmp);
    let middle = values.len() / 2;
    match (values.get(middle), middle.checked_sub(1).and_then(|below| values.get(below))) {
        (Some(upper), Some(lower)) if values.len().is_multiple_of(2) => f64::midpoint(*lower, *upper),
        (Some(value), _) => *value,
        (None, _) => 0.0,
    }
}

/// Returns `part / whole`; zero if `whole` is zero, so that a report never contains a NaN.
pub(crate) fn ratio(part: f64, whole: f64) -> f64 {
    if whole > 0.0 { part / whole } else { 0.0 }
}

/// Rounds a number for JSON to its significant digits.
pub(crate) fn rounded(value: f64) -> f64 {
    let scale = if value.abs() >= 100.0 { 10.0 } else { 1000.0 };
    (value * scale).round() / scale
}

#[cfg(test)]
mod tests;
