//! Hints for errors of a provider.

use reqwest::Url;

use super::classification::{FailureCause, FailureClass};
use crate::config::ProviderConfig;
use crate::provider_kind::ProviderKind;

pub(super) fn hint_for(config: &ProviderConfig, meaning: &FailureClass, url: Option<&Url>) -> Option<String> {
    let hint = match meaning.cause {
        FailureCause::Key => return Some(key_hint(config)),
        FailureCause::Address => return Some(address_hint(config, url)),
        FailureCause::Quota => {
            "Check the billing of your account there, or choose a model of another provider."
        }
        FailureCause::Context => "Start a new session, or choose a model with a larger context window.",
        FailureCause::Size => "Remove images or long results, or start a new session.",
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
            "The key comes from {place}. Check that it is complete, still valid, and allowed to use this model."
        ),
        (Some(_), true) => {
            "Check that the key is complete, still valid, and allowed to use this model.".to_owned()
        }
        (None, false) => format!("No key was sent: {place} is not set."),
        (None, true) => format!("No key was sent: none is set for {:?}.", &*config.name),
    }
}

fn address_hint(config: &ProviderConfig, url: Option<&Url>) -> String {
    let habit = match config.kind {
        ProviderKind::Openai | ProviderKind::OpenaiResponses | ProviderKind::Compatible => {
            "it usually ends in the version, such as /v1"
        }
        ProviderKind::Anthropic | ProviderKind::Gemini => "it is usually the host alone",
    };
    let asked = url.map(|url| format!("{} was requested. ", super::without_query(url))).unwrap_or_default();
    format!("{asked}Check base_url: for the kind {} {habit}.", config.kind)
}
