use super::*;

fn slug(text: &str) -> Slug {
    text.parse().unwrap()
}

#[test]
fn m5_names_of_two_servers_never_meet_and_lead_back() {
    for name in ["a", "a__b", "__", "", "x+y"] {
        let full = prompt(&slug("one-2"), name);
        assert_eq!(of_prompt(&full), Some((slug("one-2"), name)), "{full}");
    }
    for own in ["file:///x+y", "test://a__b/{id}", "x"] {
        let full = uri(&slug("two-1"), own);
        assert_eq!(of_uri(&full), Some((slug("two-1"), own)), "{full}");
    }
    assert_ne!(prompt(&slug("a"), "b"), prompt(&slug("a-b"), "b"));
    assert_eq!(of_prompt("plain"), None);
    assert_eq!(of_uri("file:///x"), None);
}
