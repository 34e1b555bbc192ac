//! An event for the app. The Java side reads it in `dev.toolway.host.ToolwayBridge.tell`.

use toolway_android::authorization::AuthorizationRequest;
use toolway_android::bridge::BridgeOverview;
use toolway_android::cetp::ProviderInfo;
use toolway_android::provider::{ProviderState, ToolProvider};
use toolway_device::{ConnectionStatus, SpecDocument};

use crate::codec::{CodecError, CodecWriter};

/// Maximum length of a tool's description for the app, in characters.
const TOOL_DESCRIPTION: usize = 1_000;
/// Maximum size of the descriptions of all tools in one event, in bytes. Further ones are omitted.
const ALL_DESCRIPTIONS: usize = 1 << 20;

/// An event for the app.
#[derive(Debug)]
pub(crate) enum AppEvent {
    /// Ask the user for permission to open an app's screen.
    Ask { question: i64, request: AuthorizationRequest },
    /// An app's screen is open; report when the user returns.
    Opened { question: i64, request: AuthorizationRequest },
    /// The question is no longer pending.
    Withdrawn { question: i64 },
    /// An app requires authorization before it lists tools.
    Offer { request: AuthorizationRequest },
    /// State of the connection to the gateway.
    Status(ConnectionStatus),
    /// The providers that were found.
    Overview(BridgeOverview),
    /// New names of providers, to be stored.
    Names(String),
}

impl AppEvent {
    /// Encodes the event for Java.
    pub(super) fn to_bytes(&self) -> Result<Vec<u8>, CodecError> {
        let mut to = CodecWriter::default();
        match self {
            Self::Ask { question, request } => {
                to.byte(0);
                to.long(*question);
                write_request(&mut to, request)?;
            }
            Self::Opened { question, request } => {
                to.byte(1);
                to.long(*question);
                write_request(&mut to, request)?;
            }
            Self::Withdrawn { question } => {
                to.byte(2);
                to.long(*question);
            }
            Self::Offer { request } => {
                to.byte(3);
                write_request(&mut to, request)?;
            }
            Self::Status(status) => {
                to.byte(4);
                write_status(&mut to, status)?;
            }
            Self::Overview(overview) => {
                to.byte(5);
                to.text_or_none(overview.fault.as_ref().map(ToString::to_string).as_deref())?;
                to.length(overview.providers.len())?;
                let mut space = ALL_DESCRIPTIONS;
                overview
                    .providers
                    .iter()
                    .try_for_each(|provider| write_provider(&mut to, provider, &mut space))?;
            }
            Self::Names(names) => {
                to.byte(6);
                to.text(names)?;
            }
        }
        Ok(to.into_bytes())
    }
}

fn write_request(to: &mut CodecWriter, request: &AuthorizationRequest) -> Result<(), CodecError> {
    let AuthorizationRequest { package, label, authority, tool, message, hint, action } = request;
    to.text(package)?;
    to.text(label)?;
    to.text(authority)?;
    to.text_or_none(tool.as_deref())?;
    to.text(message)?;
    to.text_or_none(hint.as_deref())?;
    to.text_or_none(action.as_deref())
}

fn write_status(to: &mut CodecWriter, status: &ConnectionStatus) -> Result<(), CodecError> {
    match status {
        ConnectionStatus::Connecting => to.byte(0),
        ConnectionStatus::Connected(connection) => {
            to.byte(1);
            to.text_or_none(connection.source.as_deref())?;
            let live = connection.tools.as_ref().map(|tools| tools.live);
            to.int(live.and_then(|live| i32::try_from(live).ok()).unwrap_or(-1));
        }
        ConnectionStatus::Reconnecting { why, delay } => {
            to.byte(2);
            to.text(why)?;
            to.long(i64::try_from(delay.as_millis()).unwrap_or(i64::MAX));
        }
        ConnectionStatus::Stopped(Ok(())) => {
            to.byte(3);
            to.text_or_none(None)?;
            to.text_or_none(None)?;
        }
        ConnectionStatus::Stopped(Err(stopped)) => {
            to.byte(3);
            to.text_or_none(Some(&stopped.to_string()))?;
            to.text_or_none(Some(stopped.hint()))?;
        }
    }
    Ok(())
}

/// Writes a provider. `space` is the number of bytes that are left for descriptions of tools.
fn write_provider(
    to: &mut CodecWriter,
    provider: &ToolProvider,
    space: &mut usize,
) -> Result<(), CodecError> {
    to.text(&provider.package)?;
    to.text(provider.title())?;
    to.text(&provider.authority)?;
    to.text(provider.dialect.as_str())?;
    to.text_or_none(provider.prefix.as_deref())?;
    let (state, reason, hint) = match &provider.state {
        ProviderState::Ready => (0, None, None),
        ProviderState::AuthorizationRequired { message, hint, .. } => (1, Some(message), hint.as_ref()),
        ProviderState::Unavailable { reason } => (2, Some(reason), None),
        ProviderState::Refused { reason, hint, .. } => (3, Some(reason), hint.as_ref()),
    };
    to.byte(state);
    to.text_or_none(reason.map(String::as_str))?;
    to.text_or_none(hint.map(String::as_str))?;
    to.int(provider.version.and_then(|version| i32::try_from(version).ok()).unwrap_or(-1));
    to.text_or_none(provider.permission.as_deref())?;
    write_info(to, provider.info.as_ref())?;
    let tools: Vec<(String, &SpecDocument)> =
        provider.tools.iter().filter_map(|tool| Some((provider.exposed_name(&tool.name)?, tool))).collect();
    to.length(tools.len())?;
    for (name, tool) in tools {
        let description = tool.description.as_deref().map(|text| cut(text, TOOL_DESCRIPTION));
        let description = description.filter(|text| text.len() <= *space);
        *space -= description.map_or(0, str::len);
        to.text(&name)?;
        to.text(&tool.name)?;
        to.text_or_none(description)?;
    }
    let notes: Vec<String> = provider
        .notes
        .to_vec()
        .into_iter()
        .map(|note| match note.tool {
            Some(tool) => format!("{tool}: {}", note.reason),
            None => note.reason,
        })
        .collect();
    to.texts(&notes)
}

fn write_info(to: &mut CodecWriter, info: Option<&ProviderInfo>) -> Result<(), CodecError> {
    to.byte(u8::from(info.is_some()));
    let Some(info) = info else { return Ok(()) };
    to.text_or_none(info.name.as_deref())?;
    to.text_or_none(info.description.as_deref())?;
    to.length(info.scopes.len())?;
    for scope in &info.scopes {
        to.text(&scope.name)?;
        to.text_or_none(scope.description.as_deref())?;
    }
    Ok(())
}

/// Returns the first characters of a text.
fn cut(text: &str, most: usize) -> &str {
    text.char_indices().nth(most).and_then(|(end, _)| text.get(..end)).unwrap_or(text)
}

#[cfg(test)]
mod tests;
