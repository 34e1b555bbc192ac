//! The table as it is now: read from its file, and again when that has changed.

use std::path::PathBuf;
use std::sync::Arc;

use parking_lot::Mutex;

use super::{PriceTable, parse};
use crate::files::{self, FileProblem, FileStamps, MAX_FILE};

/// Most bytes of the file: LiteLLM's whole list takes some of them.
const MAX_BYTES: u64 = 8 * MAX_FILE;

/// The table of the file `prices.toml`, which need not exist.
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
    /// Reads the file. What is wrong with it is kept in [`Prices::problems`]; then there are no prices.
    pub async fn open(file: PathBuf) -> Arc<Self> {
        let prices = Arc::new(Self { file, state: Mutex::default() });
        // What fails here is kept.
        let _ = prices.reload().await;
        prices
    }

    /// The table as it is now.
    #[must_use]
    pub fn table(&self) -> Arc<PriceTable> {
        Arc::clone(&self.state.lock().table)
    }

    /// Reads the file again. Where something is wrong in it, what stood before stands.
    ///
    /// # Errors
    /// Everything that is wrong in it; also in [`Prices::problems`] from then on.
    pub async fn reload(self: &Arc<Self>) -> Result<(), Vec<FileProblem>> {
        let this = Arc::clone(self);
        let read = tokio::task::spawn_blocking(move || this.read_file()).await;
        read.unwrap_or_else(|_| Err(vec![FileProblem::new(&self.file, 1, "it could not be read")]))
    }

    /// Reports whether the file has changed since the last read. It looks at the file, so it is not free.
    pub async fn has_changed(self: &Arc<Self>) -> bool {
        let file = self.file.clone();
        let now = tokio::task::spawn_blocking(move || files::file_stamps([file])).await;
        now.is_ok_and(|now| now != self.state.lock().file_stamps)
    }

    /// Problems of the current file.
    #[must_use]
    pub fn problems(&self) -> Vec<FileProblem> {
        self.state.lock().problems.clone()
    }

    fn read_file(&self) -> Result<(), Vec<FileProblem>> {
        // Before it is read: what changes in between is seen the next time.
        let mark = files::file_stamps([self.file.clone()]);
        let read = match files::read_text_limited(&self.file, MAX_BYTES) {
            Ok(None) => Ok(PriceTable::default()),
            Ok(Some(text)) => parse(&text, &self.file),
            Err(problem) => Err(vec![problem]),
        };
        let mut state = self.state.lock();
        state.file_stamps = mark;
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
