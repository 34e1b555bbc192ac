//! What is said of the apps whose tools a device bridges, kept within what gateways accept: what is longer is cut
//! here, so that one app that says too much does not keep the gateway from hearing of all others.

use toolway_wire::ClientMessage;
use toolway_wire::client_message::app_providers::{
    AppProvider, AppProviderNote, AppProviderNoteKind, AppProviders, MAX_BYTES, MAX_NOTES, MAX_PROVIDERS,
    MAX_SCOPES, MAX_TEXT, MAX_TOOLS,
};

/// What stands for the rest of a text that was cut.
const CUT: char = '…';

/// Cuts what is too long. Tools and notes that are left out are told in a note; whole providers in a log.
pub(crate) fn truncate_to_limits(mut providers: Vec<AppProvider>) -> Vec<AppProvider> {
    if providers.len() > MAX_PROVIDERS {
        tracing::warn!(
            apps = providers.len(),
            most = MAX_PROVIDERS,
            "more apps offer tools than a gateway is told of; the last ones are left out"
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
        // Where something was refused, that it was must not be what is left out.
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

/// The frame that says it. Where it would be larger than the gateway accepts, it says it of the first ones only.
pub(crate) fn frame(providers: &[AppProvider], frame_limit: usize) -> String {
    let limit = frame_limit.min(MAX_BYTES);
    let mut told = providers;
    loop {
        let frame = ClientMessage::from(AppProviders { providers: told.to_vec() }).encode();
        if frame.len() <= limit || told.is_empty() {
            if told.len() < providers.len() {
                tracing::warn!(
                    apps = providers.len(),
                    told = told.len(),
                    "what is to be said of all apps is more than the gateway accepts"
                );
            }
            return frame;
        }
        told = told.get(..told.len() / 2).unwrap_or_default();
    }
}

#[cfg(test)]
mod tests;
