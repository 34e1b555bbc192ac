//! The tokens of a gateway. Valid tokens are in memory by their hashes, so that checking a token needs no
//! query. The database has all tokens, without their texts.

use std::collections::{HashMap, HashSet};
use std::sync::Arc;

use parking_lot::RwLock;
use secrecy::{ExposeSecret, SecretString};
use toolway_store::{Store, TokenRecord};
use toolway_types::{Clock, Principal, Role};
use uuid::Uuid;

use super::agent_binding::check_binding;
use super::error::AccessError;
use super::owner_file::OwnerTokenFile;
use super::rejection::AuthRejection;
use super::secret;
use super::token::{DeviceBinding, TokenEndReason, TokenState};
use crate::lifetime::Lifetime;

/// Id of the owner's token.
pub const OWNER_ID: &str = "owner";
/// Id of the token of this computer's own device.
pub const LOCAL_DEVICE_ID: &str = "local-device";

/// The fields of a new token.
#[derive(Debug, Clone)]
pub struct NewToken {
    /// Role of the token; never the owner's.
    pub role: Role,
    /// Display name. Defaults to the device's name, or else to the role.
    pub label: Option<String>,
    /// The only agent that the token may use.
    pub agent: Option<String>,
    /// Device that the token is for.
    pub device: DeviceBinding,
    /// Lifetime. Without one, the token is valid until it is revoked.
    pub lifetime: Option<Lifetime>,
}

#[derive(Debug, Default)]
struct TokenTable {
    by_hash: HashMap<[u8; 32], TokenEntry>,
    by_id: HashMap<String, Arc<TokenState>>,
}

#[derive(Debug)]
enum TokenEntry {
    Live(Arc<TokenState>),
    /// A revoked token, kept for a precise error code.
    Revoked,
}

impl TokenTable {
    /// Activates a token, replacing the one with its id.
    fn insert(&mut self, state: Arc<TokenState>) {
        self.by_hash.insert(state.hash, TokenEntry::Live(Arc::clone(&state)));
        if let Some(before) = self.by_id.insert(state.id().to_owned(), state) {
            self.revoke(&before);
        }
    }

    /// Replaces all tokens. Unchanged tokens keep their states.
    fn replace(&mut self, records: &[TokenRecord], clock: &Arc<dyn Clock>) {
        let kept: HashSet<&str> =
            records.iter().filter(|it| it.revoked_ms.is_none()).map(|it| it.id.as_str()).collect();
        let gone: Vec<_> = self.by_id.values().filter(|state| !kept.contains(state.id())).cloned().collect();
        for state in gone {
            self.by_id.remove(state.id());
            self.revoke(&state);
        }
        for record in records {
            if record.revoked_ms.is_some() {
                self.by_hash.insert(record.hash, TokenEntry::Revoked);
            } else if self.by_id.get(&record.id).is_none_or(|state| state.hash != record.hash) {
                self.insert(Arc::new(TokenState::new(record, Arc::clone(clock))));
            }
        }
    }

    fn revoke(&mut self, state: &TokenState) {
        self.by_hash.insert(state.hash, TokenEntry::Revoked);
        state.end(TokenEndReason::Revoked);
    }
}

/// The tokens of a gateway.
#[derive(Debug)]
pub struct AccessTokens {
    store: Store,
    clock: Arc<dyn Clock>,
    owner_file: OwnerTokenFile,
    table: RwLock<TokenTable>,
    /// Serializes changes, so that database, file and memory agree.
    changing: tokio::sync::Mutex<()>,
}

impl AccessTokens {
    pub(super) async fn load(
        store: Store,
        clock: Arc<dyn Clock>,
        owner_file: OwnerTokenFile,
    ) -> Result<Self, AccessError> {
        let mut table = TokenTable::default();
        for record in store.tokens().list().await? {
            if record.revoked_ms.is_some() {
                table.by_hash.insert(record.hash, TokenEntry::Revoked);
            } else {
                table.insert(Arc::new(TokenState::new(&record, Arc::clone(&clock))));
            }
        }
        let changing = tokio::sync::Mutex::new(());
        Ok(Self { store, clock, owner_file, table: RwLock::new(table), changing })
    }

