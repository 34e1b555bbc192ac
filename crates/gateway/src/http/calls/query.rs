//! From the conditions of a request to a filter of the store.

use http::StatusCode;
use toolway_api::calls::CallConditions;
use toolway_store::{CallFilter, StatusFilter, TextFilter, ToolFilter};

use crate::access::TokenState;
use crate::http::ApiError;

/// Maximum length of a text to search for, in characters.
const MAX_SEARCH: usize = 256;

/// The store's filter for the conditions of a query or body.
pub(super) fn call_filter(conditions: CallConditions, token: &TokenState) -> Result<CallFilter, ApiError> {
    let status = conditions.status.as_deref().map(str::parse::<StatusFilter>).transpose();
    Ok(CallFilter {
        tool: conditions.tool.as_deref().map(ToolFilter::from),
        source: conditions.source,
        principal: visible_principal(token, conditions.principal)?,
        status: status.map_err(|unknown| ApiError::malformed(unknown.to_string()))?,
        since_ms: conditions.since_ms,
        until_ms: conditions.until_ms,
        session: conditions.session_id,
        agent: conditions.agent,
        approved_by: conditions.approved_by,
        text: conditions.search.map(|text| text_filter(token, text)).transpose()?,
    })
}

/// The principal whose calls the token may see: any for the owner, its own for others.
fn visible_principal(token: &TokenState, asked: Option<String>) -> Result<Option<String>, ApiError> {
    if token.role().is_owner() {
        return Ok(asked);
    }
    match asked {
        Some(other) if other != token.id() => {
            let words = "only the owner may see the calls of others";
            Err(ApiError::new(StatusCode::FORBIDDEN, "forbidden", words).with_hint("leave `principal` out"))
        }
        _ => Ok(Some(token.id().to_owned())),
    }
}

/// A search reads only the fields that the token may see.
fn text_filter(token: &TokenState, text: String) -> Result<TextFilter, ApiError> {
    let length = text.chars().count();
    if length == 0 || length > MAX_SEARCH {
        let words = format!("search has {length} characters; it must have 1 to {MAX_SEARCH}");
        return Err(ApiError::malformed(words));
    }
    Ok(TextFilter { text, ran_with: token.role().is_owner() })
}

#[cfg(test)]
mod tests {
    use toolway_api::openapi::CallStatusSchema;

    use super::*;

    #[test]
    fn every_documented_status_is_accepted() {
        for value in CallStatusSchema::values() {
            assert!(value.parse::<StatusFilter>().is_ok(), "{value}");
        }
    }
}
