//! Compares known sources with the database after it was replaced.

use std::collections::{HashMap, HashSet};

use toolway_store::SourceRecord;
use toolway_types::Slug;

use super::device_source::DeviceSource;
use super::identity::DeviceIdentity;

/// The sources in the database.
pub(super) struct StoredSources<'r> {
    by_slug: HashMap<&'r Slug, &'r SourceRecord>,
    /// Token and identity of the sources that were not removed.
    identities: HashSet<(&'r str, &'r str)>,
}

/// Status of a known source in the database.
pub(super) enum StoredSourceStatus {
    /// The source is unchanged.
    Unchanged,
    /// The source is not in the database.
    Missing,
    /// The slug is that of a removed source or of another one, or the device is another source.
    Contradicted,
}

impl<'r> StoredSources<'r> {
    pub(super) fn of(records: &'r [SourceRecord]) -> Self {
        let kept = records.iter().filter(|record| record.removed_ms.is_none());
        Self {
            by_slug: records.iter().map(|record| (&record.slug, record)).collect(),
            identities: kept.map(|it| (it.token_id.as_str(), it.identity_key.as_str())).collect(),
        }
    }

    pub(super) fn status(&self, source: &DeviceSource) -> StoredSourceStatus {
        let identity = source.identity().map(DeviceIdentity::as_str);
        let token: &str = &source.token().0;
        match (self.by_slug.get(source.slug()), identity) {
            (Some(record), Some(identity)) => {
                let same = record.token_id == token && record.identity_key == identity;
                if same && record.removed_ms.is_none() {
                    StoredSourceStatus::Unchanged
                } else {
                    StoredSourceStatus::Contradicted
                }
            }
            (None, Some(identity)) if self.identities.contains(&(token, identity)) => {
                StoredSourceStatus::Contradicted
            }
            (Some(_), None) => StoredSourceStatus::Contradicted,
            (None, _) => StoredSourceStatus::Missing,
        }
    }
}
