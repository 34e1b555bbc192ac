//! Lifetimes of tokens and grants that expire.

/// The longest lifetime, in seconds: ten years.
pub const MAX_LIFETIME_S: i64 = 315_360_000;

/// A valid lifetime.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Lifetime {
    ms: i64,
}

/// A lifetime that is too short or too long.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error("expires_in_s is {0}; it must be 1 to {MAX_LIFETIME_S} (ten years)")]
pub struct InvalidLifetime(pub i64);

impl Lifetime {
    /// Creates a lifetime from seconds.
    ///
    /// # Errors
    /// [`InvalidLifetime`] unless it is 1 to [`MAX_LIFETIME_S`].
    pub fn from_seconds(seconds: i64) -> Result<Self, InvalidLifetime> {
        if !(1..=MAX_LIFETIME_S).contains(&seconds) {
            return Err(InvalidLifetime(seconds));
        }
        Ok(Self { ms: seconds * 1000 })
    }

    /// Creates a lifetime from milliseconds.
    #[cfg(test)]
    pub(crate) fn from_millis(ms: i64) -> Self {
        Self { ms }
    }

    /// Returns the end of a lifetime that starts at `now_ms`, in milliseconds since the Unix epoch.
    #[must_use]
    pub fn end_ms(self, now_ms: i64) -> i64 {
        now_ms.saturating_add(self.ms)
    }
}

#[cfg(test)]
mod tests;
