//! A limited number of places that principals share: each may take some of them, and a quarter is kept for the
//! owner, so that nobody locks others out.

use std::collections::HashMap;
use std::sync::Arc;

use parking_lot::Mutex;
use toolway_types::{Principal, PrincipalId};

/// Part of the places that only the owner may take: one of this many.
const OWNER_PART: usize = 4;

/// Reason why there is no place.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum NoPlace {
    /// All places for this role are taken.
    Full(usize),
    /// The principal has taken its part.
    ShareUsed(usize),
}

/// Places that principals share.
#[derive(Debug)]
pub(crate) struct PrincipalShares {
    total: usize,
    taken: Mutex<TakenPlaces>,
}

#[derive(Debug, Default)]
struct TakenPlaces {
    all: usize,
    /// Places of everybody but the owner.
    others: usize,
    by_principal: HashMap<PrincipalId, usize>,
}

/// A taken place. Dropping it frees the place.
#[derive(Debug)]
pub(crate) struct SharedPlace {
    shares: Arc<PrincipalShares>,
    principal: PrincipalId,
    is_owner: bool,
}

impl PrincipalShares {
    /// Creates `total` places.
    pub(crate) fn new(total: usize) -> Arc<Self> {
        Arc::new(Self { total, taken: Mutex::default() })
    }

    /// Takes a place, if the principal has less than its `share` or is the owner.
    ///
    /// # Errors
    /// [`NoPlace`] with the limit that is reached.
    pub(crate) fn take(
        self: &Arc<Self>,
        principal: &Principal,
        share: usize,
    ) -> Result<SharedPlace, NoPlace> {
        let is_owner = principal.role.is_owner();
        let mut taken = self.taken.lock();
        if taken.all >= self.total {
            return Err(NoPlace::Full(self.total));
        }
        if !is_owner {
            let for_others = self.total - self.total / OWNER_PART;
            let own = taken.by_principal.get(&principal.id).copied().unwrap_or(0);
            if own >= share {
                return Err(NoPlace::ShareUsed(share));
            }
            if taken.others >= for_others {
                return Err(NoPlace::Full(for_others));
            }
            taken.others += 1;
            taken.by_principal.insert(principal.id.clone(), own + 1);
        }
        taken.all += 1;
        Ok(SharedPlace { shares: Arc::clone(self), principal: principal.id.clone(), is_owner })
    }
}

impl Drop for SharedPlace {
    fn drop(&mut self) {
        let mut taken = self.shares.taken.lock();
        taken.all = taken.all.saturating_sub(1);
        if self.is_owner {
            return;
        }
        taken.others = taken.others.saturating_sub(1);
        if let Some(own) = taken.by_principal.get_mut(&self.principal) {
            *own = own.saturating_sub(1);
            if *own == 0 {
                taken.by_principal.remove(&self.principal);
            }
        }
    }
}

#[cfg(test)]
mod tests;
