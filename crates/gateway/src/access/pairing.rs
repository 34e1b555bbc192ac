//! Pairing codes: short secrets that can be exchanged once, within ten minutes, for the token of a device,
//! app or client.
//!
//! A code has only 40 bits, so guesses are counted across all addresses. After ten wrong codes, all pending
//! codes become invalid. Used, expired and invalidated codes are remembered for a while, so that the error
//! names the reason. Using such a code again is not a guess (it was valid once and reveals nothing about the
//! pending codes), so a device that retries a used code does not invalidate others.

use std::collections::HashMap;
use std::sync::Arc;
use std::time::Duration;

use parking_lot::Mutex;
use tokio::time::Instant;
use toolway_types::{Clock, Role};
use toolway_wire::pairing::PairingCode;

use super::agent_binding::{AgentWithoutCalls, check_binding};
use super::error::AccessError;
use super::secret::{self, NoRandomness};

/// Number of wrong codes after which all pending codes become invalid.
pub const MAX_WRONG_ATTEMPTS: u32 = 10;
/// Time for which a code is remembered after it became invalid.
const CLOSED_CODE_TTL: Duration = Duration::from_secs(3600);
/// Maximum number of remembered codes.
const MAX_REMEMBERED_CODES: usize = 1024;

/// The token that a code is exchanged for.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PairingGrant {
    /// Role of the token; never the owner's.
    pub role: Role,
    /// Display name of the token.
    pub label: Option<String>,
    /// The only agent that the token may use.
    pub agent: Option<String>,
}

/// A new pairing code.
#[derive(Debug, Clone)]
pub struct IssuedPairingCode {
    /// The code, without a key.
    pub code: PairingCode,
    /// Expiry in milliseconds since the Unix epoch.
    pub expires_ms: i64,
}

/// Error when creating a pairing code.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum PairingCodeError {
    /// The maximum number of pending codes is reached.
    #[error("{0} pairing codes wait to be used already")]
    TooMany(usize),
    /// A token of this role may not have an agent.
    #[error(transparent)]
    Agent(#[from] AgentWithoutCalls),
    /// The operating system gave no randomness for a secret.
    #[error(transparent)]
    Random(#[from] NoRandomness),
}

/// Error when exchanging a code for a token.
#[derive(Debug, thiserror::Error)]
pub enum PairError {
    /// The code is not valid.
    #[error(transparent)]
    Refused(#[from] PairRefusal),
    /// The token could not be created; the code stays valid.
    #[error(transparent)]
    Token(#[from] AccessError),
}

/// The rejection of a pairing code.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum PairRefusal {
    /// The code is not one of this gateway, or has been forgotten.
    #[error("the pairing code is not known")]
    Unknown,
    /// The code has expired.
    #[error("the pairing code has expired")]
    Expired,
    /// The code was used before.
    #[error("the pairing code has been used already")]
    AlreadyUsed,
    /// Too many wrong codes were tried while the code was pending.
    #[error("the pairing code is void: too many wrong codes were tried")]
    TooManyAttempts,
}

impl PairRefusal {
    /// The code in the response, and the reason in metrics.
    #[must_use]
    pub fn code(self) -> &'static str {
        match self {
            Self::Unknown => "pairing_code_unknown",
            Self::Expired => "pairing_code_expired",
            Self::AlreadyUsed => "pairing_code_used",
            Self::TooManyAttempts => "pairing_code_void",
        }
    }

    /// The next step for the user.
    #[must_use]
    pub fn hint(self) -> &'static str {
        match self {
            Self::Unknown => "check it for typing errors; `toolway pair` on the gateway shows a new one",
            Self::Expired | Self::AlreadyUsed | Self::TooManyAttempts => {
                "get a new one with `toolway pair` on the gateway; do not retry this one"
            }
        }
    }
}

#[derive(Debug)]
struct PairingCodeEntry {
    grant: PairingGrant,
    state: PairingCodeState,
    /// Expiry of a pending code, or the time at which any other is forgotten.
    until: Instant,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum PairingCodeState {
    Waiting,
    /// The code is being exchanged.
    Reserved {
        expires: Instant,
    },
    Closed(PairRefusal),
}

#[derive(Debug, Default)]
struct PairingCodeTable {
    by_hash: HashMap<[u8; 32], PairingCodeEntry>,
    wrong_attempts: u32,
}

/// The pairing codes of a gateway.
#[derive(Debug)]
pub struct PairingCodes {
    clock: Arc<dyn Clock>,
    lifetime: Duration,
    max_codes: usize,
    codes: Mutex<PairingCodeTable>,
}

/// A code that is being exchanged. If dropped without [`ReservedPairingCode::redeem`], the code is valid again.
#[derive(Debug)]
pub struct ReservedPairingCode<'a> {
    pairing: &'a PairingCodes,
    hash: [u8; 32],
    /// Token that the code is exchanged for.
    pub grant: PairingGrant,
}

impl PairingCodes {
    /// Creates an empty list. Codes are valid for `lifetime`, and at most `most` are pending at a time.
    #[must_use]
    pub fn new(clock: Arc<dyn Clock>, lifetime: Duration, most: usize) -> Self {
        Self { clock, lifetime, max_codes: most, codes: Mutex::default() }
    }

