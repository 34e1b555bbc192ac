//! Rules for reading and removing call records: the owner has access to all, everybody else only to their
//! own.

use toolway_types::{Principal, PrincipalId};

/// The access of one principal to call records.
#[derive(Debug, Clone, Copy)]
pub struct RecordAccess<'p>(&'p Principal);

/// A request for something that only the owner may do with records.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum RecordAccessDenied {
    /// The request is for records of another caller.
    #[error("only the owner may see the calls of others")]
    OthersRecords,
    /// The request is to remove records.
    #[error("only the owner may remove call records")]
    Removal,
}

impl<'p> RecordAccess<'p> {
    /// Returns the access of this principal.
    #[must_use]
    pub fn of(principal: &'p Principal) -> Self {
        Self(principal)
    }

    /// Returns true if it may see the records of a caller.
    #[must_use]
    pub fn may_see(self, caller: &PrincipalId) -> bool {
        self.0.role.is_owner() || self.0.id == *caller
    }

    /// Returns the caller to search for: the requested one, or the only one that it may see. `None` means
    /// all.
    ///
    /// # Errors
    /// [`RecordAccessDenied::OthersRecords`] if it may not see the requested caller.
    pub fn caller_filter(self, asked: Option<String>) -> Result<Option<String>, RecordAccessDenied> {
        if self.0.role.is_owner() {
            return Ok(asked);
        }
        match asked {
            Some(other) if *other != *self.0.id.0 => Err(RecordAccessDenied::OthersRecords),
            _ => Ok(Some(self.0.id.to_string())),
        }
    }

    /// Returns true if it may see the effect of the owner's configuration on a call: the hooks, the rule, and
    /// the arguments after the hooks. The name of a rule would reveal that a refused tool exists.
    #[must_use]
    pub fn sees_owner_fields(self) -> bool {
        self.0.role.is_owner()
    }

    /// Checks that it may remove records.
    ///
    /// # Errors
    /// [`RecordAccessDenied::Removal`] if it is not the owner.
    pub fn check_removal(self) -> Result<(), RecordAccessDenied> {
        if self.0.role.is_owner() { Ok(()) } else { Err(RecordAccessDenied::Removal) }
    }
}

#[cfg(test)]
mod tests;
