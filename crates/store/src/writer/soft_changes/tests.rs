use super::*;

fn seen(seen_ms: i64, tools: Option<&[&str]>) -> SourceChange {
    let tools = tools.map(|names| names.iter().map(|name| (*name).to_owned()).collect());
    SourceChange { seen_ms, tools }
}

#[test]
fn the_newest_change_wins_in_any_order() {
    let slug = Slug::from_label("phone");
    let id: Arc<str> = "t".into();
    let mut soft = SoftChanges::default();
    soft.touch_token(&id, 5);
    soft.touch_token(&id, 3);
    soft.change_source(&slug, seen(10, Some(&["a"])));
    soft.change_source(&slug, seen(20, None));
    assert_eq!(soft.tokens[&id], 5);
    assert_eq!(soft.sources[&slug], seen(20, Some(&["a"])));
}

#[test]
fn newer_changes_win_over_returned_ones() {
    let (phone, desk) = (Slug::from_label("phone"), Slug::from_label("desk"));
    let mut older = SoftChanges::default();
    older.touch_token(&"t".into(), 5);
    older.change_source(&phone, seen(10, Some(&["old"])));
    older.change_source(&desk, seen(11, Some(&["desk"])));
    let mut newer = SoftChanges::default();
    newer.touch_token(&"t".into(), 6);
    newer.change_source(&phone, seen(12, Some(&["new"])));
    newer.change_source(&desk, seen(13, None));
    newer.merge_older(older);
    assert_eq!(newer.tokens["t"], 6);
    assert_eq!(newer.sources[&phone], seen(12, Some(&["new"])));
    assert_eq!(newer.sources[&desk], seen(13, Some(&["desk"])));
}

#[test]
fn only_the_newest_draft_of_a_turn_counts() {
    let draft = |text: &str| ResponseDraft { seq: 2, text: text.to_owned() };
    let mut older = SoftChanges::default();
    assert!(!older.has_drafts());
    older.draft(&"a".into(), draft("On"));
    older.draft(&"b".into(), draft("Yes"));
    let mut newer = SoftChanges::default();
    newer.draft(&"a".into(), draft("Once"));
    newer.draft(&"a".into(), draft("Once upon"));
    newer.merge_older(older);
    assert_eq!((&newer.drafts["a"], &newer.drafts["b"]), (&draft("Once upon"), &draft("Yes")));
    assert!(newer.has_drafts() && !newer.is_empty());
}
