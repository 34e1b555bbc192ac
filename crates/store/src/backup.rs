//! Backups of the whole database while it is in use.

use std::path::Path;

use crate::database_copy::copy_into;
use crate::error::StoreError;
use crate::store::Store;

impl Store {
    /// Writes a copy of the whole database into a new file (mode 0600), as of one moment after this call.
    /// Tool calls continue meanwhile. The file appears under its name only when it is complete and on disk.
    ///
    /// # Errors
    /// [`StoreError::Exists`] if the file exists; otherwise the error of the file system or of SQLite.
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
