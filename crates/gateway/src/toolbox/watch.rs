//! Notices that the owner's definitions were changed: the files are looked at now and then.

use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::{Duration, SystemTime};

use tokio_util::sync::CancellationToken;

use super::Toolbox;

/// How often they are looked at.
const LOOK: Duration = Duration::from_secs(5);

/// What tells one state of the files from another.
type Mark = Vec<(PathBuf, Option<SystemTime>, u64)>;

/// Reads the definitions again whenever a file of theirs has changed, until told to stop.
pub(crate) async fn watch(toolbox: Arc<Toolbox>, stop: CancellationToken) {
    let mut seen = look(&toolbox).await;
    while tokio::time::timeout(LOOK, stop.cancelled()).await.is_err() {
        let now = look(&toolbox).await;
        if now != seen {
            seen = now;
            tracing::info!("the definitions of the owner's tools have changed");
            toolbox.reload().await;
        }
    }
}

async fn look(toolbox: &Arc<Toolbox>) -> Mark {
    let folder = toolbox.data_dir.join("tools");
    let files = toolbox.changing.lock().await.tools.own.clone();
    // Where the thread fails nothing seems to have changed the next time either.
    tokio::task::spawn_blocking(move || mark(&folder, files)).await.unwrap_or_default()
}

fn mark(folder: &Path, files: Vec<PathBuf>) -> Mark {
    let entries = std::fs::read_dir(folder).into_iter().flatten().flatten().map(|entry| entry.path());
    let found = entries.filter(|path| path.extension().is_some_and(|it| it == "toml")).chain(files);
    let mut mark: Mark = found
        .filter_map(|path| {
            let about = std::fs::metadata(&path).ok()?;
            Some((path, about.modified().ok(), about.len()))
        })
        .collect();
    mark.sort();
    mark
}

#[cfg(test)]
mod tests {
    use super::mark;

    #[test]
    fn a_file_that_comes_changes_or_goes_is_seen() {
        let dir = tempfile::tempdir().unwrap();
        let listed = dir.path().join("listed");
        let look = || mark(&dir.path().join("tools"), vec![listed.clone()]);
        let nothing = look();
        assert!(nothing.is_empty());
        std::fs::create_dir(dir.path().join("tools")).unwrap();
        let file = dir.path().join("tools/a.toml");
        std::fs::write(&file, "1").unwrap();
        let one = look();
        assert_eq!(one.len(), 1);
        std::fs::write(&file, "12").unwrap();
        assert_ne!(look(), one);
        std::fs::write(dir.path().join("tools/notes.txt"), "x").unwrap();
        std::fs::write(&listed, "x").unwrap();
        assert_eq!(look().len(), 2);
        std::fs::remove_file(&file).unwrap();
        std::fs::remove_file(&listed).unwrap();
        assert_eq!(look(), nothing);
    }
}