    /// Finds the valid token with this text.
    ///
    /// # Errors
    /// [`AuthRejection`] if it is unknown, revoked or expired.
    pub fn find(&self, text: &str) -> Result<Arc<TokenState>, AuthRejection> {
        let state = match self.table.read().by_hash.get(&secret::hash(text)) {
            None => return Err(AuthRejection::Unknown),
            Some(TokenEntry::Revoked) => return Err(AuthRejection::Revoked),
            Some(TokenEntry::Live(state)) => Arc::clone(state),
        };
        match state.end_reason() {
            None => {
                self.touch(&state);
                Ok(state)
            }
            Some(TokenEndReason::Revoked) => Err(AuthRejection::Revoked),
            Some(TokenEndReason::Expired) => Err(AuthRejection::Expired),
        }
    }

    /// Records that a token was used now.
    pub fn touch(&self, state: &TokenState) {
        if let Some(at_ms) = state.touch() {
            self.store.tokens().touch(&state.principal.id.0, at_ms);
        }
    }

    /// Returns the principal with this id. The owner exists even if the owner's token is missing.
    #[must_use]
    pub fn principal(&self, id: &str) -> Option<Arc<Principal>> {
        let owner = || Principal { id: OWNER_ID.into(), role: Role::Owner, agent: None };
        let token = self.by_id(id).map(|token| token.principal.clone());
        token.or_else(|| (id == OWNER_ID).then(|| Arc::new(owner())))
    }

    /// Returns the token with this id, unless it is revoked or unknown.
    #[must_use]
    pub fn by_id(&self, id: &str) -> Option<Arc<TokenState>> {
        self.table.read().by_id.get(id).cloned()
    }

    /// Lists all tokens ever created, oldest first, with the time of their last use.
    ///
    /// # Errors
    /// [`AccessError::Store`] if the database fails.
    pub async fn list(&self) -> Result<Vec<TokenRecord>, AccessError> {
        let mut records = self.store.tokens().list().await?;
        let table = self.table.read();
        for record in &mut records {
            if let Some(state) = table.by_id.get(&record.id) {
                record.last_used_ms = state.last_used_ms();
            }
        }
        records.sort_by(|a, b| (a.created_ms, &a.id).cmp(&(b.created_ms, &b.id)));
        Ok(records)
    }

    /// Creates a token, and returns its text, which is not stored.
    ///
    /// # Errors
    /// [`AccessError`] if the role may not have an agent, or if the token can't be stored.
    pub async fn create(&self, new: NewToken) -> Result<(SecretString, Arc<TokenState>), AccessError> {
        check_binding(new.role, new.agent.as_deref())?;
        let text = secret::new_token(new.role)?;
        let now_ms = self.clock.now_ms();
        let label = new.label.or_else(|| new.device.name.clone());
        let record = TokenRecord {
            id: Uuid::now_v7().to_string(),
            hash: secret::hash(text.expose_secret()),
            role: new.role,
            label: label.unwrap_or_else(|| new.role.to_string()),
            agent: new.agent,
            device_id: new.device.id,
            device_name: new.device.name,
            platform: new.device.platform,
            created_ms: now_ms,
            expires_ms: new.lifetime.map(|lifetime| lifetime.end_ms(now_ms)),
            revoked_ms: None,
            last_used_ms: None,
        };
        let _changing = self.changing.lock().await;
        let state = self.store_and_activate(&record).await?;
        Ok((text, state))
    }

    /// Revokes a token and ends everything that uses it. Returns its record. A token that was revoked before
    /// is unchanged.
    ///
    /// # Errors
    /// [`AccessError::NotFound`], [`AccessError::Protected`] or [`AccessError::Store`].
    pub async fn revoke(&self, id: &str) -> Result<TokenRecord, AccessError> {
        match id {
            OWNER_ID => {
                let instead = "replace it: `toolway tokens rotate-owner`, or POST /api/tokens/owner/rotate";
                return Err(AccessError::Protected { id: OWNER_ID, instead });
            }
            LOCAL_DEVICE_ID => {
                let instead = "it is this computer's own device: set local_device.enabled = false";
                return Err(AccessError::Protected { id: LOCAL_DEVICE_ID, instead });
            }
            _ => {}
        }
        let _changing = self.changing.lock().await;
        let found = self.store.tokens().list().await?.into_iter().find(|record| record.id == id);
        let mut record = found.ok_or_else(|| AccessError::NotFound(id.to_owned()))?;
        if record.revoked_ms.is_some() {
            return Ok(record);
        }
        let now = self.clock.now_ms();
        self.store.tokens().revoke(id, now).await?;
        record.revoked_ms = Some(now);
        let mut table = self.table.write();
        if let Some(state) = table.by_id.remove(id) {
            record.last_used_ms = state.last_used_ms();
            table.revoke(&state);
        }
        Ok(record)
    }

