//! Input for a token: texts for people, and an agent.

use toolway_api::tokens::AssignableRole;
use toolway_types::name::is_invisible;

use super::ApiError;

/// Maximum length of a text, in characters.
pub(super) const MAX_TEXT: usize = 128;
/// Checks a short text for people.
pub(super) fn read_text(field: &str, text: String) -> Result<String, ApiError> {
    let length = text.chars().count();
    if length == 0 || length > MAX_TEXT {
        let words = format!("{field} has {length} characters; it must have 1 to {MAX_TEXT}");
        return Err(ApiError::malformed(words));
    }
    match text.chars().find(|c| is_invisible(*c)) {
        Some(c) => {
            let words = format!("{field} has a control or invisible character (U+{:04X})", u32::from(c));
            Err(ApiError::malformed(words).with_hint("remove it"))
        }
        None => Ok(text),
    }
}

/// Checks the agent of a token. A device has none.
pub(super) fn read_agent(role: AssignableRole, agent: Option<String>) -> Result<Option<String>, ApiError> {
    match agent {
        Some(_) if role == AssignableRole::Device => {
            Err(ApiError::malformed("a device calls no tools, so its token cannot have an agent")
                .with_hint("leave out `agent`, or use the role client or companion"))
        }
        Some(agent) => read_text("agent", agent).map(Some),
        None => Ok(None),
    }
}
