//! Limits the failures of each address with a token bucket that is filled evenly over a minute.

use std::collections::HashMap;
use std::net::IpAddr;
use std::time::Duration;

use parking_lot::Mutex;
use tokio::time::Instant;

/// Maximum number of remembered addresses. Above it, addresses without recent failures are forgotten. If
/// there are none, new addresses are not limited.
const MAX_ADDRESSES: usize = 10_000;
const MINUTE: Duration = Duration::from_secs(60);

/// Limits the attempts of each address per minute.
#[derive(Debug)]
pub struct AddressRateLimiter {
    per_minute: f64,
    buckets: Mutex<HashMap<IpAddr, RateBucket>>,
}

#[derive(Debug)]
struct RateBucket {
    remaining: f64,
    updated_at: Instant,
}

impl AddressRateLimiter {
    /// Creates a limiter for this number of attempts per minute. All of them may come at once.
    #[must_use]
    pub fn new(a_minute: u32) -> Self {
        Self { per_minute: f64::from(a_minute), buckets: Mutex::new(HashMap::new()) }
    }

    /// Counts an attempt.
    ///
    /// # Errors
    /// The time to wait if no attempts are left.
    pub fn attempt(&self, from: IpAddr) -> Result<(), Duration> {
        let now = Instant::now();
        let mut buckets = self.buckets.lock();
        let key = network_of(from);
        if buckets.len() >= MAX_ADDRESSES && !buckets.contains_key(&key) {
            buckets.retain(|_, bucket| now.duration_since(bucket.updated_at) < MINUTE);
            if buckets.len() >= MAX_ADDRESSES {
                return Ok(());
            }
        }
        let bucket = buckets.entry(key).or_insert(RateBucket { remaining: self.per_minute, updated_at: now });
        let refill =
            now.duration_since(bucket.updated_at).as_secs_f64() / MINUTE.as_secs_f64() * self.per_minute;
        bucket.remaining = (bucket.remaining + refill).min(self.per_minute);
        bucket.updated_at = now;
        if bucket.remaining < 1.0 {
            let wait = (1.0 - bucket.remaining) / self.per_minute * MINUTE.as_secs_f64();
            return Err(Duration::from_secs_f64(wait));
        }
        bucket.remaining -= 1.0;
        Ok(())
    }
}

impl AddressRateLimiter {
    /// Undoes the count of an attempt that was successful.
    pub fn refund(&self, from: IpAddr) {
        if let Some(bucket) = self.buckets.lock().get_mut(&network_of(from)) {
            bucket.remaining = (bucket.remaining + 1.0).min(self.per_minute);
        }
    }
}

/// Returns the key of an address. IPv6 addresses count by their /64, because one host usually owns all of it.
fn network_of(ip: IpAddr) -> IpAddr {
    match ip.to_canonical() {
        IpAddr::V6(v6) => {
            let [a, b, c, d, ..] = v6.segments();
            IpAddr::from([a, b, c, d, 0, 0, 0, 0])
        }
        v4 => v4,
    }
}

#[cfg(test)]
mod tests;
