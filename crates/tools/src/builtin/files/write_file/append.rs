//! Appending under a lock of the file.

use std::ffi::OsStr;
use std::fs::{File as StdFile, TryLockError};
use std::io::{self, Read as _, Seek as _, SeekFrom, Write as _};
use std::time::Duration;

use cap_std::fs::Metadata;
use encoding_rs::{Encoding, UTF_8};
use toolway_types::{Code, ToolError};

use super::super::blocking_task::{StopCheck, check_not_stopped};
use super::super::data_folder_guard::FileIdentity;
use super::super::error::FileAccessError;
use super::super::path_walk::{PathWalk, WalkEnd};
use super::{check_writable_file, new_file};

/// Initial and maximum delay before the next attempt to lock the file.
const LOCK_RETRY_DELAYS: (Duration, Duration) = (Duration::from_micros(200), Duration::from_millis(20));

/// Appends the content to the file at the end of the path. Creates the file if it does not exist. Returns its path
/// without links.
pub(super) fn append(
    mut walk: PathWalk<'_>,
    content: &[u8],
    stopped: StopCheck<'_>,
) -> Result<String, FileAccessError> {
    loop {
        let WalkEnd::Name(name) = walk.walk_to_parent()? else { return Err(FileAccessError::IsFolder) };
        let is_new = match walk.ends_at_file(&name) {
            Ok(true) => false,
            Ok(false) => continue,
            Err(FileAccessError::NotFound) => true,
            Err(fault) => return Err(fault),
        };
        let mut options = new_file(&walk);
        let opened = walk.open(&name, options.read(true).append(true).create(true));
        let file = match opened {
            Err(error) if walk.is_link(&name) => {
                walk.retry_step(name, error)?;
                continue;
            }
            opened => opened?,
        };
        let (file, metadata) = check_writable_file(&walk, file)?;
        let file = file.into_std();
        lock(&file, stopped)?;
        // It may have been replaced while the lock was waited for; then that is the file to add to.
        if !is_same_file(&walk, &name, &metadata) {
            walk.retry_step(name, io::Error::from(io::ErrorKind::ResourceBusy))?;
            continue;
        }
        let added = append_all(&file, content);
        if added.is_err() && is_new && file.metadata().is_ok_and(|now| now.len() == 0) {
            let _ = walk.dir().remove_file(&name);
        }
        added?;
        return Ok(walk.path(Some(&name)));
    }
}

/// Takes the file's lock, asking again and again rather than waiting: a call that has been ended must stop.
fn lock(file: &StdFile, stopped: StopCheck<'_>) -> Result<(), FileAccessError> {
    let (mut wait, longest) = LOCK_RETRY_DELAYS;
    loop {
        check_not_stopped(stopped)?;
        match file.try_lock() {
            Ok(()) => return Ok(()),
            Err(TryLockError::WouldBlock) => {}
            // Some file systems have no locks; one write at the end of a file is whole there too.
            Err(TryLockError::Error(error)) if error.kind() == io::ErrorKind::Unsupported => return Ok(()),
            Err(TryLockError::Error(error)) => return Err(error.into()),
        }
        std::thread::park_timeout(wait);
        wait = longest.min(wait * 2);
    }
}

fn is_same_file(walk: &PathWalk<'_>, name: &OsStr, metadata: &Metadata) -> bool {
    let there = walk.dir().symlink_metadata(name);
    there.is_ok_and(|there| FileIdentity::of(&there) == FileIdentity::of(metadata))
}

/// Adds all of the content, or nothing.
fn append_all(mut file: &StdFile, content: &[u8]) -> Result<(), FileAccessError> {
    let before = file.metadata()?.len();
    refuse_other_encoding(file, before)?;
    let mut written = 0_u64;
    let mut rest = content;
    while !rest.is_empty() {
        match file.write(rest) {
            Ok(0) => return Err(roll_back(file, before, written, io::ErrorKind::WriteZero.into())),
            Ok(count) => {
                written += count as u64;
                rest = rest.get(count..).unwrap_or_default();
            }
            Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
            Err(error) => return Err(roll_back(file, before, written, error)),
        }
    }
    file.sync_data().map_err(|error| roll_back(file, before, written, error))
}

/// Takes back what was written, unless somebody without a lock has added to it.
fn roll_back(file: &StdFile, before: u64, written: u64, error: io::Error) -> FileAccessError {
    if file.metadata().is_ok_and(|now| now.len() == before + written) {
        let _ = file.set_len(before);
    }
    error.into()
}

/// Text in two encodings is readable in neither.
fn refuse_other_encoding(mut file: &StdFile, length: u64) -> Result<(), FileAccessError> {
    if length < 2 {
        return Ok(());
    }
    let mut head = Vec::new();
    file.seek(SeekFrom::Start(0))?;
    file.take(3).read_to_end(&mut head)?;
    match Encoding::for_bom(&head) {
        Some((encoding, _)) if encoding != UTF_8 => {
            let message = format!("The file is {} text, and what is added would be UTF-8", encoding.name());
            let error = ToolError::new(Code::ToolFailed, message);
            Err(error.with_hint("Read it and overwrite it with all of its text").into())
        }
        _ => Ok(()),
    }
}