    /// Creates a code.
    ///
    /// # Errors
    /// [`PairingCodeError`] if the code can't be created.
    pub fn issue(&self, grant: PairingGrant) -> Result<IssuedPairingCode, PairingCodeError> {
        check_binding(grant.role, grant.agent.as_deref())?;
        let code = PairingCode::from_random(secret::random()?);
        let now = Instant::now();
        let mut codes = self.codes.lock();
        codes.remove_expired(now);
        if codes.pending_count() >= self.max_codes {
            return Err(PairingCodeError::TooMany(self.max_codes));
        }
        let entry = PairingCodeEntry { grant, state: PairingCodeState::Waiting, until: now + self.lifetime };
        codes.by_hash.insert(secret::hash(code.secret()), entry);
        let lifetime = i64::try_from(self.lifetime.as_millis()).unwrap_or(i64::MAX);
        Ok(IssuedPairingCode { code, expires_ms: self.clock.now_ms().saturating_add(lifetime) })
    }

    /// Reserves a code, so that nobody else can use it in the meantime.
    ///
    /// # Errors
    /// [`PairRefusal`] if the code is not valid.
    pub fn reserve(&self, code: &PairingCode) -> Result<ReservedPairingCode<'_>, PairRefusal> {
        let hash = secret::hash(code.secret());
        let mut codes = self.codes.lock();
        codes.remove_expired(Instant::now());
        let Some(entry) = codes.by_hash.get_mut(&hash) else {
            codes.count_wrong_attempt();
            return Err(PairRefusal::Unknown);
        };
        match entry.state {
            PairingCodeState::Closed(why) => Err(why),
            PairingCodeState::Reserved { .. } => Err(PairRefusal::AlreadyUsed),
            PairingCodeState::Waiting => {
                entry.state = PairingCodeState::Reserved { expires: entry.until };
                Ok(ReservedPairingCode { pairing: self, hash, grant: entry.grant.clone() })
            }
        }
    }

    /// Returns the number of pending codes.
    #[must_use]
    pub fn pending_count(&self) -> usize {
        let mut codes = self.codes.lock();
        codes.remove_expired(Instant::now());
        codes.pending_count()
    }
}

impl ReservedPairingCode<'_> {
    /// Marks the code as used, because its token was created.
    pub fn redeem(self) {
        if let Some(entry) = self.pairing.codes.lock().by_hash.get_mut(&self.hash) {
            entry.close(PairRefusal::AlreadyUsed, Instant::now());
        }
    }
}

impl Drop for ReservedPairingCode<'_> {
    fn drop(&mut self) {
        if let Some(entry) = self.pairing.codes.lock().by_hash.get_mut(&self.hash)
            && let PairingCodeState::Reserved { expires } = entry.state
        {
            entry.state = PairingCodeState::Waiting;
            entry.until = expires;
        }
    }
}

impl PairingCodeEntry {
    fn close(&mut self, why: PairRefusal, now: Instant) {
        self.state = PairingCodeState::Closed(why);
        self.until = now + CLOSED_CODE_TTL;
    }
}

impl PairingCodeTable {
    fn pending_count(&self) -> usize {
        self.by_hash.values().filter(|entry| entry.state == PairingCodeState::Waiting).count()
    }

    /// Expires codes, and forgets those that ended long ago.
    fn remove_expired(&mut self, now: Instant) {
        for entry in self.by_hash.values_mut() {
            if entry.state == PairingCodeState::Waiting && entry.until <= now {
                entry.close(PairRefusal::Expired, now);
            }
        }
        self.by_hash
            .retain(|_, entry| !matches!(entry.state, PairingCodeState::Closed(_)) || entry.until > now);
        while self.by_hash.len() > MAX_REMEMBERED_CODES {
            let gone =
                self.by_hash.iter().filter(|(_, entry)| matches!(entry.state, PairingCodeState::Closed(_)));
            let Some(oldest) = gone.min_by_key(|(_, entry)| entry.until).map(|(hash, _)| *hash) else {
                break;
            };
            self.by_hash.remove(&oldest);
        }
        if self.pending_count() == 0 {
            self.wrong_attempts = 0;
        }
    }

    /// Counts a wrong code. Without pending codes there is nothing to guess, so nothing is counted.
    fn count_wrong_attempt(&mut self) {
        if self.pending_count() == 0 {
            return;
        }
        self.wrong_attempts += 1;
        if self.wrong_attempts < MAX_WRONG_ATTEMPTS {
            return;
        }
        self.wrong_attempts = 0;
        let now = Instant::now();
        let waiting = self.by_hash.values_mut().filter(|entry| entry.state == PairingCodeState::Waiting);
        waiting.for_each(|entry| entry.close(PairRefusal::TooManyAttempts, now));
        tracing::warn!(
            "{MAX_WRONG_ATTEMPTS} wrong pairing codes were tried; all pending codes are now invalid"
        );
    }
}

#[cfg(test)]
mod tests;
