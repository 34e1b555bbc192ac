//! Checks the integrity of the database.

use super::DoctorReport;
use crate::commands::backup::open_store;
use crate::context::CliContext;
use crate::print::time;

/// Checks the complete database, which takes a while for a large one.
pub(super) async fn check(context: &CliContext, found: &mut DoctorReport) {
    let folder = &context.folder;
    let path = folder.database();
    if !path.is_file() {
        found.add_fine("database", "none yet; the first start creates it");
        return;
    }
    let size: u64 =
        folder.database_files().iter().filter_map(|it| Some(std::fs::metadata(it).ok()?.len())).sum();
    let store = match open_store(folder, context).await {
        Ok(store) => store,
        Err(failure) => return found.add_failure("database", &failure),
    };
    match store.check().await {
        Ok(()) => {
            found.add_fine("database", format!("{} is intact ({})", path.display(), time::format_bytes(size)))
        }
        Err(error) => found.add_error(
            "database",
            error.to_string(),
            "stop the gateway, move the database, and restore a backup (`toolway restore`, or a copy in the \
             folder backups)",
        ),
    }
    store.close().await;
}
