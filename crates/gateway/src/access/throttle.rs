//! How often an address may fail: a bucket of tokens for each, filled evenly over a minute.

use std::collections::HashMap;
use std::net::IpAddr;
use std::time::Duration;

use parking_lot::Mutex;
use tokio::time::Instant;

/// Addresses that are remembered; beyond that, those that have long done nothing wrong are forgotten, and if
/// there are none the newcomer is refused nothing.
const REMEMBERED: usize = 10_000;
const MINUTE: Duration = Duration::from_secs(60);

/// Allows each address so many attempts a minute.
#[derive(Debug)]
pub struct Throttle {
    a_minute: f64,
    buckets: Mutex<HashMap<IpAddr, Bucket>>,
}

#[derive(Debug)]
struct Bucket {
    left: f64,
    at: Instant,
}

impl Throttle {
    /// So many attempts a minute, all of which may come at once.
    #[must_use]
    pub fn new(a_minute: u32) -> Self {
        Self { a_minute: f64::from(a_minute), buckets: Mutex::new(HashMap::new()) }
    }

    /// Counts an attempt.
    ///
    /// # Errors
    /// How long to wait, where it has none left.
    pub fn attempt(&self, from: IpAddr) -> Result<(), Duration> {
        let now = Instant::now();
        let mut buckets = self.buckets.lock();
        let key = network_of(from);
        if buckets.len() >= REMEMBERED && !buckets.contains_key(&key) {
            buckets.retain(|_, bucket| now.duration_since(bucket.at) < MINUTE);
            if buckets.len() >= REMEMBERED {
                return Ok(());
            }
        }
        let bucket = buckets.entry(key).or_insert(Bucket { left: self.a_minute, at: now });
        let refill = now.duration_since(bucket.at).as_secs_f64() / MINUTE.as_secs_f64() * self.a_minute;
        bucket.left = (bucket.left + refill).min(self.a_minute);
        bucket.at = now;
        if bucket.left < 1.0 {
            let wait = (1.0 - bucket.left) / self.a_minute * MINUTE.as_secs_f64();
            return Err(Duration::from_secs_f64(wait));
        }
        bucket.left -= 1.0;
        Ok(())
    }
}

impl Throttle {
    /// Gives an attempt back: it was a good one.
    pub fn give_back(&self, from: IpAddr) {
        if let Some(bucket) = self.buckets.lock().get_mut(&network_of(from)) {
            bucket.left = (bucket.left + 1.0).min(self.a_minute);
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