    /// Ensures that the owner's token exists and is in the file. If the file has a token, that token becomes
    /// valid: whoever can write the file is the owner, and the file may be newer than a restored database.
    pub(super) async fn ensure_owner(&self) -> Result<(), AccessError> {
        let _changing = self.changing.lock().await;
        match self.owner_file.read().await? {
            Some(text) => {
                let hash = secret::hash(text.expose_secret());
                if self.by_id(OWNER_ID).is_none_or(|state| state.hash != hash) {
                    self.store_builtin(&self.builtin_record(OWNER_ID, Role::Owner, "owner", hash)).await?;
                }
            }
            None => {
                self.renew_owner().await?;
            }
        }
        Ok(())
    }

    /// Loads the stored tokens again after the database was replaced while the gateway runs. Tokens that are
    /// missing or revoked in the new database end. The gateway's two built-in tokens are unchanged.
    ///
    /// # Errors
    /// [`AccessError`] if they can't be read; then the previous tokens stay valid.
    pub async fn reload(&self) -> Result<(), AccessError> {
        let changing = self.changing.lock().await;
        if let Some(local) = self.by_id(LOCAL_DEVICE_ID) {
            let record = self.builtin_record(LOCAL_DEVICE_ID, Role::Device, "this computer", local.hash);
            if !self.store.tokens().replace_hash(&record.id, record.hash).await? {
                self.store.tokens().insert(&record).await?;
            }
        }
        let records = self.store.tokens().list().await?;
        self.table.write().replace(&records, &self.clock);
        drop(changing);
        self.ensure_owner().await
    }

    /// Replaces the owner's token, also in the file, and ends everything that uses the old one.
    ///
    /// # Errors
    /// [`AccessError`] if it can't be stored; then the old token stays valid.
    pub async fn rotate_owner(&self) -> Result<SecretString, AccessError> {
        let _changing = self.changing.lock().await;
        self.renew_owner().await
    }

    async fn renew_owner(&self) -> Result<SecretString, AccessError> {
        let text = secret::new_token(Role::Owner)?;
        let before = self.owner_file.read().await?;
        // The file comes first, because it wins at the next start.
        self.owner_file.write(&text).await?;
        let record = self.builtin_record(OWNER_ID, Role::Owner, "owner", secret::hash(text.expose_secret()));
        if let Err(error) = self.store_builtin(&record).await {
            if let Some(before) = before {
                self.owner_file.write(&before).await?;
            }
            return Err(error);
        }
        Ok(text)
    }

    pub(super) async fn issue_local_device(&self) -> Result<SecretString, AccessError> {
        let text = secret::new_token(Role::Device)?;
        let hash = secret::hash(text.expose_secret());
        let _changing = self.changing.lock().await;
        self.store_builtin(&self.builtin_record(LOCAL_DEVICE_ID, Role::Device, "this computer", hash))
            .await?;
        Ok(text)
    }

    /// Stores a new secret of a built-in token, or the whole token the first time.
    async fn store_builtin(&self, record: &TokenRecord) -> Result<(), AccessError> {
        if self.store.tokens().replace_hash(&record.id, record.hash).await? {
            self.activate(record);
            return Ok(());
        }
        self.store_and_activate(record).await.map(|_| ())
    }

    /// Stores and activates a new token.
    async fn store_and_activate(&self, record: &TokenRecord) -> Result<Arc<TokenState>, AccessError> {
        self.store.tokens().insert(record).await?;
        Ok(self.activate(record))
    }

    /// Activates a token, replacing the one with its id.
    fn activate(&self, record: &TokenRecord) -> Arc<TokenState> {
        let state = Arc::new(TokenState::new(record, Arc::clone(&self.clock)));
        self.table.write().insert(Arc::clone(&state));
        state
    }

    /// Creates the record of a built-in token.
    fn builtin_record(&self, id: &str, role: Role, label: &str, hash: [u8; 32]) -> TokenRecord {
        TokenRecord {
            id: id.to_owned(),
            hash,
            role,
            label: label.to_owned(),
            agent: None,
            device_id: None,
            device_name: None,
            platform: None,
            created_ms: self.clock.now_ms(),
            expires_ms: None,
            revoked_ms: None,
            last_used_ms: None,
        }
    }
}

#[cfg(test)]
mod tests;
