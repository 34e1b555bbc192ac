use super::*;

fn list(text: &str) -> Vec<String> {
    text.split_whitespace().map(str::to_owned).collect()
}

/// (set by the owner, in the challenge, granted before and missing, of the resource, of the server → asked for)
#[test]
fn scopes_are_chosen_in_the_order_of_the_specification() {
    for (set, challenged, before, resource, server, asked) in [
        ("", "a b", "", Some("c"), Some("a b c"), "a b"),
        ("", "", "", Some("c d"), None, "c d"),
        ("", "", "", None, Some("x y"), ""),
        ("", "", "", None, None, ""),
        ("own", "a", "", Some("c"), None, "own"),
        ("", "b", "a b", Some("c"), None, "a b"),
        ("own", "b", "own b", None, None, "own b"),
        ("", "", "a b", Some("c"), None, "a b"),
        ("", "", "", Some("c"), Some("c offline_access"), "c offline_access"),
        ("", "", "", Some("c offline_access"), Some("offline_access"), "c offline_access"),
        ("", "", "", None, Some("offline_access"), ""),
        ("", "", "", Some("c"), Some("c"), "c"),
    ] {
        let (set, challenged, before) = (list(set), list(challenged), list(before));
        let (resource, server) = (resource.map(list), server.map(list));
        let known = ScopeCandidates {
            configured: &set,
            challenged: &challenged,
            previous: &before,
            resource: resource.as_deref(),
            server: server.as_deref(),
        };
        assert_eq!(select(known), list(asked), "{known:?}");
    }
}

#[test]
fn joined_scopes_are_few_and_short() {
    let many: Vec<String> = (0..70).map(|at| at.to_string()).collect();
    let joined = union(&many, &list("a 69"));
    assert_eq!(
        (joined.len(), joined.first().unwrap().as_str(), joined.last().unwrap().as_str()),
        (64, "7", "a")
    );
    assert_eq!(union(&["x".repeat(257), String::new()], &list("b b")), ["b"]);
}
