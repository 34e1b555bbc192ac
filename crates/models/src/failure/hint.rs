//! Hints for errors of a provider.

use reqwest::Url;

use super::classification::{FailureCause, FailureClass};
use crate::config::ProviderConfig;
use crate::provider_kind::ProviderKind;

pub(super) fn hint_for(config: &ProviderConfig, meaning: &FailureClass, url: Option<&Url>) -> Option<String> {
    let hint = match meaning.cause {
        FailureCause::Key => return Some(key_hint(config)),
        FailureCause::Address => return Some(address_hint(config, url)),
        FailureCause::Quota => "Look at the account's billing there, or choose a model of another provider.",
        FailureCause::Context => "Begin a new session, or choose a model that can read more.",
        FailureCause::Size => "Leave out pictures or long results, or begin a new session.",
        FailureCause::Model | FailureCause::Rate | FailureCause::Overload | FailureCause::Request => {
            return None;
        }
    };
    Some(hint.to_owned())
}

fn key_hint(config: &ProviderConfig) -> String {
    let place = config.key_location.as_str();
    match (&config.key, place.is_empty()) {
        (Some(_), false) => format!(
            "The key comes from {place}. See whether it is whole, still valid, and may use this model."
        ),
        (Some(_), true) => "See whether the key is whole, still valid, and may use this model.".to_owned(),
        (None, false) => format!("No key was sent: {place} has none."),
        (None, true) => format!("No key was sent: none is set for {:?}.", &*config.name),
    }
}

fn address_hint(config: &ProviderConfig, url: Option<&Url>) -> String {
    let habit = match config.kind {
        ProviderKind::Openai | ProviderKind::OpenaiResponses | ProviderKind::Compatible => {
            "it mostly ends in the version, such as /v1"
        }
        ProviderKind::Anthropic | ProviderKind::Gemini => "it mostly is the host alone",
    };
    let asked = url.map(|url| format!("{} was asked. ", super::without_query(url))).unwrap_or_default();
    format!("{asked}Check base_url: for the kind {} {habit}.", config.kind)
}
