//! Deferrable changes, of which only the newest counts: last use of a token, last contact and tools of a
//! source, drafts of answers. They are collected and written at most once a second; drafts four times a
//! second.

use std::collections::HashMap;
use std::sync::Arc;

use serde::Serialize;
use sqlx::{Connection, SqliteConnection};
use toolway_types::Slug;

use super::response_drafts::{ResponseDraft, write_drafts};

/// A change of a source.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize)]
pub(crate) struct SourceChange {
    /// Time of the last contact.
    pub(crate) seen_ms: i64,
    /// Names of the source's tools, if they changed.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) tools: Option<Vec<String>>,
}

/// Changes that wait to be written.
#[derive(Debug, Default)]
pub(crate) struct SoftChanges {
    tokens: HashMap<Arc<str>, i64>,
    sources: HashMap<Slug, SourceChange>,
    drafts: HashMap<Arc<str>, ResponseDraft>,
}

impl SoftChanges {
    pub(crate) fn is_empty(&self) -> bool {
        self.tokens.is_empty() && self.sources.is_empty() && self.drafts.is_empty()
    }

    pub(crate) fn has_drafts(&self) -> bool {
        !self.drafts.is_empty()
    }

    pub(crate) fn draft(&mut self, turn: &Arc<str>, draft: ResponseDraft) {
        self.drafts.insert(Arc::clone(turn), draft);
    }

    pub(crate) fn touch_token(&mut self, id: &Arc<str>, at_ms: i64) {
        match self.tokens.get_mut(id) {
            Some(known) => *known = at_ms.max(*known),
            None => drop(self.tokens.insert(Arc::clone(id), at_ms)),
        }
    }

    pub(crate) fn change_source(&mut self, slug: &Slug, change: SourceChange) {
        match self.sources.get_mut(slug) {
            Some(known) => {
                known.seen_ms = change.seen_ms.max(known.seen_ms);
                if change.tools.is_some() {
                    known.tools = change.tools;
                }
            }
            None => drop(self.sources.insert(slug.clone(), change)),
        }
    }

    /// Merges older changes into these; these win.
    pub(crate) fn merge_older(&mut self, older: Self) {
        for (id, at_ms) in older.tokens {
            self.touch_token(&id, at_ms);
        }
        for (slug, change) in older.sources {
            let newer = self.sources.remove(&slug);
            self.sources.insert(slug.clone(), change);
            if let Some(newer) = newer {
                self.change_source(&slug, newer);
            }
        }
        for (turn, draft) in older.drafts {
            self.drafts.entry(turn).or_insert(draft);
        }
    }

    /// Writes the changes in one transaction, with one statement per table except for drafts.
    pub(crate) async fn write(&self, conn: &mut SqliteConnection) -> Result<(), sqlx::Error> {
        const TOKENS: &str = "UPDATE tokens SET last_used_ms = max(coalesce(last_used_ms, 0), j.value) \
             FROM json_each(?) AS j WHERE tokens.id = j.key";
        const SOURCES: &str = "UPDATE sources SET \
             last_seen_ms = max(last_seen_ms, j.value ->> 'seen_ms'), \
             tools = coalesce(j.value -> 'tools', tools) \
             FROM json_each(?) AS j WHERE sources.slug = j.key";
        let mut transaction = conn.begin_with("BEGIN IMMEDIATE").await?;
        if let Some(tokens) = as_json(&self.tokens) {
            sqlx::query(TOKENS).bind(tokens).execute(&mut *transaction).await?;
        }
        if let Some(sources) = as_json(&self.sources) {
            sqlx::query(SOURCES).bind(sources).execute(&mut *transaction).await?;
        }
        write_drafts(&mut transaction, &self.drafts).await?;
        transaction.commit().await
    }
}

/// Serializes a map as JSON text; None if it is empty.
fn as_json<K: Serialize, V: Serialize>(map: &HashMap<K, V>) -> Option<String> {
    if map.is_empty() { None } else { serde_json::to_string(map).ok() }
}

#[cfg(test)]
mod tests;
