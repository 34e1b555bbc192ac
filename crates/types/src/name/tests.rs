use super::*;
use proptest::prelude::*;

fn slug(text: &str) -> Slug {
    text.parse().unwrap()
}

#[track_caller]
fn exposed(source: &str, tool: &str, expected: &str) {
    assert_eq!(ExposedName::of(&slug(source), tool).as_str(), expected);
}

#[test]
fn plain_names_are_joined() {
    exposed("pixel-8", "device_info", "pixel-8__device_info");
    exposed("builtin", "read_file", "read_file");
    exposed("laptop", "a__b", "laptop__a__b");
}

#[test]
fn a_changed_name_ends_in_a_hash_of_the_original() {
    // First six bytes of sha256("a.b") and sha256("a b"), computed with sha256sum.
    exposed("laptop", "a.b", "laptop__a_b_x2e7336dc8eba");
    exposed("laptop", "a b", "laptop__a_b_xc8687a08aa5d");
}

#[test]
fn the_name_of_a_built_in_tool_never_looks_like_a_source_name() {
    for tool in ["a__b", "a___b", "__", "_____"] {
        let exposed = ExposedName::of(&Slug::builtin(), tool);
        assert!(!exposed.as_str().contains("__"), "{tool:?} became {exposed}");
    }
}

#[test]
fn a_name_that_looks_hashed_is_hashed_again() {
    let first = ExposedName::of(&slug("laptop"), "a.b");
    let forged = first.as_str().strip_prefix("laptop__").unwrap();
    assert_ne!(ExposedName::of(&slug("laptop"), forged), first);
}

#[test]
fn a_slug_is_derived_from_a_label() {
    for (label, expected) in [
        ("Pixel 8 Pro", "pixel-8-pro"),
        ("Ανδρέας", "device"),
        ("42", "device"),
        ("9 lives", "lives"),
        ("  --My__phone!! ", "my-phone"),
        ("builtin", "builtin"),
        ("a-very-long-name-that-does-not-fit", "a-very-long-name-that-do"),
    ] {
        assert_eq!(Slug::from_label(label).as_str(), expected, "{label:?}");
    }
    assert_eq!(slug("pixel").with_number(2).as_str(), "pixel-2");
    assert_eq!(slug("a-very-long-name-that-do").with_number(10).as_str(), "a-very-long-name-that-10");
}

#[test]
fn invalid_tool_names_are_rejected_with_a_reason_r7() {
    assert_eq!("".parse::<ToolName>(), Err(NameError::Empty));
    assert_eq!("x".repeat(129).parse::<ToolName>(), Err(NameError::TooLong(129)));
    assert_eq!("a\u{200B}b".parse::<ToolName>(), Err(NameError::InvisibleCharacter(0x200B)));
    assert_eq!("a\nb".parse::<ToolName>(), Err(NameError::InvisibleCharacter(0x0A)));
    assert!("x".repeat(128).parse::<ToolName>().is_ok());
    assert!("häuser ✓".parse::<ToolName>().is_ok());
}

proptest! {
    #[test]
    fn exposed_names_are_valid_and_injective(
        a in ("[a-z][a-z0-9-]{0,23}", "[ -~é]{1,80}"),
        b in ("[a-z][a-z0-9-]{0,23}", "[ -~é]{1,80}"),
    ) {
        let one = ExposedName::of(&slug(&a.0), &a.1);
        let two = ExposedName::of(&slug(&b.0), &b.1);
        prop_assert!(one.as_str().parse::<ExposedName>().is_ok(), "{one}");
        prop_assert_eq!(one == two, a == b);
    }

    /// Pairs constructed to collide: both tools have the same source, and the second is named like the first
    /// tool's exposed name.
    #[test]
    fn forged_names_never_collide(source in "[a-z][a-z0-9-]{0,23}", tool in "[ -~]{1,80}") {
        let source = slug(&source);
        let honest = ExposedName::of(&source, &tool);
        let prefix = if source.is_builtin() { String::new() } else { format!("{source}__") };
        let forged = honest.as_str().strip_prefix(prefix.as_str()).unwrap();
        prop_assume!(forged != tool);
        prop_assert_ne!(ExposedName::of(&source, forged), honest);
    }

    #[test]
    fn every_label_gives_a_valid_slug(label in ".{0,60}", number in 2u32..9999) {
        let made = Slug::from_label(&label);
        prop_assert!(made.as_str().parse::<Slug>().is_ok());
        prop_assert!(made.with_number(number).as_str().parse::<Slug>().is_ok());
    }
}
