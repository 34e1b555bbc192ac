//! The devices that offer tools, and the assignment of connections to sources ("Who a connection is" in the
//! protocol document). A source belongs to the token that created it. Its identity within the token assigns
//! later connections to it. Its slug is chosen once and never reused.

pub(crate) mod app_provider_report;
mod device_calls;
pub(crate) mod device_session;
pub(crate) mod device_source;
pub(crate) mod identity;
mod identity_locks;
mod index;
pub(crate) mod registration;
pub(crate) mod remote_tool;
pub(crate) mod removal;
mod stored;

use std::sync::Arc;

use parking_lot::Mutex;
use toolway_core::{Registry, SourceRetention};
use toolway_store::{SourceRecord, Store, StoreError};
use toolway_types::{Clock, PrincipalId, Role, Slug, ToolName};

use device_session::DeviceSession;
use device_source::{DeviceSource, DeviceSourceState};
use identity::{DeviceIdentity, IdentityClaims};
use identity_locks::IdentityLocks;
use index::SourceIndex;
use stored::{StoredSourceStatus, StoredSources};

/// All sources.
#[derive(Debug)]
pub struct DeviceSources {
    registry: Arc<Registry>,
    store: Store,
    clock: Arc<dyn Clock>,
    limits: SourceLimits,
    inner: Mutex<SourceIndex>,
    /// Shared while a source is created and stored, exclusive while the sources are loaded.
    loading: tokio::sync::RwLock<()>,
    /// Locks for creating and storing a source, so that two connections can't create the same one. Different sources are
    /// stored at the same time, because each waits for the disk.
    creation_locks: IdentityLocks,
}

/// Maximum number of sources per token.
#[derive(Debug, Clone, Copy)]
pub(crate) struct SourceLimits {
    /// Limit of the owner's token, which may be on many computers.
    pub(crate) per_owner: usize,
    /// Limit of every other token.
    pub(crate) per_token: usize,
}

impl SourceLimits {
    fn of(self, role: Role) -> usize {
        if role.is_owner() { self.per_owner } else { self.per_token }
    }
}

/// A device's session together with its source.
#[derive(Debug, Clone)]
pub(crate) struct SourceSession {
    pub(crate) source: Arc<DeviceSource>,
    pub(crate) session: Arc<DeviceSession>,
}

/// Reason why a connection got no source.
#[derive(Debug, thiserror::Error)]
pub(crate) enum JoinError {
    #[error(
        "this token has {0} sources already, as many as it may; remove one with `toolway devices revoke`, or \
         raise the setting limits.sources_per_token"
    )]
    TooMany(usize),
    #[error("the source could not be stored: {0}")]
    Store(#[from] StoreError),
}

/// A connection's description of itself when it joins.
#[derive(Debug)]
pub(crate) struct JoinRequest<'a> {
    pub(crate) claims: IdentityClaims<'a>,
    /// Label of the token, for a source without any name.
    pub(crate) token_label: Option<&'a str>,
    pub(crate) platform: Option<&'a str>,
    pub(crate) app_version: Option<&'a str>,
    /// Role of the token.
    pub(crate) role: Role,
    /// Chat session of a version 1 connection. If the connection has no identity, it takes the place of an earlier
    /// one with this session.
    pub(crate) chat_session: Option<&'a Arc<str>>,
}

impl DeviceSources {
    /// Loads the stored sources.
    ///
    /// # Errors
    /// [`StoreError`] if they can't be read.
    pub(crate) async fn load(
        registry: Arc<Registry>,
        store: Store,
        clock: Arc<dyn Clock>,
        limits: SourceLimits,
    ) -> Result<Arc<Self>, StoreError> {
        let sources = Self {
            registry,
            store,
            clock,
            limits,
            inner: Mutex::default(),
            loading: tokio::sync::RwLock::default(),
            creation_locks: IdentityLocks::default(),
        };
        sources.reload().await?;
        Ok(Arc::new(sources))
    }

