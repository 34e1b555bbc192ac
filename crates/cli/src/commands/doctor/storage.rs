//! The database: whether it is whole.

use super::DoctorReport;
use crate::commands::backup::open_store;
use crate::context::CliContext;
use crate::print::time;

/// Checks all of it; takes a while where it is large.
pub(super) async fn check(context: &CliContext, found: &mut DoctorReport) {
    let folder = &context.folder;
    let path = folder.database();
    if !path.is_file() {
        found.add_fine("database", "there is none yet; the first start makes it");
        return;
    }
    let size: u64 =
        folder.database_files().iter().filter_map(|it| Some(std::fs::metadata(it).ok()?.len())).sum();
    let store = match open_store(folder, context).await {
        Ok(store) => store,
        Err(failure) => return found.add_failure("database", &failure),
    };
    match store.check().await {
        Ok(()) => found.add_fine("database", format!("{} is whole ({})", path.display(), time::format_bytes(size))),
        Err(error) => found.add_error(
            "database",
            error.to_string(),
            "stop the gateway, move the database away, and restore a backup (`toolway restore`, or a copy in the \
             folder backups)",
        ),
    }
    store.close().await;
}
