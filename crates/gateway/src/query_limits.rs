//! Limits of queries for lists and reports, the same for every entry point.

/// Default number of entries on a page.
const DEFAULT_PAGE_SIZE: usize = 50;
/// Maximum number of entries on a page.
const MAX_PAGE_SIZE: usize = 1000;
/// Maximum length of a text to search for, in characters.
const MAX_SEARCH: usize = 256;
/// Maximum offset from UTC, in seconds: 18 hours, more than any time zone has or had.
const MAX_UTC_OFFSET_S: i32 = 18 * 3600;

/// A query that exceeds a limit.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub(crate) enum QueryLimitExceeded {
    /// The page is empty or too long.
    #[error("limit is {0}; it must be 1 to {MAX_PAGE_SIZE}")]
    PageSize(usize),
    /// The text to search for is empty or too long.
    #[error("search has {0} characters; it must have 1 to {MAX_SEARCH}")]
    Search(usize),
    /// The offset from UTC is larger than that of any clock.
    #[error("utc_offset_s is {0}; it must be -{MAX_UTC_OFFSET_S} to {MAX_UTC_OFFSET_S}")]
    UtcOffset(i32),
}

/// Returns the number of entries on a page.
///
/// # Errors
/// [`QueryLimitExceeded::PageSize`] if it is out of range.
pub(crate) fn page_size(limit: Option<usize>) -> Result<usize, QueryLimitExceeded> {
    match limit.unwrap_or(DEFAULT_PAGE_SIZE) {
        limit @ 1..=MAX_PAGE_SIZE => Ok(limit),
        limit => Err(QueryLimitExceeded::PageSize(limit)),
    }
}

/// Checks a text to search for.
///
/// # Errors
/// [`QueryLimitExceeded::Search`] if the text is empty or too long.
pub(crate) fn check_search(text: &str) -> Result<(), QueryLimitExceeded> {
    match text.chars().count() {
        1..=MAX_SEARCH => Ok(()),
        length => Err(QueryLimitExceeded::Search(length)),
    }
}

/// Returns the offset of a clock from UTC, in seconds, by default 0.
///
/// # Errors
/// [`QueryLimitExceeded::UtcOffset`] if it is out of range.
pub(crate) fn utc_offset(seconds: Option<i32>) -> Result<i32, QueryLimitExceeded> {
    let seconds = seconds.unwrap_or_default();
    if (-MAX_UTC_OFFSET_S..=MAX_UTC_OFFSET_S).contains(&seconds) {
        Ok(seconds)
    } else {
        Err(QueryLimitExceeded::UtcOffset(seconds))
    }
}

#[cfg(test)]
mod tests;
