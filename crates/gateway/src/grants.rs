//! Grants as the store keeps them.

use std::sync::Arc;

use async_trait::async_trait;
use toolway_core::consent::{Grant, GrantFor, GrantId, GrantKeeper, NotKept, Verdict};
use toolway_store::{GrantDecision, GrantKind, GrantRecord, Store, StoreError};
use toolway_types::{Clock, PrincipalId};

/// Keeps grants in the store.
#[derive(Debug)]
pub(crate) struct StoredGrants {
    store: Store,
    clock: Arc<dyn Clock>,
}

impl StoredGrants {
    pub(crate) fn new(store: Store, clock: Arc<dyn Clock>) -> Arc<Self> {
        Arc::new(Self { store, clock })
    }
}

/// The grants that hold, as they are stored.
///
/// # Errors
/// Where they can't be read.
pub(crate) async fn stored(store: &Store, now_ms: i64) -> Result<Vec<Grant>, StoreError> {
    let records = store.grants().active(now_ms).await?;
    let grants = records.into_iter().filter_map(|record| {
        let id = record.id.clone();
        let grant = of_record(record);
        if grant.is_none() {
            tracing::error!(grant = id, "a stored grant can't be read and does not hold");
        }
        grant
    });
    Ok(grants.collect())
}

fn of_record(record: GrantRecord) -> Option<Grant> {
    let whose = match (record.principal, record.agent) {
        (None, None) => GrantFor::Anyone,
        (Some(principal), None) => GrantFor::Principal(PrincipalId::from(principal.as_str())),
        (None, Some(agent)) => GrantFor::Agent(agent.into()),
        (Some(_), Some(_)) => return None,
    };
    Some(Grant {
        id: record.id.parse().ok()?,
        permission: record.permission.map(Arc::from),
        tool: format!("{}/{}", record.source, record.tool).into(),
        whose,
        verdict: match record.decision {
            GrantDecision::Granted => Verdict::Granted,
            GrantDecision::DeniedAlways => Verdict::DeniedAlways,
        },
        created_ms: record.created_ms,
        created_by: PrincipalId::from(record.created_by.as_str()),
        expires_ms: record.expires_ms,
    })
}

/// None of a grant for a conversation, which is not kept.
fn record_of(grant: &Grant) -> Option<GrantRecord> {
    let (principal, agent) = match &grant.whose {
        GrantFor::Anyone => (None, None),
        GrantFor::Principal(principal) => (Some(principal.to_string()), None),
        GrantFor::Agent(agent) => (None, Some(agent.to_string())),
        GrantFor::Session(..) => return None,
    };
    // The pattern is stored in two parts, which are put together again with the slash between them.
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
            Verdict::Granted => GrantDecision::Granted,
            Verdict::DeniedAlways => GrantDecision::DeniedAlways,
        },
        created_ms: grant.created_ms,
        created_by: grant.created_by.to_string(),
        expires_ms: grant.expires_ms,
        revoked_ms: None,
    })
}

#[async_trait]
impl GrantKeeper for StoredGrants {
    async fn keep(&self, grant: &Grant) -> Result<(), NotKept> {
        let record = record_of(grant).ok_or_else(|| NotKept("its tool is not source/tool".to_owned()))?;
        self.store.grants().insert(&record).await.map_err(|error| NotKept(error.to_string()))
    }

    async fn revoke(&self, grant: GrantId) -> Result<(), NotKept> {
        let revoked = self.store.grants().revoke(&grant.to_string(), self.clock.now_ms()).await;
        revoked.map(drop).map_err(|error| NotKept(error.to_string()))
    }
}
