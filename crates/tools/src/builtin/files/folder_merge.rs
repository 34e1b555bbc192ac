//! Moves files of agents' former own folders into the shared folder. Earlier versions gave each agent a folder of its
//! own; now agents have one only if the owner asks for it. No file is replaced or removed.

use std::ffi::{OsStr, OsString};
use std::io;
use std::path::Path;

use cap_fs_ext::DirExt;
use cap_std::ambient_authority;
use cap_std::fs::Dir;

use super::root_folder::open_private;
use super::{AgentFolders, FILES, folder_name};

/// Maximum depth of folders that both agents' folder and shared folder have.
const MAX_DEPTH: usize = 64;
/// Maximum number of names that are tried for a file whose name is taken.
const MAX_NAMES: usize = 1_000;

/// A former own folder whose files were moved.
#[derive(Debug, PartialEq, Eq)]
pub struct MergedFolder {
    /// Name of the agent.
    pub agent: String,
    /// Number of files and folders that were moved.
    pub moved: usize,
    /// Number of files and folders that got another name, because the shared folder has their name.
    pub renamed: usize,
}

/// Moves the files of agents that have no folder of their own (any more) into the shared folder. A file whose name is
/// taken there gets the agent's name too: `notes (cook).txt`. Blocks.
///
/// # Errors
/// The first file or folder that can't be read or moved. All files stay where they are, or are in the shared folder.
pub fn merge_agent_folders<'a>(
    data_folder: &Path,
    own: &AgentFolders,
    agents: impl IntoIterator<Item = &'a str>,
) -> io::Result<Vec<MergedFolder>> {
    let data = Dir::open_ambient_dir(data_folder, ambient_authority())?;
    let files = match data.open_dir_nofollow(FILES) {
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(Vec::new()),
        files => files?,
    };
    let mut merged = Vec::new();
    for agent in agents.into_iter().filter(|agent| !own.includes(agent)) {
        let folder = folder_name(Some(agent));
        let former = match files.open_dir_nofollow(&folder) {
            Err(error) if error.kind() == io::ErrorKind::NotFound => continue,
            former => former?,
        };
        let shared = open_private(&files, &folder_name(None), true)?;
        let mut merge = FolderMerge { agent, moved: 0, renamed: 0 };
        merge.merge(&former, &shared, 0)?;
        drop(former);
        // A file that was created meanwhile keeps the folder; the next start moves it.
        let _ = files.remove_dir(&folder);
        if merge.moved > 0 {
            merged.push(MergedFolder { agent: agent.to_owned(), moved: merge.moved, renamed: merge.renamed });
        }
    }
    Ok(merged)
}

struct FolderMerge<'a> {
    agent: &'a str,
    moved: usize,
    renamed: usize,
}

impl FolderMerge<'_> {
    fn merge(&mut self, from: &Dir, to: &Dir, depth: usize) -> io::Result<()> {
        // Collected first: a folder must not change while it is read.
        let names: Vec<OsString> =
            from.entries()?.map(|entry| entry.map(|entry| entry.file_name())).collect::<io::Result<_>>()?;
        for name in names {
            if !exists(to, &name)? {
                from.rename(&name, to, &name)?;
                self.moved += 1;
                continue;
            }
            let is_folder = |dir: &Dir| Ok::<_, io::Error>(dir.symlink_metadata(&name)?.is_dir());
            if is_folder(from)? && is_folder(to)? && depth < MAX_DEPTH {
                self.merge(&from.open_dir_nofollow(&name)?, &to.open_dir_nofollow(&name)?, depth + 1)?;
                let _ = from.remove_dir(&name);
                continue;
            }
            let free = self.free_name(to, &name)?;
            from.rename(&name, to, &free)?;
            self.moved += 1;
            self.renamed += 1;
        }
        Ok(())
    }

    fn free_name(&self, to: &Dir, name: &OsStr) -> io::Result<OsString> {
        let path = Path::new(name);
        let (stem, extension) = (path.file_stem().unwrap_or(name), path.extension());
        for number in 1..=MAX_NAMES {
            let mut free = stem.to_owned();
            free.push(match number {
                1 => format!(" ({})", self.agent),
                _ => format!(" ({} {number})", self.agent),
            });
            if let Some(extension) = extension {
                free.push(".");
                free.push(extension);
            }
            if !exists(to, &free)? {
                return Ok(free);
            }
        }
        Err(io::Error::other(format!("the shared folder has too many files named like {}", name.display())))
    }
}

fn exists(dir: &Dir, name: &OsStr) -> io::Result<bool> {
    match dir.symlink_metadata(name) {
        Ok(_) => Ok(true),
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(false),
        Err(error) => Err(error),
    }
}

#[cfg(test)]
mod tests;
