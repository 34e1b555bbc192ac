//! Converts providers to the report for the gateway.

use toolway_device::{
    AppProvider, AppProviderInfo, AppProviderNote, AppProviderNoteKind, AppProviderScope, AppProviderState,
};

use crate::note::ProviderNoteKind;
use crate::provider::{ProviderState, ToolProvider};

/// Converts a provider.
pub(crate) fn app_provider(provider: &ToolProvider) -> AppProvider {
    let (state, reason, hint) = match provider.state.clone() {
        ProviderState::Ready => (AppProviderState::Ready, None, None),
        ProviderState::AuthorizationRequired { message, hint, .. } => {
            (AppProviderState::AuthorizationRequired, Some(message), hint)
        }
        ProviderState::Unavailable { reason } => (AppProviderState::Unavailable, Some(reason), None),
        ProviderState::Refused { reason, hint, .. } => (AppProviderState::Refused, Some(reason), hint),
    };
    AppProvider {
        authority: provider.authority.clone(),
        package: provider.package.clone(),
        label: provider.title().to_owned(),
        prefix: provider.prefix.clone(),
        dialect: provider.dialect.as_str().to_owned(),
        version: provider.version.map(i64::from),
        state,
        reason,
        hint,
        info: provider.info.as_ref().map(|info| AppProviderInfo {
            name: info.name.clone().unwrap_or_else(|| provider.title().to_owned()),
            description: info.description.clone(),
            scopes: info
                .scopes
                .iter()
                .map(|scope| AppProviderScope {
                    name: scope.name.clone(),
                    description: scope.description.clone(),
                })
                .collect(),
        }),
        tools: provider.tools.iter().filter_map(|tool| provider.exposed_name(&tool.name)).collect(),
        notes: provider
            .notes
            .to_vec()
            .into_iter()
            .map(|note| AppProviderNote {
                kind: match note.kind {
                    ProviderNoteKind::Refused => AppProviderNoteKind::Refused,
                    ProviderNoteKind::Flagged => AppProviderNoteKind::Flagged,
                },
                tool: note.tool,
                reason: note.reason,
            })
            .collect(),
    }
}
