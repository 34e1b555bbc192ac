//! Changes that may be late and of which only the newest counts: when a token was last used, when a source
//! was last seen and with which tools, how far an answer is. They are collected, and written at most once a second,
//! answers four times.

use std::collections::HashMap;
use std::sync::Arc;

use serde::Serialize;
use sqlx::{Connection, SqliteConnection};
use toolway_types::Slug;

use super::response_drafts::{ResponseDraft, write_drafts};

/// A change of a source.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize)]
pub(crate) struct SourceChange {
    /// When it was last seen.
    pub(crate) seen_ms: i64,
    /// Its tools' names, where they changed.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) tools: Option<Vec<String>>,
}

/// Changes that wait.
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

    /// Takes in changes that came before these.
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

    /// Writes them in one transaction: those of a table in one statement, but for drafts.
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

/// A map as JSON text; none where there is nothing in it.
fn as_json<K: Serialize, V: Serialize>(map: &HashMap<K, V>) -> Option<String> {
    if map.is_empty() { None } else { serde_json::to_string(map).ok() }
}

#[cfg(test)]
mod tests;
