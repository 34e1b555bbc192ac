use super::*;

#[track_caller]
fn fits(pattern: &str, text: &str, expected: bool) {
    assert_eq!(GlobPatterns::new([pattern]).unwrap().matches(text), expected, "{pattern} on {text}");
}

#[test]
fn patterns_match_ids() {
    fits("pixel-8/*", "pixel-8/camera", true);
    fits("pixel-8/*", "pixel-8-2/camera", false);
    fits("*/read_*", "builtin/read_file", true);
    fits("*/read_*", "builtin/thread_list", false);
    fits("*", "a/b/c", true);
    fits("builtin/{read,write}_file", "builtin/write_file", true);
    fits("builtin/{read,write}_file", "builtin/list_files", false);
    fits("builtin/read_file", "builtin/read_file", true);
    fits("builtin/read_file", "builtin/read_files", false);
    fits("a/?", "a/bc", false);
}

#[test]
fn a_question_mark_matches_one_character_of_any_length() {
    fits("dev/caf?", "dev/café", true);
    fits("dev/caf??", "dev/café", false);
    fits("*/?", "dev/😀", true);
    fits("*/[à-é]*", "dev/état", true);
    fits("*/[à-é]*", "dev/übung", false);
    fits("*/[!a-z]x", "dev/éx", true);
    fits("*/[^é]x", "dev/éx", false);
    fits("*/{caf?,th[eé]}", "dev/thé", true);
    fits("*/{caf?,th[eé]}", "dev/thè", false);
    fits("*/[]é-]", "dev/é", true);
    fits("*/[a-]é", "dev/-é", true);
    fits("*/[a-]é", "dev/bé", false);
    fits("*/\\?.é?", "dev/?.éß", true);
    fits("*/\\?.é?", "dev/x.éß", false);
    fits("*/?,{{a,b},c}é", "dev/é,bé", true);
    fits("*/?,{{a,b},c}é", "dev/é", false);
    let several = GlobPatterns::new(["*", "dev/*é", "dev/caf?", "dev/caf??"]).unwrap();
    assert_eq!(several.matching_indices("dev/café"), [0, 1, 2]);
}

#[test]
fn patterns_are_case_sensitive() {
    fits("A/*", "a/b", false);
}

#[test]
fn an_empty_list_matches_nothing() {
    assert!(!GlobPatterns::new([""; 0]).unwrap().matches("a/b"));
}

#[test]
fn an_error_names_the_invalid_pattern() {
    let bad = GlobPatterns::new(["a/*", "b/[z"]).unwrap_err();
    assert_eq!(bad.pattern, "b/[z");
    assert_eq!(GlobPatterns::new([""]).unwrap_err().problem, "it is empty");
}

#[test]
fn a_long_pattern_is_refused_and_cut_in_the_message() {
    assert!(GlobPatterns::new(["a".repeat(1024)]).is_ok());
    let refused = GlobPatterns::new(["ä".repeat(100_000)]).unwrap_err();
    assert_eq!(refused.problem, "it is 200000 bytes long; at most 1024 are allowed");
    assert!(refused.to_string().len() < 400);
}
