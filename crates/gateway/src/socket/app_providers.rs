//! `app_providers`: what a device that bridges apps' tools says of each app. Its form and its size are checked
//! here; what it says is nobody's truth and decides nothing.

use std::fmt::Display;
use std::sync::Arc;

use toolway_wire::client_message::app_providers::{
    AppProvider, AppProviders, MAX_BYTES, MAX_NOTES, MAX_PROVIDERS, MAX_SCOPES, MAX_TEXT, MAX_TOOLS,
};
use toolway_wire::error_code;

use super::close::CloseReason;
use super::peer::SocketPeer;
use crate::sources::device_source::AppProviderReport;

/// Takes the list in the place of the one before.
pub(super) async fn report(peer: &mut SocketPeer, message: AppProviders) -> Result<(), CloseReason> {
    if !peer.token.role().may_offer_tools() {
        let text = "a token of the role client may not offer tools; pair as a device or a companion";
        return peer.send_error(error_code::FORBIDDEN, text).await;
    }
    if peer.version < 2 {
        let text = "\"app_providers\" belongs to version 2; say `\"v\":2` in connect first";
        return peer.send_error(error_code::INVALID_MESSAGE, text).await;
    }
    if let Err(excess) = check(&message) {
        return peer.send_error(error_code::LIMIT_EXCEEDED, format!("app_providers: {excess}")).await;
    }
    let seat = peer.require_session().await?;
    let report = AppProviderReport { as_of_ms: peer.app.clock.now_ms(), providers: message.providers };
    let taken = peer.while_attached(|| seat.source().set_app_providers(Arc::new(report)));
    if taken.is_none() {
        tracing::debug!(source = %seat.source().slug(), "a newer connection speaks for the apps now");
    }
    Ok(())
}

/// What is too much, in words.
fn check(message: &AppProviders) -> Result<(), String> {
    let mut bytes = 0;
    most("providers", message.providers.len(), MAX_PROVIDERS)?;
    for (at, provider) in message.providers.iter().enumerate() {
        check_one(provider, &mut bytes).map_err(|excess| format!("providers[{at}].{excess}"))?;
    }
    if bytes > MAX_BYTES {
        return Err(format!("its texts take {bytes} bytes; {MAX_BYTES} are accepted"));
    }
    Ok(())
}

fn check_one(provider: &AppProvider, bytes: &mut usize) -> Result<(), String> {
    let AppProvider { authority, package, label, prefix, dialect, reason, hint, info, tools, notes, .. } =
        provider;
    let mut text = |name: &dyn Display, text: &str| {
        *bytes += text.len();
        // Characters are counted only where there could be too many.
        if text.len() > MAX_TEXT && text.chars().nth(MAX_TEXT).is_some() {
            return Err(format!("{name} is longer than {MAX_TEXT} characters"));
        }
        Ok(())
    };
    most("tools", tools.len(), MAX_TOOLS)?;
    most("notes", notes.len(), MAX_NOTES)?;
    for (name, value) in
        [("authority", authority), ("package", package), ("label", label), ("dialect", dialect)]
    {
        text(&name, value)?;
    }
    for (name, value) in [("prefix", prefix), ("reason", reason), ("hint", hint)] {
        text(&name, value.as_deref().unwrap_or_default())?;
    }
    if let Some(info) = info {
        most("info.scopes", info.scopes.len(), MAX_SCOPES)?;
        text(&"info.name", &info.name)?;
        text(&"info.description", info.description.as_deref().unwrap_or_default())?;
        for (at, scope) in info.scopes.iter().enumerate() {
            text(&format_args!("info.scopes[{at}].name"), &scope.name)?;
            let description = scope.description.as_deref().unwrap_or_default();
            text(&format_args!("info.scopes[{at}].description"), description)?;
        }
    }
    for (at, tool) in tools.iter().enumerate() {
        text(&format_args!("tools[{at}]"), tool)?;
    }
    for (at, note) in notes.iter().enumerate() {
        text(&format_args!("notes[{at}].tool"), note.tool.as_deref().unwrap_or_default())?;
        text(&format_args!("notes[{at}].reason"), &note.reason)?;
    }
    Ok(())
}

fn most(what: &str, count: usize, limit: usize) -> Result<(), String> {
    if count > limit {
        return Err(format!("{what} has {count} entries; {limit} are accepted"));
    }
    Ok(())
}
