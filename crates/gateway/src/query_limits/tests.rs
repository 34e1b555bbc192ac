use super::*;

#[test]
fn a_page_has_1_to_1000_entries_and_50_by_default() {
    assert_eq!(page_size(None), Ok(50));
    assert_eq!(page_size(Some(1)), Ok(1));
    assert_eq!(page_size(Some(1000)), Ok(1000));
    assert_eq!(page_size(Some(0)), Err(QueryLimitExceeded::PageSize(0)));
    let refused = page_size(Some(1001)).unwrap_err();
    assert_eq!(refused.to_string(), "limit is 1001; it must be 1 to 1000");
}

#[test]
fn a_search_has_1_to_256_characters() {
    assert_eq!(check_search("ü"), Ok(()));
    assert_eq!(check_search(&"ü".repeat(256)), Ok(()));
    assert_eq!(check_search(""), Err(QueryLimitExceeded::Search(0)));
    assert_eq!(check_search(&"x".repeat(257)), Err(QueryLimitExceeded::Search(257)));
}

#[test]
fn an_offset_from_utc_is_at_most_18_hours() {
    assert_eq!(utc_offset(None), Ok(0));
    assert_eq!(utc_offset(Some(-64800)), Ok(-64800));
    assert_eq!(utc_offset(Some(64801)), Err(QueryLimitExceeded::UtcOffset(64801)));
}
