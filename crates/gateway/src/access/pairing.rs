//! Pairing codes: short secrets that let one device, app or client in, once, for ten minutes.
//!
//! A code has only 40 bits, so guesses are counted, wherever they come from: after ten that hit nothing all
//! codes that wait are void. A code that was used, ran out or was made void is remembered for a while, so
//! that whoever still holds it is told which; presenting such a code is no guess (it was right once, and
//! tells nothing about those that wait), so a device that retries a spent one voids nobody else's.

use std::collections::HashMap;
use std::sync::Arc;
use std::time::Duration;

use parking_lot::Mutex;
use tokio::time::Instant;
use toolway_types::{Clock, Role};
use toolway_wire::pairing::PairingCode;

use super::secret::{self, NoRandomness};

/// Wrong tries after which all codes that wait are void.
pub const WRONG_TRIES: u32 = 10;
/// How long a code is remembered after it stopped being good for anything.
const REMEMBER: Duration = Duration::from_secs(3600);
/// Codes that are remembered in all.
const REMEMBERED: usize = 1024;

/// What the token will be that a code is exchanged for.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Grant {
    /// Its role; never the owner's.
    pub role: Role,
    /// A name for people.
    pub label: Option<String>,
    /// The only agent it may use.
    pub agent: Option<String>,
}

/// A code that was just made.
#[derive(Debug, Clone)]
pub struct Issued {
    /// The code, without a key.
    pub code: PairingCode,
    /// When it ends, in milliseconds since the Unix epoch.
    pub expires_ms: i64,
}

/// Why no code was made.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum NoCode {
    /// As many codes as allowed wait to be used.
    #[error("{0} pairing codes wait to be used already")]
    TooMany(usize),
    /// No secret could be made.
    #[error(transparent)]
    Random(#[from] NoRandomness),
}

/// Why a code lets nobody in.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum PairRefusal {
    /// Not a code of this gateway, or one it has forgotten.
    #[error("the pairing code is not known")]
    Unknown,
    /// Its time is over.
    #[error("the pairing code has expired")]
    Expired,
    /// It was used before.
    #[error("the pairing code has been used already")]
    Spent,
    /// Too many wrong codes were tried while it waited.
    #[error("the pairing code is void: too many wrong codes were tried")]
    Void,
}

impl PairRefusal {
    /// The code in the answer, and the reason in metrics.
    #[must_use]
    pub fn code(self) -> &'static str {
        match self {
            Self::Unknown => "pairing_code_unknown",
            Self::Expired => "pairing_code_expired",
            Self::Spent => "pairing_code_spent",
            Self::Void => "pairing_code_void",
        }
    }

    /// What to do about it.
    #[must_use]
    pub fn hint(self) -> &'static str {
        match self {
            Self::Unknown => "check it for typing errors; `toolway pair` on the gateway shows a new one",
            Self::Expired | Self::Spent | Self::Void => {
                "get a new one with `toolway pair` on the gateway; trying this one again won't help"
            }
        }
    }
}

#[derive(Debug)]
struct Entry {
    grant: Grant,
    state: State,
    /// When a code that waits expires, or one that doesn't is forgotten.
    until: Instant,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum State {
    Waiting,
    /// Presented; on its way to be exchanged.
    Taken {
        expires: Instant,
    },
    Gone(PairRefusal),
}

#[derive(Debug, Default)]
struct Codes {
    by_hash: HashMap<[u8; 32], Entry>,
    wrong_tries: u32,
}

/// The pairing codes of a gateway.
#[derive(Debug)]
pub struct Pairing {
    clock: Arc<dyn Clock>,
    lifetime: Duration,
    most: usize,
    codes: Mutex<Codes>,
}

/// A code on its way to be exchanged. Dropped without [`Taken::spend`], the code waits again.
#[derive(Debug)]
pub struct Taken<'a> {
    pairing: &'a Pairing,
    hash: [u8; 32],
    /// What it is exchanged for.
    pub grant: Grant,
}

impl Pairing {
    /// None yet; each will be good for so long, and at most so many wait at a time.
    #[must_use]
    pub fn new(clock: Arc<dyn Clock>, lifetime: Duration, most: usize) -> Self {
        Self { clock, lifetime, most, codes: Mutex::default() }
    }

