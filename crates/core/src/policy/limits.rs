//! How much a principal may do. Counted per principal, so that neither a new connection nor new settings start
//! the count again.

use std::collections::HashMap;
use std::sync::Arc;
use std::time::Duration;

use parking_lot::Mutex;
use tokio::time::Instant;
use toolway_types::{Code, PrincipalId, ToolError, ToolId};

use super::{Decision, Policy};

/// Rates that are remembered at a time. Full buckets need no memory, and go first.
const BUCKETS: usize = 65_536;

/// Whose calls are counted, of what.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
struct Counted {
    rule: Arc<str>,
    principal: PrincipalId,
    /// None where all tools of the rule count together.
    tool: Option<ToolId>,
}

/// A bucket of calls that may be made; it fills again over a minute.
#[derive(Debug)]
struct Bucket {
    left: f64,
    at: Instant,
    per_minute: f64,
}

impl Bucket {
    fn refill(&mut self, per_minute: f64, now: Instant) {
        let since = now.saturating_duration_since(self.at).as_secs_f64();
        self.left = (self.left + since * per_minute / 60.0).min(per_minute);
        self.at = now;
        self.per_minute = per_minute;
    }

    /// Takes one call, or says how long until there is one.
    fn take(&mut self) -> Result<(), Duration> {
        if self.left >= 1.0 {
            self.left -= 1.0;
            return Ok(());
        }
        Err(Duration::from_secs_f64((1.0 - self.left) * 60.0 / self.per_minute))
    }
}

/// Counts what principals do.
#[derive(Debug, Default)]
pub(crate) struct Limiter {
    buckets: Mutex<HashMap<Counted, Bucket>>,
    running: Mutex<HashMap<Counted, u32>>,
}

/// Counts a call as in flight for as long as it lives.
#[derive(Debug)]
pub(crate) struct InFlight<'l> {
    limiter: &'l Limiter,
    counted: Counted,
}

impl Drop for InFlight<'_> {
    fn drop(&mut self) {
        let mut running = self.limiter.running.lock();
        if let Some(count) = running.get_mut(&self.counted) {
            *count = count.saturating_sub(1);
            if *count == 0 {
                running.remove(&self.counted);
            }
        }
    }
}

impl Limiter {
    /// Counts a call, or refuses it where its principal has had its share.
    pub(crate) fn admit(
        &self,
        policy: &Policy,
        decision: Decision,
        principal: &PrincipalId,
        tool: &ToolId,
    ) -> Result<Option<InFlight<'_>>, ToolError> {
        let Some(rule) = policy.rule(decision) else { return Ok(None) };
        let definition = &rule.definition;
        let name: Arc<str> =
            match (definition.calls_per_minute, definition.calls_per_minute_per_tool, definition.in_flight) {
                (None, None, None) => return Ok(None),
                _ => rule.name.as_str().into(),
            };
        let counted = |tool: Option<&ToolId>| Counted {
            rule: name.clone(),
            principal: principal.clone(),
            tool: tool.cloned(),
        };
        let in_flight = match definition.in_flight {
            None => None,
            Some(limit) => Some(self.start(counted(None), limit, &rule.name)?),
        };
        if let Some(limit) = definition.calls_per_minute_per_tool {
            self.take(counted(Some(tool)), limit, &rule.name, "of this tool ")?;
        }
        if let Some(limit) = definition.calls_per_minute {
            self.take(counted(None), limit, &rule.name, "")?;
        }
        Ok(in_flight)
    }

    fn start(&self, counted: Counted, limit: u32, rule: &str) -> Result<InFlight<'_>, ToolError> {
        let mut running = self.running.lock();
        let count = running.entry(counted.clone()).or_default();
        if *count >= limit {
            let message = format!("{limit} calls are in flight already, which is what the policy allows");
            return Err(ToolError::new(Code::Overloaded, message)
                .with_hint(format!("Wait for some of them to end; the rule is {rule:?}")));
        }
        *count += 1;
        Ok(InFlight { limiter: self, counted })
    }

    fn take(&self, counted: Counted, per_minute: u32, rule: &str, which: &str) -> Result<(), ToolError> {
        let now = Instant::now();
        let rate = f64::from(per_minute);
        let mut buckets = self.buckets.lock();
        if buckets.len() >= BUCKETS && !buckets.contains_key(&counted) {
            forget_full(&mut buckets, now);
        }
        let bucket = buckets.entry(counted).or_insert(Bucket { left: rate, at: now, per_minute: rate });
        bucket.refill(rate, now);
        bucket.take().map_err(|wait| {
            let message =
                format!("The policy allows {per_minute} calls {which}a minute, and they are used up");
            let seconds = wait.as_secs_f64().ceil().max(1.0);
            ToolError::new(Code::RateLimited, message)
                .with_hint(format!("Try again in {seconds} s; the rule is {rule:?}"))
        })
    }
}

/// Makes room: buckets that have filled again say nothing, and where that is not enough all start anew.
fn forget_full(buckets: &mut HashMap<Counted, Bucket>, now: Instant) {
    buckets.retain(|_, bucket| {
        bucket.refill(bucket.per_minute, now);
        bucket.left < bucket.per_minute
    });
    if buckets.len() >= BUCKETS {
        tracing::warn!("too many rates are counted at a time; all start anew");
        buckets.clear();
    }
}

#[cfg(test)]
mod tests;
