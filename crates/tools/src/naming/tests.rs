use super::*;

#[test]
fn snake_case_is_accepted() {
    for name in ["a", "a1", "read_file", "get_current_time", "http_request", "v2_1_0", "x_9"] {
        assert_eq!(check_own_name(name), Ok(()), "{name}");
    }
    assert_eq!(check_own_name(&"a".repeat(64)), Ok(()));
}

#[test]
fn anything_else_is_refused() {
    let names = [
        "Read",
        "readFile",
        "read-file",
        "read file",
        "_read",
        "read_",
        "read__file",
        "1read",
        "ré",
        "a.b",
        "own/a",
        "a\n",
        "read_File",
        "\u{212A}elvin",
    ];
    for name in names {
        assert_eq!(check_own_name(name), Err(BadOwnName::NotSnakeCase(name.to_owned())), "{name}");
    }
    assert_eq!(check_own_name(""), Err(BadOwnName::Empty));
    let long = check_own_name(&"a".repeat(65)).unwrap_err();
    assert!(matches!(&long, BadOwnName::TooLong { length: 65, .. }), "{long:?}");
}

#[test]
fn a_name_is_used_once() {
    assert_eq!(check_own_names(["a", "b"]), Ok(()));
    assert_eq!(check_own_names(["a", "b", "a"]), Err(BadOwnName::Twice("a".to_owned())));
    assert_eq!(check_own_names(["a", "B"]), Err(BadOwnName::NotSnakeCase("B".to_owned())));
}
