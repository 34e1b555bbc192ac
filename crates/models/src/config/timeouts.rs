//! How long a model provider is waited for, and how often it is asked again.

use std::time::Duration;

use serde::{Deserialize, Serialize};

/// How long to wait. There is no bound on a whole answer.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct ProviderTimeouts {
    /// For a connection, TLS included.
    #[serde(rename = "connect_s", with = "seconds")]
    pub connect: Duration,
    /// For the first byte of an answer.
    #[serde(rename = "first_byte_s", with = "seconds")]
    pub first_byte: Duration,
    /// From there for its first word; and for the first byte as well, where the request says how much the model is to
    /// think before it speaks.
    #[serde(rename = "first_token_s", with = "seconds")]
    pub first_token: Duration,
    /// From the first word on, for whatever comes next.
    #[serde(rename = "idle_s", with = "seconds")]
    pub idle: Duration,
}

impl Default for ProviderTimeouts {
    fn default() -> Self {
        Self {
            connect: Duration::from_secs(10),
            first_byte: Duration::from_secs(60),
            first_token: Duration::from_secs(600),
            idle: Duration::from_secs(60),
        }
    }
}

/// How often to ask again where nothing came of a request, and how long to wait before.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct RetryPolicy {
    /// Most requests, the first among them. 1: never again.
    pub max_attempts: u32,
    /// Longest wait before another request. A provider that wants a longer one is not asked again.
    #[serde(rename = "max_backoff_s", with = "seconds")]
    pub max_backoff: Duration,
    /// The first wait where the provider names none; each further one is twice as long.
    #[serde(rename = "initial_backoff_s", with = "seconds")]
    pub initial_backoff: Duration,
}

impl Default for RetryPolicy {
    fn default() -> Self {
        Self {
            max_attempts: 4,
            max_backoff: Duration::from_secs(60),
            initial_backoff: Duration::from_secs(1),
        }
    }
}

/// Durations as seconds, fractions allowed.
mod seconds {
    use std::time::Duration;

    use serde::{Deserialize, Deserializer, Serializer, de};

    /// The longest that makes sense to wait for one thing.
    const MAX_SECONDS: f64 = 24.0 * 3600.0;

    pub(super) fn serialize<S: Serializer>(duration: &Duration, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.serialize_f64(duration.as_secs_f64())
    }

    pub(super) fn deserialize<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Duration, D::Error> {
        let seconds = f64::deserialize(deserializer)?;
        if !(0.0..=MAX_SECONDS).contains(&seconds) {
            return Err(de::Error::custom(format!("{seconds} is not from 0 to {MAX_SECONDS} seconds")));
        }
        Ok(Duration::from_secs_f64(seconds))
    }
}
