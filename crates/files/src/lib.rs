//! Files on the disk: private files, replaced atomically ([`private_file`]); whole files, read within a limit
//! ([`bounded_read`]); and TOML files that their owner writes ([`owner_file`]). Every function blocks. No function
//! chooses a path: callers pass it.

#![cfg_attr(
    test,
    allow(clippy::expect_used, clippy::unwrap_used, clippy::indexing_slicing, reason = "tests may panic")
)]

pub mod bounded_read;
pub mod owner_file;
pub mod private_file;
