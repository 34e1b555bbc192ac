use super::*;

#[test]
fn several_who_watch_one_resource_are_one() {
    let mut wanted = UpstreamInterest::default();
    assert_eq!(wanted.watch("a"), Some(true));
    assert_eq!(wanted.watch("a"), Some(false));
    assert_eq!(wanted.watch("b"), Some(true));
    assert_eq!(wanted.watched_resources(), ["a", "b"]);
    assert!(!wanted.unwatch("a"));
    assert!(wanted.unwatch("a"));
    assert!(!wanted.unwatch("a"), "it is gone already");
    for number in 0..MAX_WATCHED {
        wanted.watch(&format!("{number}"));
    }
    assert_eq!(wanted.watch("one too many"), None);
    assert_eq!(wanted.watch("b"), Some(false), "one more of what is watched takes no room");
}

#[test]
fn the_lowest_level_counts() {
    let mut wanted = UpstreamInterest::default();
    assert_eq!(wanted.lowest_level(), None);
    wanted.add_level(LoggingLevel::Error);
    wanted.add_level(LoggingLevel::Info);
    wanted.add_level(LoggingLevel::Info);
    assert_eq!(wanted.lowest_level(), Some(LoggingLevel::Info));
    wanted.remove_level(LoggingLevel::Info);
    assert_eq!(wanted.lowest_level(), Some(LoggingLevel::Info));
    wanted.remove_level(LoggingLevel::Info);
    wanted.remove_level(LoggingLevel::Debug);
    assert_eq!(wanted.lowest_level(), Some(LoggingLevel::Error));
}
