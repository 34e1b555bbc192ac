use super::*;

#[test]
fn names_of_tools_become_patterns_and_back() {
    for (name, pattern) in [
        ("pixel-8__camera", "pixel-8/camera"),
        ("read_file", "*/read_file"),
        ("__odd", "*/__odd"),
        ("pixel__", "*/pixel__"),
        ("Pixel__camera", "*/Pixel__camera"),
    ] {
        assert_eq!(tool_pattern(name), pattern);
        assert_eq!(tool_name(pattern), name);
    }
    // A pattern that stands for several tools stays.
    assert_eq!(tool_name("pixel-8/*"), "pixel-8/*");
    assert_eq!(tool_pattern("pixel-8/*"), "pixel-8/*");
    assert_eq!(tool_name("builtin/read_file"), "read_file");
}

#[test]
fn an_empty_list_means_all_tools() {
    let names = |names: &[&str]| names.iter().map(|name| (*name).to_owned()).collect::<Vec<_>>();
    assert_eq!(tool_patterns(&[], &[]), ["*/*"]);
    assert_eq!(tool_patterns(&[], &names(&["a__b"])), ["*/*", "!a/b"]);
    assert_eq!(tool_patterns(&names(&["x"]), &names(&["a__b"])), ["*/x", "!a/b"]);
}
