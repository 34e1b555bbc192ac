//! How often an address may fail: a bucket of tokens for each, filled evenly over a minute.

use std::collections::HashMap;
use std::net::IpAddr;
use std::time::Duration;

use parking_lot::Mutex;
use tokio::time::Instant;

/// Addresses that are remembered; beyond that, those that have long done nothing wrong are forgotten, and if
/// there are none the newcomer is refused nothing.
const MAX_ADDRESSES: usize = 10_000;
const MINUTE: Duration = Duration::from_secs(60);

/// Allows each address so many attempts a minute.
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
    /// So many attempts a minute, all of which may come at once.
    #[must_use]
    pub fn new(a_minute: u32) -> Self {
        Self { per_minute: f64::from(a_minute), buckets: Mutex::new(HashMap::new()) }
    }

    /// Counts an attempt.
    ///
    /// # Errors
    /// How long to wait, where it has none left.
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
    /// Gives an attempt back: it was a good one.
    pub fn refund(&self, from: IpAddr) {
        if let Some(bucket) = self.buckets.lock().get_mut(&network_of(from)) {
            bucket.remaining = (bucket.remaining + 1.0).min(self.per_minute);
        }
    }
}

/// An address of version 6 counts with all of its /64, which one host has to itself.
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