    /// Makes a code.
    ///
    /// # Errors
    /// [`NoCode`].
    pub fn issue(&self, grant: Grant) -> Result<Issued, NoCode> {
        let code = PairingCode::from_random(secret::random()?);
        let now = Instant::now();
        let mut codes = self.codes.lock();
        codes.tidy(now);
        if codes.waiting() >= self.most {
            return Err(NoCode::TooMany(self.most));
        }
        let entry = Entry { grant, state: State::Waiting, until: now + self.lifetime };
        codes.by_hash.insert(secret::hash(code.secret()), entry);
        let lifetime = i64::try_from(self.lifetime.as_millis()).unwrap_or(i64::MAX);
        Ok(Issued { code, expires_ms: self.clock.now_ms().saturating_add(lifetime) })
    }

    /// Takes a code that was presented, so that nobody else can use it meanwhile.
    ///
    /// # Errors
    /// [`PairRefusal`].
    pub fn take(&self, code: &PairingCode) -> Result<Taken<'_>, PairRefusal> {
        let hash = secret::hash(code.secret());
        let mut codes = self.codes.lock();
        codes.tidy(Instant::now());
        let Some(entry) = codes.by_hash.get_mut(&hash) else {
            codes.count_wrong_try();
            return Err(PairRefusal::Unknown);
        };
        match entry.state {
            State::Gone(why) => Err(why),
            State::Taken { .. } => Err(PairRefusal::Spent),
            State::Waiting => {
                entry.state = State::Taken { expires: entry.until };
                Ok(Taken { pairing: self, hash, grant: entry.grant.clone() })
            }
        }
    }

    /// How many codes wait to be used.
    #[must_use]
    pub fn waiting(&self) -> usize {
        let mut codes = self.codes.lock();
        codes.tidy(Instant::now());
        codes.waiting()
    }
}

impl Taken<'_> {
    /// The token was made: the code is used up.
    pub fn spend(self) {
        if let Some(entry) = self.pairing.codes.lock().by_hash.get_mut(&self.hash) {
            entry.leave(PairRefusal::Spent, Instant::now());
        }
    }
}

impl Drop for Taken<'_> {
    fn drop(&mut self) {
        if let Some(entry) = self.pairing.codes.lock().by_hash.get_mut(&self.hash)
            && let State::Taken { expires } = entry.state
        {
            entry.state = State::Waiting;
            entry.until = expires;
        }
    }
}

impl Entry {
    fn leave(&mut self, why: PairRefusal, now: Instant) {
        self.state = State::Gone(why);
        self.until = now + REMEMBER;
    }
}

impl Codes {
    fn waiting(&self) -> usize {
        self.by_hash.values().filter(|entry| entry.state == State::Waiting).count()
    }

    /// Lets codes expire and forgets what is long gone.
    fn tidy(&mut self, now: Instant) {
        for entry in self.by_hash.values_mut() {
            if entry.state == State::Waiting && entry.until <= now {
                entry.leave(PairRefusal::Expired, now);
            }
        }
        self.by_hash.retain(|_, entry| !matches!(entry.state, State::Gone(_)) || entry.until > now);
        while self.by_hash.len() > REMEMBERED {
            let gone = self.by_hash.iter().filter(|(_, entry)| matches!(entry.state, State::Gone(_)));
            let Some(oldest) = gone.min_by_key(|(_, entry)| entry.until).map(|(hash, _)| *hash) else {
                break;
            };
            self.by_hash.remove(&oldest);
        }
        if self.waiting() == 0 {
            self.wrong_tries = 0;
        }
    }

    /// Counts a code that hit nothing. Where no code waits there is nothing to guess, and nothing is counted.
    fn count_wrong_try(&mut self) {
        if self.waiting() == 0 {
            return;
        }
        self.wrong_tries += 1;
        if self.wrong_tries < WRONG_TRIES {
            return;
        }
        self.wrong_tries = 0;
        let now = Instant::now();
        let waiting = self.by_hash.values_mut().filter(|entry| entry.state == State::Waiting);
        waiting.for_each(|entry| entry.leave(PairRefusal::Void, now));
        tracing::warn!("{WRONG_TRIES} wrong pairing codes were tried; all codes that waited are void");
    }
}

#[cfg(test)]
mod tests;
