//! Converts the conditions of a request to a filter of the store.

use toolway_api::calls::CallConditions;
use toolway_store::{CallFilter, StatusFilter, TextFilter, ToolFilter};

use crate::access::{RecordAccess, TokenState};
use crate::http::ApiError;
use crate::query_limits::check_search;

/// Creates the store's filter for the conditions of a query or body.
pub(super) fn call_filter(conditions: CallConditions, token: &TokenState) -> Result<CallFilter, ApiError> {
    let access = RecordAccess::of(&token.principal);
    if let Some(text) = &conditions.search {
        check_search(text)?;
    }
    let status = conditions.status.as_deref().map(str::parse::<StatusFilter>).transpose();
    Ok(CallFilter {
        tool: conditions.tool.as_deref().map(ToolFilter::from),
        source: conditions.source,
        principal: access.caller_filter(conditions.principal)?,
        status: status.map_err(|unknown| ApiError::malformed(unknown.to_string()))?,
        since_ms: conditions.since_ms,
        until_ms: conditions.until_ms,
        session: conditions.session_id,
        agent: conditions.agent,
        approved_by: conditions.approved_by,
        // A search reads only the fields that the token may see.
        text: conditions.search.map(|text| TextFilter { text, ran_with: access.sees_owner_fields() }),
    })
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
