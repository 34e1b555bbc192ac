use std::collections::HashMap;

use proptest::prelude::*;
use toolway_types::{ExposedName, Slug};

use super::*;

#[test]
fn a_name_that_every_provider_accepts_is_sent_unchanged() {
    for name in ["camera", "pixel-8__camera", "_x", "A", &"a".repeat(64)] {
        assert_eq!(wire_name(name), name);
        assert!(matches!(wire_name(name), Cow::Borrowed(_)), "{name} is not copied");
    }
}

#[test]
fn an_invalid_name_gets_a_stable_alias_m4() {
    // The hashes are the first twelve digits of what `printf NAME | sha256sum` prints.
    for (name, alias) in [
        ("notes.search", "notes_search_yee3c02789ad4"),
        ("take a photo", "take_a_photo_ya7767a0f537d"),
        ("2fa", "_2fa_y46897518cece"),
    ] {
        assert_eq!(wire_name(name), alias);
    }
    let long = "x".repeat(65);
    assert_eq!(wire_name(&long).len(), MAX_TOOL_NAME_BYTES);
    assert_eq!(wire_name("").len(), 1 + ALIAS_MARKER.len() + HASH_CHARS);
    assert!(wire_name("日本語").starts_with("____y"), "{}", wire_name("日本語"));
}

#[test]
fn a_tool_named_like_another_tools_alias_is_not_confused_with_it_m4() {
    let alias = wire_name("notes.search").into_owned();
    assert_ne!(wire_name(&alias), alias);
    assert_ne!(wire_name(&alias), wire_name("notes.search"));
}

proptest! {
    #[test]
    fn what_is_sent_is_taken_by_every_provider_and_shared_by_no_two(names in prop::collection::vec("\\PC{0,130}|[a-z._ -]{1,70}", 1..20)) {
        let mut seen = HashMap::new();
        for name in &names {
            let sent = wire_name(name).into_owned();
            prop_assert!(sent.parse::<ExposedName>().is_ok(), "{sent}");
            let before = seen.insert(sent, name.clone());
            prop_assert!(before.is_none_or(|before| before == *name));
        }
    }

    #[test]
    fn names_of_the_list_of_tools_are_sent_as_they_are(slug in "[a-z][a-z0-9-]{0,23}", tool in "\\PC{1,128}") {
        let slug: Slug = slug.parse().unwrap();
        let name = ExposedName::of(&slug, &tool);
        // Only one that happens to end like an alias is not.
        prop_assert!(wire_name(name.as_str()) == name.as_str() || is_alias_like(name.as_str()));
    }
}
