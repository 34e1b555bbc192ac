use super::*;

#[test]
fn several_who_watch_one_resource_are_one() {
    let mut wanted = Wanted::default();
    assert_eq!(wanted.watch("a"), Some(true));
    assert_eq!(wanted.watch("a"), Some(false));
    assert_eq!(wanted.watch("b"), Some(true));
    assert_eq!(wanted.watched(), ["a", "b"]);
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
    let mut wanted = Wanted::default();
    assert_eq!(wanted.level(), None);
    wanted.log_from(LoggingLevel::Error);
    wanted.log_from(LoggingLevel::Info);
    wanted.log_from(LoggingLevel::Info);
    assert_eq!(wanted.level(), Some(LoggingLevel::Info));
    wanted.unlog(LoggingLevel::Info);
    assert_eq!(wanted.level(), Some(LoggingLevel::Info));
    wanted.unlog(LoggingLevel::Info);
    wanted.unlog(LoggingLevel::Debug);
    assert_eq!(wanted.level(), Some(LoggingLevel::Error));
}
