//! What bounds leave of a list. The cases are written by hand from what `--read-only` and `--only` say they do.

use toolway_types::{RawJson, SpecDocument};

use super::*;

fn tool(annotations: Option<&str>) -> ToolSpec {
    let annotations = annotations.map(|text| RawJson::parse(text).unwrap());
    ToolSpec::compile(SpecDocument { annotations, ..SpecDocument::named("scan") }).unwrap()
}

fn id(text: &str) -> ToolId {
    text.parse().unwrap()
}

#[track_caller]
fn bounds(read_only: bool, only: &[&str]) -> ToolRestrictions {
    ToolRestrictions::parse(read_only, only).unwrap()
}

#[test]
fn without_bounds_everything_is_left() {
    for bounds in [ToolRestrictions::default(), bounds(false, &[])] {
        assert!(bounds.is_unrestricted());
        assert!(bounds.matches(&id("phone/scan"), &tool(None), false));
        assert!(bounds.matches_name("anything/at all"));
    }
}

/// Invariant "what a tool says is data": a read-only annotation counts only if the source is trusted. Without one, a tool counts as writing.
#[test]
fn reading_is_believed_only_of_a_trusted_source() {
    let bounds = bounds(true, &[]);
    assert!(!bounds.is_unrestricted());
    for (annotations, trusted, is_left) in [
        (Some(r#"{"readOnlyHint":true}"#), true, true),
        (Some(r#"{"readOnlyHint":true}"#), false, false),
        (Some(r#"{"readOnlyHint":false}"#), true, false),
        (Some(r#"{"destructiveHint":false}"#), true, false),
        (None, true, false),
    ] {
        let said = (annotations, trusted);
        assert_eq!(bounds.matches(&id("phone/scan"), &tool(annotations), trusted), is_left, "{said:?}");
    }
    assert!(bounds.matches_name("notes/summary"), "prompts and resources only read");
    assert!(
        !bounds.matches_disconnected("notes/summary"),
        "a tool that is away may do anything when it is back"
    );
}

#[test]
fn patterns_match_ids_and_one_is_enough() {
    let bounds = bounds(false, &["phone/*", "*/read_?", "pc/{ls,cat}"]);
    for (tool_id, is_left) in [
        ("phone/scan", true),
        ("tv/read_a", true),
        ("tv/read_", false),
        ("pc/ls", true),
        ("pc/rm", false),
        ("phones/scan", false),
    ] {
        assert_eq!(bounds.matches(&id(tool_id), &tool(None), false), is_left, "{tool_id}");
        assert_eq!(bounds.matches_name(tool_id), is_left, "{tool_id}");
    }
}

#[test]
fn both_bounds_must_leave_a_tool() {
    let bounds = bounds(true, &["phone/*"]);
    let reads = tool(Some(r#"{"readOnlyHint":true}"#));
    assert!(bounds.matches(&id("phone/scan"), &reads, true));
    assert!(!bounds.matches(&id("tv/scan"), &reads, true));
    assert!(!bounds.matches(&id("phone/scan"), &tool(None), true));
}

#[test]
fn what_is_no_pattern_is_refused_and_named() {
    let bad = |only: &[&str]| ToolRestrictions::parse(false, only).unwrap_err();
    assert!(bad(&["phone/*", "a[b"]).to_string().contains("\"a[b\""));
    assert!(matches!(bad(&[""]), ToolRestrictionsError::Pattern(_)));
    assert_eq!(bad(&["a"; MAX_PATTERNS + 1]), ToolRestrictionsError::TooMany(MAX_PATTERNS + 1));
    assert_eq!(bad(&[&"a".repeat(MAX_PATTERN + 1)]), ToolRestrictionsError::TooLong(MAX_PATTERN + 1));
    assert!(ToolRestrictions::parse(false, &["a"; MAX_PATTERNS]).is_ok());
}
