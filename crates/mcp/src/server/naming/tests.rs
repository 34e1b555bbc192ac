use super::*;

fn slug(text: &str) -> Slug {
    text.parse().unwrap()
}

#[test]
fn tool_names_of_two_servers_never_collide_and_are_reversible_m5() {
    for name in ["a", "a__b", "__", "", "x+y"] {
        let full = qualify_prompt(&slug("one-2"), name);
        assert_eq!(split_prompt(&full), Some((slug("one-2"), name)), "{full}");
    }
    for own in ["file:///x+y", "test://a__b/{id}", "x"] {
        let full = qualify_uri(&slug("two-1"), own);
        assert_eq!(split_uri(&full), Some((slug("two-1"), own)), "{full}");
    }
    assert_ne!(qualify_prompt(&slug("a"), "b"), qualify_prompt(&slug("a-b"), "b"));
    assert_eq!(split_prompt("plain"), None);
    assert_eq!(split_uri("file:///x"), None);
}
