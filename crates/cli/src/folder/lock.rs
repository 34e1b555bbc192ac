//! Ensures one gateway per data folder: the running one locks `gateway.lock`, and the system releases the lock when the
//! process ends in any way.

use std::fs::{File, OpenOptions, TryLockError};

use toolway_files::private_file;

use super::DataFolder;
use super::running_gateway::RunningGateway;
use crate::error::{CliError, CliResult};

/// The lock. Dropping it releases it.
#[derive(Debug)]
pub(crate) struct FolderLock(File);

impl Drop for FolderLock {
    fn drop(&mut self) {
        // Closing the file is not enough: a program that another thread is just starting has a copy of it for a moment.
        let _ = self.0.unlock();
    }
}

impl FolderLock {
    /// Acquires the lock; the error names the process that has it.
    pub(crate) fn acquire(folder: &DataFolder) -> CliResult<Self> {
        let file = open(folder)?;
        match file.try_lock() {
            Ok(()) => Ok(Self(file)),
            Err(TryLockError::WouldBlock) => Err(already_locked_error(folder)),
            Err(TryLockError::Error(error)) => Err(CliError::io("lock", &folder.lock(), &error)),
        }
    }
}

/// True if a gateway runs on this folder.
pub(crate) fn is_locked(folder: &DataFolder) -> bool {
    // Do not create the file. A shared lock allows several checks at the same time.
    let Ok(file) = File::open(folder.lock()) else { return false };
    matches!(file.try_lock_shared(), Err(TryLockError::WouldBlock))
}

fn open(folder: &DataFolder) -> CliResult<File> {
    let path = folder.lock();
    let mut options = OpenOptions::new();
    options.write(true).create(true).truncate(false);
    private_file::open(&mut options, &path).map_err(|error| CliError::io("open", &path, &error))
}

fn already_locked_error(folder: &DataFolder) -> CliError {
    let running = RunningGateway::read(folder).ok().flatten();
    let (who, stop) = match running {
        Some(it) => (format!(" (process {}, at {})", it.pid, it.url), format!("stop process {}", it.pid)),
        None => (String::new(), "stop it".to_owned()),
    };
    CliError::new(format!("a gateway already runs on {}{who}", folder.path().display()))
        .with_code("already_running")
        .with_hint(format!("use the running gateway, {stop}, or use another folder with --data-dir"))
}
