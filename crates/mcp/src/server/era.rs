//! Conversion of an upstream's result to the era of the client. Results of tools are written elsewhere
//! ([`super::tool_result`]).

use rmcp::ErrorData;
use rmcp::model::{CacheScope, ErrorCode, ResultType};

/// Sets the result type for 2026-07-28 and later, and removes it before.
pub(crate) fn set_result_type(kind: &mut Option<ResultType>, is_modern: bool) {
    *kind = is_modern.then_some(ResultType::COMPLETE);
}

/// Removes cache hints for clients before 2026-07-28. Later ones always get hints: without those of the upstream, the
/// result is already stale.
pub(crate) fn set_cache_hints(
    ttl_ms: &mut Option<u64>,
    cache_scope: &mut Option<CacheScope>,
    is_modern: bool,
) {
    if is_modern {
        ttl_ms.get_or_insert(0);
        cache_scope.get_or_insert(CacheScope::Private);
    } else {
        *ttl_ms = None;
        *cache_scope = None;
    }
}

/// Converts the error for an unknown resource. Before 2026-07-28 it has a code of its own; since then it is an
/// invalid parameter with the URI as data.
pub(crate) fn convert_resource_error(mut error: ErrorData, uri: &str, is_modern: bool) -> ErrorData {
    let names_it = || error.data.as_ref().and_then(|data| data.get("uri")?.as_str()) == Some(uri);
    if !is_modern && error.code == ErrorCode::INVALID_PARAMS && names_it() {
        error.code = ErrorCode::RESOURCE_NOT_FOUND;
    }
    error
}

/// Converts the code of any other error for an unknown resource, which exists before 2026-07-28 only.
pub(crate) fn convert_error(mut error: ErrorData, is_modern: bool) -> ErrorData {
    if is_modern && error.code == ErrorCode::RESOURCE_NOT_FOUND {
        error.code = ErrorCode::INVALID_PARAMS;
    }
    error
}

#[cfg(test)]
mod tests;
