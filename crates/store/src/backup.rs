//! Copies of the whole database, made while it is in use.

use std::path::Path;

use crate::database_copy::copy_into;
use crate::error::StoreError;
use crate::store::Store;

impl Store {
    /// Writes a copy of everything into a new file (0600), as of one moment after this was called, while
    /// calls go on. The file appears under its name when it is whole and on disk.
    ///
    /// # Errors
    /// [`StoreError::Exists`] where there is something under that name; what the file system or SQLite says.
    pub async fn backup(&self, to: &Path) -> Result<(), StoreError> {
        let _alone = self.database().maintenance_lock.lock().await;
        if to.exists() {
            return Err(StoreError::Exists { path: to.to_owned() });
        }
        self.database().flush_before_read().await;
        copy_into(&self.database().connector, to).await
    }
}

#[cfg(test)]
mod tests;
