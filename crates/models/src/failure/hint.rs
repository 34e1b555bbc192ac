//! What to do about a refusal.

use reqwest::Url;

use super::kind::{Meaning, Topic};
use crate::config::ProviderConfig;
use crate::provider::ProviderKind;

pub(super) fn of(config: &ProviderConfig, meaning: &Meaning, url: Option<&Url>) -> Option<String> {
    let hint = match meaning.topic {
        Topic::Key => return Some(key(config)),
        Topic::Address => return Some(address(config, url)),
        Topic::Quota => "Look at the account's billing there, or choose a model of another provider.",
        Topic::Context => "Begin a new session, or choose a model that can read more.",
        Topic::Size => "Leave out pictures or long results, or begin a new session.",
        Topic::Model | Topic::Rate | Topic::Overload | Topic::Request => return None,
    };
    Some(hint.to_owned())
}

fn key(config: &ProviderConfig) -> String {
    let place = config.key_place.as_str();
    match (&config.key, place.is_empty()) {
        (Some(_), false) => format!(
            "The key comes from {place}. See whether it is whole, still valid, and may use this model."
        ),
        (Some(_), true) => "See whether the key is whole, still valid, and may use this model.".to_owned(),
        (None, false) => format!("No key was sent: {place} has none."),
        (None, true) => format!("No key was sent: none is set for {:?}.", &*config.name),
    }
}

fn address(config: &ProviderConfig, url: Option<&Url>) -> String {
    let habit = match config.kind {
        ProviderKind::Openai | ProviderKind::OpenaiResponses | ProviderKind::Compatible => {
            "it mostly ends in the version, such as /v1"
        }
        ProviderKind::Anthropic | ProviderKind::Gemini => "it mostly is the host alone",
    };
    let asked = url.map(|url| format!("{} was asked. ", super::without_query(url))).unwrap_or_default();
    format!("{asked}Check base_url: for the kind {} {habit}.", config.kind)
}
