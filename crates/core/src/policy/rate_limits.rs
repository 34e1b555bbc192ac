//! Rate limits, counted per principal, so that neither a new connection nor new settings reset the count.

use std::collections::HashMap;
use std::sync::Arc;
use std::time::Duration;

use parking_lot::Mutex;
use tokio::time::Instant;
use toolway_types::{Code, PrincipalId, ToolError, ToolId};

use super::{Policy, PolicyDecision};

/// Maximum number of buckets. Full buckets need no memory and are removed first.
const MAX_BUCKETS: usize = 65_536;

/// Key of a bucket: the principal, and the calls that it counts.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
struct RateLimitKey {
    rule: Arc<str>,
    principal: PrincipalId,
    /// None if all tools of the rule share the bucket.
    tool: Option<ToolId>,
}

/// Time in which a used-up limit fills again.
const MINUTE: Duration = Duration::from_secs(60);

/// A token bucket. Each call takes a share that returns over a minute.
#[derive(Debug, Clone, Copy)]
struct RateBucket {
    /// Time at which the bucket is full again.
    full_at: Instant,
}

impl RateBucket {
    /// Takes one call of `per_minute`, or returns the time until one is available.
    fn take_one(self, per_minute: u32, now: Instant) -> Result<Self, Duration> {
        let full_at = self.full_at.max(now) + MINUTE / per_minute.max(1);
        match (full_at - now).checked_sub(MINUTE) {
            None | Some(Duration::ZERO) => Ok(Self { full_at }),
            Some(over) => Err(over),
        }
    }
}

/// Counts the calls of principals.
#[derive(Debug, Default)]
pub(crate) struct RateLimiter {
    buckets: Mutex<HashMap<RateLimitKey, RateBucket>>,
    running: Mutex<HashMap<RateLimitKey, u32>>,
}

/// Counts a call as running until it is dropped.
#[derive(Debug)]
pub(crate) struct PolicyInFlightGuard<'l> {
    limiter: &'l RateLimiter,
    key: RateLimitKey,
}

impl Drop for PolicyInFlightGuard<'_> {
    fn drop(&mut self) {
        let mut running = self.limiter.running.lock();
        if let Some(count) = running.get_mut(&self.key) {
            *count = count.saturating_sub(1);
            if *count == 0 {
                running.remove(&self.key);
            }
        }
    }
}

impl RateLimiter {
    /// Counts a call, or refuses it if a limit of its principal is used up.
    pub(crate) fn admit(
        &self,
        policy: &Policy,
        decision: PolicyDecision,
        principal: &PrincipalId,
        tool: &ToolId,
    ) -> Result<Option<PolicyInFlightGuard<'_>>, ToolError> {
        let Some(rule) = policy.rule(decision) else { return Ok(None) };
        let definition = &rule.definition;
        let name: Arc<str> =
            match (definition.calls_per_minute, definition.calls_per_minute_per_tool, definition.in_flight) {
                (None, None, None) => return Ok(None),
                _ => rule.name.as_str().into(),
            };
        let counted = |tool: Option<&ToolId>| RateLimitKey {
            rule: name.clone(),
            principal: principal.clone(),
            tool: tool.cloned(),
        };
        let in_flight = match definition.in_flight {
            None => None,
            Some(limit) => Some(self.count_in_flight(counted(None), limit, &rule.name)?),
        };
        let per_tool = definition.calls_per_minute_per_tool.map(|limit| (limit, Some(tool), "of this tool "));
        let in_all = definition.calls_per_minute.map(|limit| (limit, None, ""));
        let limits = [per_tool, in_all].into_iter().flatten();
        self.take_from_buckets(limits.map(|(limit, tool, which)| (counted(tool), limit, which)), &rule.name)?;
        Ok(in_flight)
    }

    fn count_in_flight(
        &self,
        counted: RateLimitKey,
        limit: u32,
        rule: &str,
    ) -> Result<PolicyInFlightGuard<'_>, ToolError> {
        let mut running = self.running.lock();
        let count = running.entry(counted.clone()).or_default();
        if *count >= limit {
            let message = format!("{limit} calls are already in flight; the policy allows no more");
            return Err(ToolError::new(Code::Overloaded, message)
                .with_hint(format!("Wait for some of them to end; the rule is {rule:?}")));
        }
        *count += 1;
        Ok(PolicyInFlightGuard { limiter: self, key: counted })
    }

    /// Takes one call from each of these buckets, or from none if one is used up.
    fn take_from_buckets<'w>(
        &self,
        limits: impl Iterator<Item = (RateLimitKey, u32, &'w str)>,
        rule: &str,
    ) -> Result<(), ToolError> {
        let now = Instant::now();
        let mut buckets = self.buckets.lock();
        let mut taken = Vec::new();
        for (counted, per_minute, which) in limits {
            let bucket = buckets.get(&counted).copied().unwrap_or(RateBucket { full_at: now });
            let bucket = bucket.take_one(per_minute, now).map_err(|wait| {
                let message = format!(
                    "The policy allows {per_minute} calls {which}per minute, and this limit is reached"
                );
                let seconds = wait.as_secs_f64().ceil();
                ToolError::new(Code::RateLimited, message)
                    .with_hint(format!("Try again in {seconds} s; the rule is {rule:?}"))
            })?;
            taken.push((counted, bucket));
        }
        if buckets.len() + taken.len() > MAX_BUCKETS {
            make_room(&mut buckets, now);
        }
        buckets.extend(taken);
        Ok(())
    }
}

/// Removes full buckets, and if that is not enough, the half of the others that is full soonest.
fn make_room(buckets: &mut HashMap<RateLimitKey, RateBucket>, now: Instant) {
    buckets.retain(|_, bucket| bucket.full_at > now);
    if buckets.len() < MAX_BUCKETS / 2 {
        return;
    }
    tracing::warn!("too many rate limits are counted at a time; the least used ones are reset");
    let mut times: Vec<_> = buckets.values().map(|bucket| bucket.full_at).collect();
    let half = times.len() / 2;
    let (_, middle, _) = times.select_nth_unstable(half);
    let middle = *middle;
    buckets.retain(|_, bucket| bucket.full_at > middle);
}

#[cfg(test)]
mod tests;
