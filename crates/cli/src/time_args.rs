//! Parses durations and times as users type them: `90s`, `15m`, `12h`, `30d`, `2w`, a date, or a date with a time.

use std::str::FromStr;

use jiff::civil::DateTime;
use jiff::tz::TimeZone;
use jiff::{Timestamp, ZonedDateTime};

/// A duration in milliseconds.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct DurationArg(pub(crate) i64);

const DURATION_FORMAT_HINT: &str = "use a number with a unit: 500ms, 90s, 15m, 12h, 30d or 2w";

impl FromStr for DurationArg {
    type Err = String;
    fn from_str(text: &str) -> Result<Self, String> {
        let text = text.trim();
        let wrong = || format!("{text:?} is not a duration; {DURATION_FORMAT_HINT}");
        let split = text.find(|c: char| !c.is_ascii_digit() && c != '.').unwrap_or(text.len());
        let (number, unit) = text.split_at(split);
        let number: f64 = number.parse().map_err(|_| wrong())?;
        let unit_ms = match unit.trim() {
            "ms" => 1.0,
            // A number without a unit is in seconds, like most timeouts.
            "" | "s" | "sec" => 1000.0,
            "m" | "min" => 60_000.0,
            "h" => 3_600_000.0,
            "d" => 86_400_000.0,
            "w" => 604_800_000.0,
            _ => return Err(wrong()),
        };
        let ms = (number * unit_ms).round();
        // Maximum: about a thousand years.
        if !(0.0..=3.2e13).contains(&ms) {
            return Err(wrong());
        }
        #[allow(clippy::cast_possible_truncation, reason = "within the bound just checked")]
        Ok(Self(ms as i64))
    }
}

impl DurationArg {
    /// Returns whole seconds, rounded up.
    pub(crate) fn seconds(self) -> i64 {
        self.0.div_euclid(1000) + i64::from(self.0 % 1000 != 0)
    }
}

/// A time: relative to now, or a date.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum TimeArg {
    /// Difference to now.
    Relative(DurationArg),
    /// Local date and time.
    Local(DateTime),
    /// Time with a zone.
    Absolute(Timestamp),
}

impl FromStr for TimeArg {
    type Err = String;
    fn from_str(text: &str) -> Result<Self, String> {
        let text = text.trim();
        if let Ok(span) = text.parse() {
            return Ok(Self::Relative(span));
        }
        if let Ok(exact) = text.parse::<Timestamp>() {
            return Ok(Self::Absolute(exact));
        }
        if let Ok(exact) = text.parse::<ZonedDateTime>() {
            return Ok(Self::Absolute(exact.timestamp()));
        }
        text.parse::<DateTime>().map(Self::Local).map_err(|_| {
            format!(
                "{text:?} is neither a duration nor a date; {DURATION_FORMAT_HINT}, or a date like 2026-09-01 or \
                 2026-09-01T14:30"
            )
        })
    }
}

impl TimeArg {
    /// Returns the time in milliseconds since the epoch; a difference counts into the past.
    pub(crate) fn past_ms(&self, now_ms: i64, zone: &TimeZone) -> i64 {
        match self {
            Self::Relative(span) => now_ms.saturating_sub(span.0),
            other => other.absolute_ms(zone),
        }
    }

    /// Returns the time in milliseconds since the epoch; a difference counts into the future.
    pub(crate) fn future_ms(&self, now_ms: i64, zone: &TimeZone) -> i64 {
        match self {
            Self::Relative(span) => now_ms.saturating_add(span.0),
            other => other.absolute_ms(zone),
        }
    }

    fn absolute_ms(&self, zone: &TimeZone) -> i64 {
        match self {
            Self::Relative(_) => 0,
            Self::Absolute(moment) => moment.as_millisecond(),
            // jiff resolves skipped and repeated times by its rules, and fails only at the limits of its calendar.
            Self::Local(local) => zone.to_timestamp(*local).map_or(0, |moment| moment.as_millisecond()),
        }
    }
}

#[cfg(test)]
mod tests;
