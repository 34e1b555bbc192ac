//! The memory of one connection or request.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use parking_lot::Mutex;
use tokio_util::sync::CancellationToken;

use super::{AccountOwner, MemoryBudget, OverBudget};

/// Bytes that an account may hold without counting, so that ordinary traffic takes no shared lock.
const FREE_BYTES: u64 = 16 << 10;
/// Unit in which an account takes memory from the budget, in bytes.
const STEP: u64 = 16 << 10;

/// The memory of one connection or request. Cheap to clone; clones share the account.
#[derive(Debug, Clone)]
pub(crate) struct MemoryAccount(Arc<AccountState>);

#[derive(Debug)]
struct AccountState {
    budget: Arc<MemoryBudget>,
    owner: AccountOwner,
    id: u64,
    closed: CancellationToken,
    /// Bytes that are reserved.
    used: AtomicU64,
    /// Bytes that the budget counts.
    counted: Mutex<u64>,
}

impl MemoryAccount {
    pub(super) fn new(budget: Arc<MemoryBudget>, owner: AccountOwner, closed: CancellationToken) -> Self {
        let id = budget.next_id();
        Self(Arc::new(AccountState {
            budget,
            owner,
            id,
            closed,
            used: AtomicU64::new(0),
            counted: Mutex::new(0),
        }))
    }

    /// Reserves memory until the reservation is dropped.
    ///
    /// # Errors
    /// [`OverBudget`]: then nothing is reserved.
    pub(crate) fn reserve(&self, bytes: usize) -> Result<MemoryReservation, OverBudget> {
        let mut reservation = MemoryReservation { account: self.clone(), bytes: 0 };
        reservation.resize(bytes)?;
        Ok(reservation)
    }

    /// Waits until the connection must be closed in favour of others.
    pub(crate) async fn closed(&self) {
        self.0.closed.cancelled().await;
    }

    /// Closes the connection, because it does not get the memory that it needs.
    pub(crate) fn close(&self) {
        self.0.closed.cancel();
    }
}

impl AccountState {
    fn add(&self, bytes: u64) -> Result<(), OverBudget> {
        let used = self.used.fetch_add(bytes, Ordering::Relaxed) + bytes;
        if used <= FREE_BYTES {
            return Ok(());
        }
        let mut counted = self.counted.lock();
        let needed = countable(self.used.load(Ordering::Relaxed));
        if needed > *counted {
            let grown = self.budget.grow(&self.owner, self.id, &self.closed, needed - *counted);
            if let Err(refusal) = grown {
                self.used.fetch_sub(bytes, Ordering::Relaxed);
                return Err(refusal);
            }
            *counted = needed;
        }
        Ok(())
    }

    fn subtract(&self, bytes: u64) {
        let used = self.used.fetch_sub(bytes, Ordering::Relaxed).saturating_sub(bytes);
        if used + bytes <= FREE_BYTES {
            return;
        }
        let mut counted = self.counted.lock();
        let needed = countable(self.used.load(Ordering::Relaxed));
        if needed < *counted {
            self.budget.shrink(&self.owner, self.id, *counted - needed);
            *counted = needed;
        }
    }
}

impl Drop for AccountState {
    fn drop(&mut self) {
        let counted = *self.counted.lock();
        if counted > 0 {
            self.budget.shrink(&self.owner, self.id, counted);
        }
    }
}

/// Bytes that the budget counts for this use.
fn countable(used: u64) -> u64 {
    used.saturating_sub(FREE_BYTES).next_multiple_of(STEP)
}

/// Reserved memory. Dropping it frees the memory.
#[derive(Debug)]
pub(crate) struct MemoryReservation {
    account: MemoryAccount,
    bytes: u64,
}

impl MemoryReservation {
    /// Changes the size.
    ///
    /// # Errors
    /// [`OverBudget`]: then the size is as before.
    pub(crate) fn resize(&mut self, bytes: usize) -> Result<(), OverBudget> {
        let bytes = bytes as u64;
        if bytes > self.bytes {
            self.account.0.add(bytes - self.bytes)?;
        } else if bytes < self.bytes {
            self.account.0.subtract(self.bytes - bytes);
        }
        self.bytes = bytes;
        Ok(())
    }
}

impl Drop for MemoryReservation {
    fn drop(&mut self) {
        if self.bytes > 0 {
            self.account.0.subtract(self.bytes);
        }
    }
}
