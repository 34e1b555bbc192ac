//! The id of a registration.

/// The id of a registration. Later registrations have larger ids.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct LeaseId(pub(crate) u64);
