//! A duration as it is written in settings: a number of seconds, whole or not.

use std::time::Duration;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// Seconds. Not negative, not endless: the settings are refused otherwise.
#[derive(Debug, Clone, Copy, PartialEq, PartialOrd, JsonSchema)]
#[schemars(with = "f64")]
pub struct Seconds(f64);

impl Seconds {
    /// The longest that a setting can say: a year.
    pub const MAX: Self = Self(31_536_000.0);

    /// This many.
    #[must_use]
    pub const fn new(seconds: f64) -> Self {
        Self(seconds)
    }

    /// The same for the runtime.
    #[must_use]
    pub fn duration(self) -> Duration {
        Duration::try_from_secs_f64(self.0).unwrap_or(if self.0 > 0.0 {
            Duration::MAX
        } else {
            Duration::ZERO
        })
    }

    /// The number.
    #[must_use]
    pub fn get(self) -> f64 {
        self.0
    }
}

impl Serialize for Seconds {
    fn serialize<S: serde::Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        // 30, not 30.0: what people write is what they are shown.
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
