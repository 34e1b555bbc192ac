use super::*;

fn id(text: &str) -> ToolId {
    text.parse().unwrap()
}

#[test]
fn a_mark_stays_until_it_is_removed() {
    let changed = ChangedTools::default();
    assert!(!changed.contains(&id("phone/a")));
    changed.set(&id("phone/a"), false);
    changed.set(&id("phone/a"), true);
    assert!(changed.contains(&id("phone/a")));
    assert!(!changed.contains(&id("phone/b")) && !changed.contains(&id("desk/a")));
    changed.set(&id("phone/a"), false);
    assert!(!changed.contains(&id("phone/a")));
    assert!(changed.sources.read().is_empty());
}

#[test]
fn marks_are_bounded_and_then_all_tools_of_the_source_count_as_changed() {
    let changed = ChangedTools::default();
    for number in 0..=MAX_PER_SOURCE {
        changed.set(&id(&format!("phone/t{number}")), true);
    }
    assert!(matches!(changed.sources.read().get("phone"), Some(SourceChanges::All)));
    changed.set(&id("phone/t1"), false);
    assert!(changed.contains(&id("phone/t1")) && changed.contains(&id("phone/never_seen")));
    assert!(!changed.contains(&id("desk/t1")));
}
