//! Converts a device's report about apps with tools to REST types.

use toolway_api::devices::{
    AppProviderInfoView, AppProviderNoteView, AppProviderReportView, AppProviderScopeView, AppProviderView,
};
use toolway_wire::client_message::app_providers::{AppProvider, AppProviderInfo};

use crate::sources::app_provider_report::AppProviderReport;

pub(super) fn report_view(report: &AppProviderReport) -> AppProviderReportView {
    AppProviderReportView {
        reported_ms: report.as_of_ms,
        providers: report.providers.iter().cloned().map(provider_view).collect(),
    }
}

fn provider_view(provider: AppProvider) -> AppProviderView {
    // Names all fields, so that a new one is not forgotten here.
    let AppProvider {
        authority,
        package,
        label,
        prefix,
        dialect,
        version,
        state,
        reason,
        hint,
        info,
        tools,
        notes,
    } = provider;
    let notes = notes.into_iter().map(|note| AppProviderNoteView {
        kind: note.kind.as_str().to_owned(),
        tool: note.tool,
        reason: note.reason,
    });
    AppProviderView {
        authority,
        package,
        label,
        prefix,
        dialect,
        version,
        state: state.as_str().to_owned(),
        reason,
        hint,
        info: info.map(info_view),
        tools,
        notes: notes.collect(),
    }
}

fn info_view(AppProviderInfo { name, description, scopes }: AppProviderInfo) -> AppProviderInfoView {
    let scopes = scopes
        .into_iter()
        .map(|scope| AppProviderScopeView { name: scope.name, description: scope.description });
    AppProviderInfoView { name, description, scopes: scopes.collect() }
}
