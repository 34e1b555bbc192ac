//! Appending under a lock of the file.

use std::ffi::OsStr;
use std::fs::{File as StdFile, TryLockError};
use std::io::{self, Read as _, Seek as _, SeekFrom, Write as _};
use std::time::Duration;

use cap_std::fs::Metadata;
use encoding_rs::{Encoding, UTF_8};
use toolway_types::{Code, ToolError};

use super::super::blocking::{Stopped, go_on};
use super::super::fault::Fault;
use super::super::guard::Identity;
use super::super::walk::{End, Walk};
use super::{admit, new_file};

/// How long to wait at first, and at most, before asking for the lock again.
const WAITS: (Duration, Duration) = (Duration::from_micros(200), Duration::from_millis(20));

/// Adds the content to the file at the end of the walk, which is made where there is none; the path of the
/// file, without links.
pub(super) fn append(mut walk: Walk<'_>, content: &[u8], stopped: Stopped<'_>) -> Result<String, Fault> {
    loop {
        let End::At(name) = walk.end()? else { return Err(Fault::IsAFolder) };
        let is_new = match walk.ends_at_file(&name) {
            Ok(true) => false,
            Ok(false) => continue,
            Err(Fault::NotFound) => true,
            Err(fault) => return Err(fault),
        };
        let mut options = new_file(&walk);
        let opened = walk.open(&name, options.read(true).append(true).create(true));
        let file = match opened {
            Err(error) if walk.is_link(&name) => {
                walk.again(name, error)?;
                continue;
            }
            opened => opened?,
        };
        let (file, metadata) = admit(&walk, file)?;
        let file = file.into_std();
        lock(&file, stopped)?;
        // It may have been replaced while the lock was waited for; then that is the file to add to.
        if !still_has(&walk, &name, &metadata) {
            walk.again(name, io::Error::from(io::ErrorKind::ResourceBusy))?;
            continue;
        }
        let added = add(&file, content);
        if added.is_err() && is_new && file.metadata().is_ok_and(|now| now.len() == 0) {
            let _ = walk.dir().remove_file(&name);
        }
        added?;
        return Ok(walk.path(Some(&name)));
    }
}

/// Takes the file's lock, asking again and again rather than waiting: a call that has been ended must stop.
fn lock(file: &StdFile, stopped: Stopped<'_>) -> Result<(), Fault> {
    let (mut wait, longest) = WAITS;
    loop {
        go_on(stopped)?;
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

fn still_has(walk: &Walk<'_>, name: &OsStr, metadata: &Metadata) -> bool {
    let there = walk.dir().symlink_metadata(name);
    there.is_ok_and(|there| Identity::of(&there) == Identity::of(metadata))
}

/// Adds all of the content, or nothing.
fn add(mut file: &StdFile, content: &[u8]) -> Result<(), Fault> {
    let before = file.metadata()?.len();
    refuse_other_encoding(file, before)?;
    let mut written = 0_u64;
    let mut rest = content;
    while !rest.is_empty() {
        match file.write(rest) {
            Ok(0) => return Err(take_back(file, before, written, io::ErrorKind::WriteZero.into())),
            Ok(count) => {
                written += count as u64;
                rest = rest.get(count..).unwrap_or_default();
            }
            Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
            Err(error) => return Err(take_back(file, before, written, error)),
        }
    }
    file.sync_data().map_err(|error| take_back(file, before, written, error))
}

/// Takes back what was written, unless somebody without a lock has added to it.
fn take_back(file: &StdFile, before: u64, written: u64, error: io::Error) -> Fault {
    if file.metadata().is_ok_and(|now| now.len() == before + written) {
        let _ = file.set_len(before);
    }
    error.into()
}

/// Text in two encodings is readable in neither.
fn refuse_other_encoding(mut file: &StdFile, length: u64) -> Result<(), Fault> {
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
