//! Stores grants in the database and creates new grants of the owner.

mod new_grant;

use std::sync::Arc;

use async_trait::async_trait;
use toolway_core::consent::{Grant, GrantId, GrantStore, GrantStoreError, GrantSubject, GrantVerdict};
use toolway_store::{GrantDecision, GrantKind, GrantRecord, Store, StoreError};
use toolway_types::{Clock, PrincipalId};

pub(crate) use new_grant::{InvalidGrant, NewGrant};

/// Store of grants in the database.
#[derive(Debug)]
pub(crate) struct DatabaseGrantStore {
    store: Store,
    clock: Arc<dyn Clock>,
}

impl DatabaseGrantStore {
    pub(crate) fn new(store: Store, clock: Arc<dyn Clock>) -> Arc<Self> {
        Arc::new(Self { store, clock })
    }
}

/// Loads the active grants.
///
/// # Errors
/// [`StoreError`] if they can't be read.
pub(crate) async fn load_grants(store: &Store, now_ms: i64) -> Result<Vec<Grant>, StoreError> {
    let records = store.grants().active(now_ms).await?;
    let grants = records.into_iter().filter_map(|record| {
        let id = record.id.clone();
        let grant = grant_from_record(record);
        if grant.is_none() {
            tracing::error!(grant = id, "a stored grant is invalid and not active");
        }
        grant
    });
    Ok(grants.collect())
}

fn grant_from_record(record: GrantRecord) -> Option<Grant> {
    let whose = match (record.principal, record.agent) {
        (None, None) => GrantSubject::Anyone,
        (Some(principal), None) => GrantSubject::Principal(PrincipalId::from(principal.as_str())),
        (None, Some(agent)) => GrantSubject::Agent(agent.into()),
        (Some(_), Some(_)) => return None,
    };
    Some(Grant {
        id: record.id.parse().ok()?,
        permission: record.permission.map(Arc::from),
        tool: format!("{}/{}", record.source, record.tool).into(),
        subject: whose,
        verdict: match record.decision {
            GrantDecision::Granted => GrantVerdict::Granted,
            GrantDecision::DeniedAlways => GrantVerdict::DeniedAlways,
        },
        created_ms: record.created_ms,
        created_by: PrincipalId::from(record.created_by.as_str()),
        expires_ms: record.expires_ms,
    })
}

/// Converts a grant to a record; `None` for a grant of one conversation, which is not stored.
fn grant_to_record(grant: &Grant) -> Option<GrantRecord> {
    let (principal, agent) = match &grant.subject {
        GrantSubject::Anyone => (None, None),
        GrantSubject::Principal(principal) => (Some(principal.to_string()), None),
        GrantSubject::Agent(agent) => (None, Some(agent.to_string())),
        GrantSubject::Session(..) => return None,
    };
    // The pattern is stored in two parts, without the slash between them.
    let (source, tool) = grant.tool.split_once('/')?;
    Some(GrantRecord {
        id: grant.id.to_string(),
        kind: if grant.permission.is_some() { GrantKind::Permission } else { GrantKind::Approval },
        permission: grant.permission.as_deref().map(str::to_owned),
        source: source.to_owned(),
        tool: tool.to_owned(),
        principal,
        agent,
        decision: match grant.verdict {
            GrantVerdict::Granted => GrantDecision::Granted,
            GrantVerdict::DeniedAlways => GrantDecision::DeniedAlways,
        },
        created_ms: grant.created_ms,
        created_by: grant.created_by.to_string(),
        expires_ms: grant.expires_ms,
        revoked_ms: None,
    })
}

#[async_trait]
impl GrantStore for DatabaseGrantStore {
    async fn save(&self, grant: &Grant) -> Result<(), GrantStoreError> {
        let record = grant_to_record(grant)
            .ok_or_else(|| GrantStoreError("its tool must be source/tool".to_owned()))?;
        self.store.grants().insert(&record).await.map_err(|error| GrantStoreError(error.to_string()))
    }

    async fn revoke(&self, grant: GrantId) -> Result<(), GrantStoreError> {
        let revoked = self.store.grants().revoke(&grant.to_string(), self.clock.now_ms()).await;
        revoked.map(drop).map_err(|error| GrantStoreError(error.to_string()))
    }
}
