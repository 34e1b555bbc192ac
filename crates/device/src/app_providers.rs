//! Reports on apps that offer tools through the device, shortened to the gateway's limits. One oversized
//! report must not hide the others.

use toolway_wire::ClientMessage;
use toolway_wire::client_message::app_providers::{
    AppProvider, AppProviderNote, AppProviderNoteKind, AppProviders, MAX_BYTES, MAX_NOTES, MAX_PROVIDERS,
    MAX_SCOPES, MAX_TEXT, MAX_TOOLS,
};

/// Marks the end of a shortened text.
const CUT: char = '…';

/// Shortens oversized reports. A note lists the omitted tools and notes; the log mentions omitted providers.
pub(crate) fn truncate_to_limits(mut providers: Vec<AppProvider>) -> Vec<AppProvider> {
    if providers.len() > MAX_PROVIDERS {
        tracing::warn!(
            apps = providers.len(),
            most = MAX_PROVIDERS,
            "too many apps offer tools; the report to the gateway omits the last ones"
        );
        providers.truncate(MAX_PROVIDERS);
    }
    providers.iter_mut().for_each(cut_provider);
    providers
}

fn cut_provider(provider: &mut AppProvider) {
    let AppProvider { authority, package, label, prefix, dialect, reason, hint, info, tools, notes, .. } =
        provider;
    if tools.len() > MAX_TOOLS {
        let reason = format!("{} of its tools are not listed here", tools.len() - MAX_TOOLS);
        tools.truncate(MAX_TOOLS);
        notes.insert(0, AppProviderNote { kind: AppProviderNoteKind::Flagged, tool: None, reason });
    }
    if notes.len() > MAX_NOTES {
        let kept = MAX_NOTES - 1;
        let left_out = notes.split_off(kept);
        // A refusal among the omitted notes must stay visible, so the summary gets its severity.
        let refused = left_out.iter().any(|note| note.kind == AppProviderNoteKind::Refused);
        notes.push(AppProviderNote {
            kind: if refused { AppProviderNoteKind::Refused } else { AppProviderNoteKind::Flagged },
            tool: None,
            reason: format!("{} more notes are not listed here", left_out.len()),
        });
    }
    [authority, package, label, dialect].into_iter().for_each(cut);
    [prefix, reason, hint].into_iter().flatten().for_each(cut);
    tools.iter_mut().for_each(cut);
    for note in notes {
        note.tool.iter_mut().for_each(cut);
        cut(&mut note.reason);
    }
    if let Some(info) = info {
        info.scopes.truncate(MAX_SCOPES);
        cut(&mut info.name);
        info.description.iter_mut().for_each(cut);
        for scope in &mut info.scopes {
            cut(&mut scope.name);
            scope.description.iter_mut().for_each(cut);
        }
    }
}

fn cut(text: &mut String) {
    if text.chars().nth(MAX_TEXT).is_none() {
        return;
    }
    if let Some((end, _)) = text.char_indices().nth(MAX_TEXT - 1) {
        text.truncate(end);
        text.push(CUT);
    }
}

/// Encodes the report. If the frame would be too large, it contains only the first providers.
pub(crate) fn frame(providers: &[AppProvider], frame_limit: usize) -> String {
    let limit = frame_limit.min(MAX_BYTES);
    let mut included = providers;
    loop {
        let frame = ClientMessage::from(AppProviders { providers: included.to_vec() }).encode();
        if frame.len() <= limit || included.is_empty() {
            if included.len() < providers.len() {
                tracing::warn!(
                    apps = providers.len(),
                    included = included.len(),
                    "the report on all apps exceeds the gateway's frame limit"
                );
            }
            return frame;
        }
        included = included.get(..included.len() / 2).unwrap_or_default();
    }
}

#[cfg(test)]
mod tests;
