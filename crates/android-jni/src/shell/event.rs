//! One thing that the app is told. The Java side reads it in `dev.toolway.host.ToolwayBridge.tell`.

use toolway_android::authorization::AuthorizationRequest;
use toolway_android::bridge::Overview;
use toolway_android::provider::{Provider, State};
use toolway_device::Status;

use crate::codec::{Malformed, Writer};

/// What it is told.
#[derive(Debug)]
pub(crate) enum Event {
    /// Ask the user whether an app's screen may be opened.
    Ask { question: i64, request: AuthorizationRequest },
    /// An app's screen is open: say when the user is back.
    Opened { question: i64, request: AuthorizationRequest },
    /// Nobody waits for the answer any more.
    Withdrawn { question: i64 },
    /// An app shows no tools before it is allowed.
    Offer { request: AuthorizationRequest },
    /// What the connection to the gateway is doing.
    Status(Status),
    /// What was found.
    Overview(Overview),
    /// Names were given: keep them.
    Names(String),
}

impl Event {
    /// As Java reads it.
    pub(super) fn to_bytes(&self) -> Result<Vec<u8>, Malformed> {
        let mut to = Writer::default();
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
                overview.providers.iter().try_for_each(|provider| write_provider(&mut to, provider))?;
            }
            Self::Names(names) => {
                to.byte(6);
                to.text(names)?;
            }
        }
        Ok(to.into_bytes())
    }
}

fn write_request(to: &mut Writer, request: &AuthorizationRequest) -> Result<(), Malformed> {
    let AuthorizationRequest { package, label, authority, tool, message, hint, action } = request;
    to.text(package)?;
    to.text(label)?;
    to.text(authority)?;
    to.text_or_none(tool.as_deref())?;
    to.text(message)?;
    to.text_or_none(hint.as_deref())?;
    to.text_or_none(action.as_deref())
}

fn write_status(to: &mut Writer, status: &Status) -> Result<(), Malformed> {
    match status {
        Status::Connecting => to.byte(0),
        Status::Connected(connection) => {
            to.byte(1);
            to.text_or_none(connection.source.as_deref())?;
            let live = connection.tools.as_ref().map(|tools| tools.live);
            to.int(live.and_then(|live| i32::try_from(live).ok()).unwrap_or(-1));
        }
        Status::Reconnecting { why, delay } => {
            to.byte(2);
            to.text(why)?;
            to.long(i64::try_from(delay.as_millis()).unwrap_or(i64::MAX));
        }
        Status::Stopped(Ok(())) => {
            to.byte(3);
            to.text_or_none(None)?;
            to.text_or_none(None)?;
        }
        Status::Stopped(Err(stopped)) => {
            to.byte(3);
            to.text_or_none(Some(&stopped.to_string()))?;
            to.text_or_none(Some(stopped.hint()))?;
        }
    }
    Ok(())
}

fn write_provider(to: &mut Writer, provider: &Provider) -> Result<(), Malformed> {
    to.text(&provider.package)?;
    to.text(provider.title())?;
    to.text(&provider.authority)?;
    to.text(provider.dialect.as_str())?;
    to.text_or_none(provider.prefix.as_deref())?;
    let (state, reason, hint) = match &provider.state {
        State::Ready => (0, None, None),
        State::AuthorizationRequired { message, hint, .. } => (1, Some(message), hint.as_ref()),
        State::Unavailable { reason } => (2, Some(reason), None),
        State::Refused { reason, hint, .. } => (3, Some(reason), hint.as_ref()),
    };
    to.byte(state);
    to.text_or_none(reason.map(String::as_str))?;
    to.text_or_none(hint.map(String::as_str))?;
    let tools: Vec<String> = provider.tools.iter().filter_map(|tool| provider.exposed(&tool.name)).collect();
    to.texts(&tools)?;
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
