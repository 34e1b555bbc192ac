//! A duration in settings: a number of seconds, with or without a fraction.

use std::time::Duration;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// A number of seconds. Validation rejects negative and infinite values.
#[derive(Debug, Clone, Copy, PartialEq, PartialOrd, JsonSchema)]
#[schemars(with = "f64")]
pub struct Seconds(f64);

impl Seconds {
    /// Maximum of a setting: a year.
    pub const MAX: Self = Self(31_536_000.0);

    /// Creates a duration of this many seconds.
    #[must_use]
    pub const fn new(seconds: f64) -> Self {
        Self(seconds)
    }

    /// Returns the duration as a [`Duration`].
    #[must_use]
    pub fn duration(self) -> Duration {
        Duration::try_from_secs_f64(self.0).unwrap_or(if self.0 > 0.0 {
            Duration::MAX
        } else {
            Duration::ZERO
        })
    }

    /// Returns the number of seconds.
    #[must_use]
    pub fn get(self) -> f64 {
        self.0
    }
}

impl Serialize for Seconds {
    fn serialize<S: serde::Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        // Writes 30 instead of 30.0, as people do.
        #[allow(clippy::cast_possible_truncation, reason = "within the bound that is checked just before")]
        if self.0.fract() == 0.0 && self.0.abs() <= Self::MAX.0 {
            return serializer.serialize_i64(self.0 as i64);
        }
        serializer.serialize_f64(self.0)
    }
}

impl<'de> Deserialize<'de> for Seconds {
    fn deserialize<D: serde::Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        f64::deserialize(deserializer).map(Self)
    }
}
