//! The current price table: read from its file, and again after changes.

use std::path::PathBuf;
use std::sync::Arc;

use parking_lot::Mutex;

use super::{PriceTable, parse};
use toolway_files::owner_file::{self, FileProblem, FileStamps};

/// Maximum size of the file, in bytes; LiteLLM's whole list needs several MiB.
const MAX_BYTES: u64 = 8 * owner_file::MAX_BYTES;

/// The price table of the file `prices.toml`, which may be missing.
#[derive(Debug)]
pub struct PriceCatalog {
    file: PathBuf,
    state: Mutex<PriceCatalogState>,
}

#[derive(Debug, Default)]
struct PriceCatalogState {
    table: Arc<PriceTable>,
    problems: Vec<FileProblem>,
    /// State of the file at the last read.
    file_stamps: FileStamps,
}

impl PriceCatalog {
    /// Reads the file. Problems are in [`PriceCatalog::problems`]; then there are no prices.
    pub async fn open(file: PathBuf) -> Arc<Self> {
        let prices = Arc::new(Self { file, state: Mutex::default() });
        // `reload` stores its errors.
        let _ = prices.reload().await;
        prices
    }

    /// Returns the current table.
    #[must_use]
    pub fn table(&self) -> Arc<PriceTable> {
        Arc::clone(&self.state.lock().table)
    }

    /// Reads the file again. If it has problems, the previous table stays in use.
    ///
    /// # Errors
    /// All problems; they are also in [`PriceCatalog::problems`].
    pub async fn reload(self: &Arc<Self>) -> Result<(), Vec<FileProblem>> {
        let this = Arc::clone(self);
        let read = tokio::task::spawn_blocking(move || this.read_file()).await;
        read.unwrap_or_else(|_| Err(vec![FileProblem::new(&self.file, 1, "it could not be read")]))
    }

    /// Returns whether the file has changed since the last read. It looks at the file, so it is not free.
    pub async fn has_changed(self: &Arc<Self>) -> bool {
        let file = self.file.clone();
        let now = tokio::task::spawn_blocking(move || FileStamps::of([&file])).await;
        now.is_ok_and(|now| now != self.state.lock().file_stamps)
    }

    /// Returns the problems of the current file.
    #[must_use]
    pub fn problems(&self) -> Vec<FileProblem> {
        self.state.lock().problems.clone()
    }

    fn read_file(&self) -> Result<(), Vec<FileProblem>> {
        let (stamps, read) = owner_file::read_stamped(&self.file, MAX_BYTES, parse);
        let mut state = self.state.lock();
        state.file_stamps = stamps;
        match read {
            Ok(table) => {
                state.table = Arc::new(table);
                state.problems.clear();
                Ok(())
            }
            Err(problems) => {
                for problem in &problems {
                    tracing::error!("the prices were not read: {problem}");
                }
                state.problems.clone_from(&problems);
                Err(problems)
            }
        }
    }
}

#[cfg(test)]
mod tests;
