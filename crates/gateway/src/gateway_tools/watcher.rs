//! Detects changes of the owner's definition files by polling.

use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

use tokio_util::sync::CancellationToken;
use toolway_files::owner_file::FileStamps;

use super::{GatewayTools, OwnToolLoader};
use crate::settings::Settings;

/// Interval between checks.
const POLL_INTERVAL: Duration = Duration::from_secs(5);

/// Reads the definitions again after each change of a file, until `stop`.
pub(crate) async fn watch(toolbox: Arc<GatewayTools>, stop: CancellationToken) {
    while tokio::time::timeout(POLL_INTERVAL, stop.cancelled()).await.is_err() {
        let settings = toolbox.changing.lock().await.clone();
        let folder = toolbox.data_dir.clone();
        let Ok(now) = tokio::task::spawn_blocking(move || stamp_files(&folder, &settings)).await else {
            continue;
        };
        let is_as_read = *toolbox.last_stamps.lock() == now;
        if !is_as_read {
            tracing::info!("tool definitions have changed; reloading them");
            toolbox.reload().await;
        }
    }
}

/// Returns the current state of the files. Reads a folder, so it may block.
pub(super) fn stamp_files(data_dir: &Path, settings: &Settings) -> FileStamps {
    FileStamps::of(OwnToolLoader::sources(data_dir, settings).definition_files())
}

#[cfg(test)]
mod tests {
    use super::{Settings, stamp_files};

    #[test]
    fn a_file_that_comes_changes_or_goes_is_seen() {
        let dir = tempfile::tempdir().unwrap();
        let listed = dir.path().join("listed");
        let mut settings = Settings::default();
        settings.tools.own.push(listed.clone());
        let look = || stamp_files(dir.path(), &settings);
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
