//! The database: whether it is whole.

use super::Findings;
use crate::commands::backup::beside;
use crate::context::Context;
use crate::print::time;

/// Checks all of it; takes a while where it is large.
pub(super) async fn look(context: &Context, found: &mut Findings) {
    let folder = &context.folder;
    let path = folder.database();
    if !path.is_file() {
        found.fine("database", "there is none yet; the first start makes it");
        return;
    }
    let size: u64 =
        folder.database_files().iter().filter_map(|it| Some(std::fs::metadata(it).ok()?.len())).sum();
    let store = match beside(folder, context).await {
        Ok(store) => store,
        Err(failure) => return found.failure("database", &failure),
    };
    match store.check().await {
        Ok(()) => found.fine("database", format!("{} is whole ({})", path.display(), time::bytes(size))),
        Err(error) => found.wrong(
            "database",
            error.to_string(),
            "stop the gateway, move the database away, and restore a backup (`toolway restore`, or a copy in the \
             folder backups)",
        ),
    }
    store.close().await;
}
