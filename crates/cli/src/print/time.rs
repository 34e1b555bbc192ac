//! Formats times as local time and age, and durations with a suitable unit.

use jiff::Timestamp;
use jiff::tz::TimeZone;

/// Formatter of times.
#[derive(Debug, Clone)]
pub(crate) struct TimeFormatter {
    now_ms: i64,
    zone: TimeZone,
}

impl TimeFormatter {
    /// Creates a formatter for this time and zone.
    pub(crate) fn new(now_ms: i64, zone: TimeZone) -> Self {
        Self { now_ms, zone }
    }

    /// Formats a local time: `2026-09-01 14:03:05`.
    pub(crate) fn format_local(&self, ms: i64) -> String {
        match Timestamp::from_millisecond(ms) {
            Ok(moment) => self.zone.to_datetime(moment).strftime("%Y-%m-%d %H:%M:%S").to_string(),
            Err(_) => format!("{ms} ms"),
        }
    }

    /// Formats a difference to now: `3 s ago`, `in 5 min`.
    pub(crate) fn format_ago(&self, ms: i64) -> String {
        let past = self.now_ms.saturating_sub(ms);
        match past.unsigned_abs() {
            0..1000 => "now".to_owned(),
            distance if past > 0 => format!("{} ago", format_coarse(distance)),
            distance => format!("in {}", format_coarse(distance)),
        }
    }

    /// Formats a local time with its age: `2026-09-01 14:03:05 (3 s ago)`.
    pub(crate) fn format_local_and_ago(&self, ms: i64) -> String {
        format!("{} ({})", self.format_local(ms), self.format_ago(ms))
    }
}

/// Formats a duration in its largest unit, rounded.
fn format_coarse(ms: u64) -> String {
    let rounded = |unit_ms: u64| ms.saturating_add(unit_ms / 2) / unit_ms;
    match ms / 1000 {
        0..60 => format!("{} s", rounded(1000)),
        60..3600 => format!("{} min", rounded(60_000)),
        3600..86_400 => format!("{} h", rounded(3_600_000)),
        _ => format!("{} d", rounded(86_400_000)),
    }
}

/// Formats a duration in milliseconds: `0.4 ms`, `12 ms`, `1.2 s`, `3 min 5 s`.
pub(crate) fn format_duration(ms: f64) -> String {
    if ms.is_nan() || ms < 0.0 {
        return "?".to_owned();
    }
    match ms {
        _ if ms == 0.0 => "0 ms".to_owned(),
        _ if ms < 9.95 => format!("{ms:.1} ms"),
        _ if ms < 999.5 => format!("{ms:.0} ms"),
        _ if ms < 59_950.0 => format!("{:.1} s", ms / 1000.0),
        _ => {
            #[allow(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "shown to a person")]
            let seconds = (ms / 1000.0).round() as u64;
            format!("{} min {} s", seconds / 60, seconds % 60)
        }
    }
}

/// Formats a size: `512 B`, `1.5 KiB`, `16 MiB`.
pub(crate) fn format_bytes(count: u64) -> String {
    const UNITS: [&str; 4] = ["KiB", "MiB", "GiB", "TiB"];
    if count < 1024 {
        return format!("{count} B");
    }
    #[allow(clippy::cast_precision_loss, reason = "shown to a person")]
    let mut amount = count as f64 / 1024.0;
    let mut unit = UNITS[0];
    for larger in &UNITS[1..] {
        if amount < 1023.95 {
            break;
        }
        amount /= 1024.0;
        unit = larger;
    }
    let text = format!("{amount:.1}");
    format!("{} {unit}", text.strip_suffix(".0").unwrap_or(&text))
}

#[cfg(test)]
mod tests;