    /// Loads the stored sources again, after the database was replaced. Unchanged sources in use stay, with
    /// their stored label; missing ones are stored again. A source that was removed there, or that
    /// contradicts the database, ends: its device comes back as the stored source, or as a new one.
    ///
    /// # Errors
    /// [`StoreError`] if they can't be read or written.
    pub async fn reload(&self) -> Result<(), StoreError> {
        let _loading = self.loading.write().await;
        let records = self.store.sources().all().await?;
        let stored = StoredSources::of(&records);
        for source in self.all() {
            match stored.status(&source) {
                StoredSourceStatus::Unchanged => {}
                StoredSourceStatus::Missing if source.identity().is_none() => {}
                StoredSourceStatus::Missing if !source.sessions().is_empty() => {
                    self.store.sources().upsert(&self.record_of(&source)).await?;
                }
                StoredSourceStatus::Missing | StoredSourceStatus::Contradicted => self.end_source(&source),
            }
        }
        for record in records {
            self.add_record(record);
        }
        Ok(())
    }

    fn add_record(&self, record: SourceRecord) {
        let slug = record.slug;
        let mut inner = self.inner.lock();
        if record.removed_ms.is_some() {
            inner.retired.insert(slug);
            return;
        }
        if let Some(known) = inner.by_slug.get(&slug) {
            // The device knows its own description best; the owner's label is as stored.
            known.update(|state| state.label = record.label);
            return;
        }
        let known: Vec<ToolName> = record.tools.iter().filter_map(|name| name.parse().ok()).collect();
        self.registry.declare(&slug, known);
        let state = DeviceSourceState {
            label: record.label,
            platform: record.platform,
            app_version: record.app_version,
            created_ms: record.created_ms,
            last_seen_ms: record.last_seen_ms,
        };
        let token = PrincipalId::from(record.token_id.as_str());
        let identity = DeviceIdentity::from_stored(&record.identity_key);
        inner.add(DeviceSource::new(slug, token, Some(identity), None, state));
    }

    /// Returns the source of a connection: an existing one with its identity, or a new one.
    pub(crate) async fn join(
        &self,
        token: &PrincipalId,
        arrival: JoinRequest<'_>,
    ) -> Result<Arc<DeviceSource>, JoinError> {
        let identity = arrival.claims.identity();
        if let Some(known) = identity.as_ref().and_then(|identity| self.find(token, identity)) {
            self.record_join(&known, &arrival).await;
            return Ok(known);
        }
        let _not_loading = self.loading.read().await;
        let _creating = self.creation_locks.lock(token, identity.as_ref(), arrival.chat_session).await;
        let known = match (&identity, arrival.chat_session) {
            (Some(identity), _) => self.find(token, identity),
            (None, Some(session)) => self.find_unnamed(token, session),
            (None, None) => None,
        };
        if let Some(known) = known {
            self.record_join(&known, &arrival).await;
            return Ok(known);
        }
        let source = self.create(token, identity, &arrival)?;
        if source.identity().is_some()
            && let Err(error) = self.store.sources().upsert(&self.record_of(&source)).await
        {
            self.inner.lock().remove(source.slug(), false);
            return Err(error.into());
        }
        Ok(source)
    }

    /// Reserves a slug for an MCP server. Returns false if a device has it. No device gets it after that, so
    /// that grants for the one never apply to the other.
    pub(crate) fn reserve(&self, slug: &Slug) -> bool {
        let mut inner = self.inner.lock();
        let is_free = !inner.by_slug.contains_key(slug);
        if is_free {
            inner.reserved.insert(slug.clone());
        }
        is_free
    }

    fn find(&self, token: &PrincipalId, identity: &DeviceIdentity) -> Option<Arc<DeviceSource>> {
        let inner = self.inner.lock();
        let slug = inner.by_identity.get(&(token.clone(), identity.clone()))?;
        inner.by_slug.get(slug).cloned()
    }

