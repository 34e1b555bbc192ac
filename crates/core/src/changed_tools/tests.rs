use super::*;

fn id(text: &str) -> ToolId {
    text.parse().unwrap()
}

#[test]
fn a_mark_holds_until_it_is_taken_away() {
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
fn a_source_with_ever_new_names_takes_no_more_memory_and_gains_no_trust() {
    let changed = ChangedTools::default();
    for number in 0..=MAX_PER_SOURCE {
        changed.set(&id(&format!("phone/t{number}")), true);
    }
    assert!(matches!(changed.sources.read().get("phone"), Some(SourceChanges::All)));
    changed.set(&id("phone/t1"), false);
    assert!(changed.contains(&id("phone/t1")) && changed.contains(&id("phone/never_seen")));
    assert!(!changed.contains(&id("desk/t1")));
}
