//! The memory that all peers together may hold: parts of frames and bodies that have arrived, messages being
//! handled, answers and frames that wait to be sent, definitions, turns and MCP sessions. Each principal has a share,
//! small for devices; a part is kept for the owner. Beyond the total, the connection of the largest principal is closed
//! first.
//!
//! Entry points open a [`MemoryAccount`] for each connection or request and reserve from it; data that belongs to no
//! connection is reserved through [`PeerMemory`]. Amounts are memory, not bytes on the wire: see [`cost`]. This module
//! decides who may hold how much, and knows no HTTP.

pub(crate) mod account;
pub(crate) mod cost;
pub(crate) mod machine;

use std::collections::HashMap;
use std::sync::Arc;

use parking_lot::Mutex;
use tokio_util::sync::CancellationToken;
use toolway_core::{MemoryPermit, PeerMemory};
use toolway_types::{Principal, PrincipalId, Role};

pub(crate) use account::{MemoryAccount, MemoryReservation};

/// Part of the total that only the owner may use: one of this many.
const OWNER_PART: u64 = 8;
/// Part of the total that one client or companion may use: one of this many.
const CALLER_PART: u64 = 2;
/// Part of the total that one device may use: one of this many.
const DEVICE_PART: u64 = 8;
/// Part of the total that all requests without a token may use: one of this many.
const ANONYMOUS_PART: u64 = 16;
/// Number of the largest frames that every share has room for while they arrive, whatever the total is.
const MIN_FRAMES: u64 = 2;
/// Part of a share that one reservation of [`PeerMemory`] counts at most: one of this many. A conversation that is larger
/// than that can still continue.
const LASTING_PART: u64 = 2;

/// Reason why memory is refused.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub(crate) enum OverBudget {
    /// The principal has used its share.
    #[error("this token holds its share of the gateway's memory, {0} bytes")]
    Share(u64),
    /// All of the memory is used, and nobody uses more than this principal.
    #[error("all of the memory for peers is in use, {0} bytes")]
    Total(u64),
    /// The account was closed in favour of others.
    #[error("this token holds most of the memory for peers, which others need")]
    Closed,
}

/// The use of the memory, for metrics.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(crate) struct MemoryUse {
    /// Bytes in use.
    pub(crate) used: u64,
    /// Maximum number of bytes.
    pub(crate) total: u64,
    /// Connections that were closed in favour of others.
    pub(crate) closed: u64,
}

/// The memory of all peers.
#[derive(Debug)]
pub(crate) struct MemoryBudget {
    total: u64,
    /// Minimum size of a share.
    min_share: u64,
    state: Mutex<BudgetState>,
}

#[derive(Debug, Default)]
struct BudgetState {
    used: u64,
    /// Used by everybody but the owner.
    used_by_others: u64,
    principals: HashMap<PrincipalId, PrincipalUse>,
    next_id: u64,
    closed: u64,
}

#[derive(Debug, Default)]
struct PrincipalUse {
    bytes: u64,
    is_owner: bool,
    accounts: HashMap<u64, AccountUse>,
}

#[derive(Debug)]
struct AccountUse {
    bytes: u64,
    /// Cancelled in favour of others; absent if no connection holds the memory.
    closed: Option<CancellationToken>,
}

/// The owner of an account: a principal, or a request without a token.
#[derive(Debug, Clone)]
struct AccountOwner {
    id: PrincipalId,
    share: u64,
    is_owner: bool,
    /// False if nothing can be closed in favour of others.
    can_close: bool,
}

impl MemoryBudget {
    /// Creates a budget of `total` bytes for frames of at most `frame_bytes`.
    pub(crate) fn new(total: u64, frame_bytes: u64) -> Arc<Self> {
        let arriving = frame_bytes.saturating_mul(cost::UNFINISHED_FACTOR as u64);
        let min_share = arriving.saturating_mul(MIN_FRAMES).saturating_add(frame_bytes / 2);
        Arc::new(Self { total, min_share, state: Mutex::default() })
    }

    /// Opens an account for a connection or request of a principal.
    pub(crate) fn open(self: &Arc<Self>, principal: &Principal) -> MemoryAccount {
        self.open_closed_by(principal, CancellationToken::new())
    }

    /// Opens an account that closes a connection by this token.
    pub(crate) fn open_closed_by(
        self: &Arc<Self>,
        principal: &Principal,
        closed: CancellationToken,
    ) -> MemoryAccount {
        MemoryAccount::new(Arc::clone(self), self.owner_of(principal, true), closed)
    }

    fn owner_of(&self, principal: &Principal, can_close: bool) -> AccountOwner {
        let part = match principal.role {
            Role::Owner => 1,
            Role::Client | Role::Companion => CALLER_PART,
            Role::Device => DEVICE_PART,
        };
        let share = (self.total / part).max(self.min_share).min(self.total);
        AccountOwner { id: principal.id.clone(), share, is_owner: principal.role.is_owner(), can_close }
    }

    /// Opens an account for a request without a token. All of these share one small part.
    pub(crate) fn open_anonymous(self: &Arc<Self>) -> MemoryAccount {
        // No token has an empty id.
        let share = self.total / ANONYMOUS_PART;
        let owner = AccountOwner { id: "".into(), share, is_owner: false, can_close: true };
        MemoryAccount::new(Arc::clone(self), owner, CancellationToken::new())
    }