    fn find_unnamed(&self, token: &PrincipalId, session: &Arc<str>) -> Option<Arc<DeviceSource>> {
        let inner = self.inner.lock();
        let slug = inner.by_chat_session.get(&(token.clone(), Arc::clone(session)))?;
        inner.by_slug.get(slug).cloned()
    }

    fn create(
        &self,
        token: &PrincipalId,
        identity: Option<DeviceIdentity>,
        arrival: &JoinRequest<'_>,
    ) -> Result<Arc<DeviceSource>, JoinError> {
        let now = self.clock.now_ms();
        let label = arrival.claims.label().or(arrival.token_label).unwrap_or("device");
        let limit = self.limits.of(arrival.role);
        let mut inner = self.inner.lock();
        if inner.per_token.get(token).copied().unwrap_or_default() >= limit {
            return Err(JoinError::TooMany(limit));
        }
        let state = DeviceSourceState {
            label: truncate(label),
            platform: arrival.platform.map(truncate),
            app_version: arrival.app_version.map(truncate),
            created_ms: now,
            last_seen_ms: now,
        };
        let session = arrival.chat_session.cloned();
        let slug = inner.free_slug(label);
        let source = DeviceSource::new(slug, token.clone(), identity, session, state);
        inner.add(source.clone());
        Ok(source)
    }

    async fn record_join(&self, source: &Arc<DeviceSource>, arrival: &JoinRequest<'_>) {
        let mut changed = false;
        source.update(|state| {
            for (kept, said) in
                [(&mut state.platform, arrival.platform), (&mut state.app_version, arrival.app_version)]
            {
                if let Some(said) = said.map(truncate).filter(|said| kept.as_ref() != Some(said)) {
                    *kept = Some(said);
                    changed = true;
                }
            }
        });
        self.touch(source);
        if changed && let Err(error) = self.store.sources().upsert(&self.record_of(source)).await {
            tracing::warn!(source = %source.slug(), %error, "cannot store a device's description of itself");
        }
    }

    /// Records that a source is connected now.
    pub(crate) fn touch(&self, source: &DeviceSource) {
        let now = self.clock.now_ms();
        source.update(|state| state.last_seen_ms = now);
        if source.identity().is_some() {
            self.store.sources().touch(source.slug(), now);
        }
    }

    /// Records the current tools of a source.
    pub(crate) fn tools_changed(&self, source: &DeviceSource) {
        let now = self.clock.now_ms();
        source.update(|state| state.last_seen_ms = now);
        if source.identity().is_some() {
            self.store.sources().set_tools(source.slug(), self.known_tools(source), now);
        }
    }

    fn known_tools(&self, source: &DeviceSource) -> Vec<String> {
        let snapshot = self.registry.snapshot();
        let known = snapshot.source(source.slug()).map(toolway_core::SourceSnapshot::known_names);
        known.unwrap_or_default().iter().map(ToString::to_string).collect()
    }

    fn record_of(&self, source: &DeviceSource) -> SourceRecord {
        let state = source.state();
        SourceRecord {
            slug: source.slug().clone(),
            token_id: source.token().to_string(),
            identity_key: source.identity().map(ToString::to_string).unwrap_or_default(),
            kind: "device".to_owned(),
            label: state.label,
            platform: state.platform,
            app_version: state.app_version,
            created_ms: state.created_ms,
            last_seen_ms: state.last_seen_ms,
            tools: self.known_tools(source),
            removed_ms: None,
        }
    }

    /// Returns the part of a source's registration that stays after its last lease is dropped.
    pub(crate) fn keep_policy(source: &DeviceSource) -> SourceRetention {
        if source.identity().is_some() { SourceRetention::Names } else { SourceRetention::Nothing }
    }

    /// Makes a session available under its resume token.
    pub(crate) fn make_resumable(&self, session: &Arc<DeviceSession>) {
        if let Some(token) = session.resume_token() {
            self.inner.lock().resumable.insert(token.to_owned(), Arc::downgrade(session));
        }
    }

