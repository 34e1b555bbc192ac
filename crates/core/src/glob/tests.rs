use super::*;

#[track_caller]
fn fits(pattern: &str, text: &str, expected: bool) {
    assert_eq!(Globs::new([pattern]).unwrap().matches(text), expected, "{pattern} on {text}");
}

#[test]
fn stands_for_ids() {
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
fn capitals_count() {
    fits("A/*", "a/b", false);
}

#[test]
fn none_fits_nothing() {
    assert!(!Globs::new([""; 0]).unwrap().matches("a/b"));
}

#[test]
fn says_which_pattern_is_wrong() {
    let bad = Globs::new(["a/*", "b/[z"]).unwrap_err();
    assert_eq!(bad.pattern, "b/[z");
    assert_eq!(Globs::new([""]).unwrap_err().problem, "it is empty");
}
