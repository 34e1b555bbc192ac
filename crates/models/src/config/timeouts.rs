//! Timeouts and retries of requests to a model provider.

use std::time::Duration;

use serde::{Deserialize, Serialize};

/// Timeouts. A complete response has no time limit.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct ProviderTimeouts {
    /// Timeout for connecting, including TLS.
    #[serde(rename = "connect_s", with = "seconds")]
    pub connect: Duration,
    /// Timeout for the first byte of a response.
    #[serde(rename = "first_byte_s", with = "seconds")]
    pub first_byte: Duration,
    /// Timeout from the first byte to the first output. It also applies to the first byte if the request sets an effort
    /// for thinking.
    #[serde(rename = "first_token_s", with = "seconds")]
    pub first_token: Duration,
    /// Timeout between two parts of the output.
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

/// Number of attempts for a request without output, and the delays between them.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct RetryPolicy {
    /// Maximum number of attempts, including the first one. 1 means no retry.
    pub max_attempts: u32,
    /// Maximum delay before a retry. If a provider asks for a longer one, there is no retry.
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
