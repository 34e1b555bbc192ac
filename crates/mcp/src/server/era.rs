//! An upstream's result in the form of its client's era, whichever era the upstream speaks. Tools' results are written
//! elsewhere ([`super::answer`]).

use rmcp::ErrorData;
use rmcp::model::{CacheScope, ErrorCode, ResultType};

/// From 2026-07-28 on a result says of what kind it is; before that it does not.
pub(crate) fn set_result_type(kind: &mut Option<ResultType>, is_modern: bool) {
    *kind = is_modern.then_some(ResultType::COMPLETE);
}

/// Before 2026-07-28 a result does not say how long it may be kept, and for whom.
pub(crate) fn set_cache_hints(
    ttl_ms: &mut Option<u64>,
    cache_scope: &mut Option<CacheScope>,
    is_modern: bool,
) {
    if !is_modern {
        *ttl_ms = None;
        *cache_scope = None;
    }
}

/// That there is no such resource has a code of its own before 2026-07-28; since then it is a wrong parameter, whose
/// data names the URI. (For newer clients `rmcp` puts the new code in the old one's place.)
pub(crate) fn convert_resource_error(mut error: ErrorData, uri: &str, is_modern: bool) -> ErrorData {
    let names_it = || error.data.as_ref().and_then(|data| data.get("uri")?.as_str()) == Some(uri);
    if !is_modern && error.code == ErrorCode::INVALID_PARAMS && names_it() {
        error.code = ErrorCode::RESOURCE_NOT_FOUND;
    }
    error
}

#[cfg(test)]
mod tests;