    /// Returns the session of a resume token, if its source belongs to this token and it has not ended.
    pub(crate) fn resume(&self, token: &PrincipalId, resume_token: &str) -> Option<SourceSession> {
        let (session, source) = {
            let inner = self.inner.lock();
            let session = inner.resumable.get(resume_token)?.upgrade()?;
            let source = inner.by_slug.get(session.source()).cloned();
            (session, source?)
        };
        (source.token() == token && !session.has_ended()).then_some(SourceSession { source, session })
    }

    /// Lets a session take the place of all others of a source without an identity. Their connections stay open: most
    /// are dead and not noticed yet, and a living client would reconnect for ever if it were closed.
    pub(crate) fn replace_unnamed(&self, source: &Arc<DeviceSource>, session: &Arc<DeviceSession>) {
        if source.identity().is_some() {
            return;
        }
        for other in source.sessions().iter().filter(|other| !Arc::ptr_eq(other, session)) {
            other.retire();
        }
        // The earlier connection may have ended, and removed the source, after it was found.
        let mut inner = self.inner.lock();
        if !inner.by_slug.contains_key(source.slug()) {
            inner.add(Arc::clone(source));
        }
    }

    /// Ends a session of a source for good.
    pub(crate) fn end_session(&self, source: &Arc<DeviceSource>, session: &Arc<DeviceSession>) {
        session.end();
        source.remove_device_session(session);
        if let Some(token) = session.resume_token() {
            self.inner.lock().resumable.remove(token);
        }
        self.touch(source);
        self.remove_if_ephemeral(source);
    }

    /// Removes a source that belongs to a single connection, once it has no session.
    pub(crate) fn remove_if_ephemeral(&self, source: &Arc<DeviceSource>) {
        if source.identity().is_none() && source.sessions().is_empty() {
            self.inner.lock().remove(source.slug(), false);
        }
    }

    /// Returns all sources, by slug.
    pub(crate) fn all(&self) -> Vec<Arc<DeviceSource>> {
        let mut all: Vec<_> = self.inner.lock().by_slug.values().cloned().collect();
        all.sort_unstable_by(|a, b| a.slug().cmp(b.slug()));
        all
    }

    /// Finds a source by slug.
    pub(crate) fn get(&self, slug: &str) -> Option<Arc<DeviceSource>> {
        self.inner.lock().by_slug.get(slug).cloned()
    }

    /// Returns the number of a token's sources.
    pub(crate) fn count_of(&self, token: &PrincipalId) -> usize {
        self.inner.lock().per_token.get(token).copied().unwrap_or_default()
    }

    /// Changes the display name.
    ///
    /// # Errors
    /// [`StoreError`] if it can't be stored.
    pub(crate) async fn rename(&self, source: &Arc<DeviceSource>, label: &str) -> Result<(), StoreError> {
        source.update(|state| state.label = truncate(label));
        if source.identity().is_some() {
            self.store.sources().set_label(source.slug(), &truncate(label)).await?;
        }
        Ok(())
    }

    /// Removes a source for good: disconnects its sockets and removes its tools. Its slug is never reused.
    ///
    /// # Errors
    /// [`StoreError`] if it can't be stored.
    pub(crate) async fn remove(&self, source: &Arc<DeviceSource>) -> Result<(), StoreError> {
        if source.identity().is_some() {
            self.store.sources().remove(source.slug(), self.clock.now_ms()).await?;
        }
        self.end_source(source);
        Ok(())
    }

    /// Ends a source: disconnects its sockets and removes its tools. The slug of a stored source is never
    /// reused.
    fn end_source(&self, source: &Arc<DeviceSource>) {
        self.inner.lock().remove(source.slug(), source.identity().is_some());
        for session in source.sessions() {
            self.end_session(source, &session);
        }
        self.registry.forget(source.slug());
    }
}

/// Maximum stored length of a label, platform or version, in bytes.
const MAX_TEXT: usize = 128;

fn truncate(text: &str) -> String {
    text.get(..text.floor_char_boundary(MAX_TEXT.min(text.len()))).unwrap_or_default().to_owned()
}

#[cfg(test)]
mod tests;