    /// The use at this moment.
    pub(crate) fn usage(&self) -> MemoryUse {
        let state = self.state.lock();
        MemoryUse { used: state.used, total: self.total, closed: state.closed }
    }

    fn next_id(&self) -> u64 {
        let mut state = self.state.lock();
        state.next_id += 1;
        state.next_id
    }

    /// Adds to an account. Closes larger ones if there is no room.
    fn grow(
        &self,
        owner: &AccountOwner,
        id: u64,
        closed: &CancellationToken,
        bytes: u64,
    ) -> Result<(), OverBudget> {
        let mut state = self.state.lock();
        if closed.is_cancelled() {
            return Err(OverBudget::Closed);
        }
        let own = state.principals.get(&owner.id).map_or(0, |principal| principal.bytes);
        if own.saturating_add(bytes) > owner.share {
            return Err(OverBudget::Share(owner.share));
        }
        let for_others = self.total - self.total / OWNER_PART;
        let is_full = |state: &BudgetState| {
            state.used.saturating_add(bytes) > self.total
                || (!owner.is_owner && state.used_by_others.saturating_add(bytes) > for_others)
        };
        while is_full(&state) {
            let least = if owner.is_owner { 0 } else { own.saturating_add(bytes) };
            if !state.close_largest(least, &owner.id) {
                return Err(OverBudget::Total(self.total));
            }
        }
        state.used += bytes;
        if !owner.is_owner {
            state.used_by_others += bytes;
        }
        let principal = state.principals.entry(owner.id.clone()).or_default();
        principal.bytes += bytes;
        principal.is_owner = owner.is_owner;
        let account = principal
            .accounts
            .entry(id)
            .or_insert_with(|| AccountUse { bytes: 0, closed: owner.can_close.then(|| closed.clone()) });
        account.bytes += bytes;
        Ok(())
    }

    /// Subtracts from an account. Does nothing if it was closed, because its memory is counted as free then.
    fn shrink(&self, owner: &AccountOwner, id: u64, bytes: u64) {
        let mut state = self.state.lock();
        let Some(principal) = state.principals.get_mut(&owner.id) else { return };
        let Some(account) = principal.accounts.get_mut(&id) else { return };
        let freed = bytes.min(account.bytes);
        account.bytes -= freed;
        if account.bytes == 0 {
            principal.accounts.remove(&id);
        }
        principal.bytes -= freed.min(principal.bytes);
        if principal.accounts.is_empty() {
            state.principals.remove(&owner.id);
        }
        state.subtract(freed, owner.is_owner);
    }
}

/// The memory of what belongs to no connection. It is never closed in favour of others, because its end would lose data.
#[derive(Debug, Clone)]
pub(crate) struct LastingMemory(pub(crate) Arc<MemoryBudget>);

impl LastingMemory {
    /// Opens an account that is never closed.
    pub(crate) fn open(&self, principal: &Principal) -> MemoryAccount {
        let owner = self.0.owner_of(principal, false);
        MemoryAccount::new(Arc::clone(&self.0), owner, CancellationToken::new())
    }
}

impl PeerMemory for LastingMemory {
    fn reserve(&self, principal: &Principal, bytes: usize) -> Option<MemoryPermit> {
        let most = self.0.owner_of(principal, false).share / LASTING_PART;
        let bytes = bytes.min(usize::try_from(most).unwrap_or(usize::MAX));
        self.open(principal).reserve(bytes).ok().map(MemoryPermit::new)
    }
}

impl BudgetState {
    /// Closes the largest account of the principal that uses most, if that is more than `least`, and it is
    /// neither the one that asks nor the owner. Returns false if there is none.
    fn close_largest(&mut self, least: u64, asking: &PrincipalId) -> bool {
        let can_close = |it: &PrincipalUse| it.accounts.values().any(|account| account.closed.is_some());
        let candidates =
            self.principals.iter().filter(|(id, it)| *id != asking && !it.is_owner && can_close(it));
        let largest = candidates.max_by_key(|(_, principal)| principal.bytes);
        let Some((id, principal)) = largest.filter(|(_, principal)| principal.bytes > least) else {
            return false;
        };
        let id = id.clone();
        let closable = principal.accounts.iter().filter(|(_, account)| account.closed.is_some());
        let Some((account, _)) = closable.max_by_key(|(_, account)| account.bytes) else {
            return false;
        };
        let account = *account;
        let Some(principal) = self.principals.get_mut(&id) else { return false };
        let Some(victim) = principal.accounts.remove(&account) else { return false };
        principal.bytes -= victim.bytes.min(principal.bytes);
        if principal.accounts.is_empty() {
            self.principals.remove(&id);
        }
        self.subtract(victim.bytes, false);
        self.closed += 1;
        victim.closed.iter().for_each(CancellationToken::cancel);
        tracing::warn!(principal = %id, bytes = victim.bytes, "closed a connection, because others need the memory");
        true
    }

    fn subtract(&mut self, bytes: u64, is_owner: bool) {
        self.used = self.used.saturating_sub(bytes);
        if !is_owner {
            self.used_by_others = self.used_by_others.saturating_sub(bytes);
        }
    }
}

#[cfg(test)]
mod tests;
