use super::*;

fn tools() -> TextTable {
    let mut table = TextTable::new(vec![
        TableColumn::fixed("name"),
        TableColumn::number("calls"),
        TableColumn::truncatable("description", 8),
    ]);
    table.add_row(vec!["laptop__disk_usage".into(), "12".into(), "Free and used space of each disk".into()]);
    table.add_row(vec!["pc__x".into(), "3".into(), "日本語の説明です".into()]);
    table
}

#[test]
fn nothing_is_truncated_without_a_terminal() {
    assert_eq!(
        tools().render(None, false),
        "name                calls  description\n\
         laptop__disk_usage     12  Free and used space of each disk\n\
         pc__x                   3  日本語の説明です\n"
    );
}

#[test]
fn fits_every_width() {
    for width in 1..90 {
        let text = tools().render(Some(width), false);
        let blocks = text.starts_with("name: ");
        for line in text.lines() {
            assert!(blocks || line.width() <= width, "{width}: {line:?}");
        }
        assert_eq!(blocks, width < 18 + 2 + 5 + 2 + 11, "at {width}");
    }
}

#[test]
fn wide_characters_are_not_split() {
    let text = tools().render(Some(40), false);
    let cut: Vec<_> = text.lines().map(|line| line.get(27..).unwrap_or_default()).collect();
    assert_eq!(cut, ["description", "Free and use…", "日本語の説明…"]);
}

#[test]
fn narrow_terminals_get_blocks() {
    assert_eq!(
        tools().render(Some(20), false),
        "name: laptop__disk_usage\ncalls: 12\ndescription: Free and used space of each disk\n\n\
         name: pc__x\ncalls: 3\ndescription: 日本語の説明です\n"
    );
}

#[test]
fn optional_columns_are_dropped_before_rows_become_blocks() {
    let mut table = TextTable::new(vec![
        TableColumn::fixed("a"),
        TableColumn::fixed("bb").optional(),
        TableColumn::fixed("ccc").optional(),
        TableColumn::fixed("d"),
    ]);
    table.add_row(vec!["1".into(), "22".into(), "333".into(), "4".into()]);
    assert_eq!(table.render(Some(13), false), "a  bb  ccc  d\n1  22  333  4\n");
    assert_eq!(table.render(Some(12), false), "a  bb  d\n1  22  4\n");
    assert_eq!(table.render(Some(7), false), "a  d\n1  4\n");
    assert_eq!(table.render(Some(3), false), "a: 1\nd: 4\n");
}

#[test]
fn cells_are_escaped() {
    let mut table = TextTable::new(vec![TableColumn::fixed("a"), TableColumn::fixed("b")]);
    table.add_row(vec!["one\ntwo\u{1b}[0m".into(), "x".into()]);
    assert_eq!(table.render(None, false), "a                  b\none\\ntwo\\u{1b}[0m  x\n");
}

#[test]
fn colours_do_not_move_columns() {
    let mut table = TextTable::new(vec![TableColumn::fixed("state"), TableColumn::fixed("b")]);
    table.add_row(vec![TableCell::styled("ok", Style::Good), "x".into()]);
    let painted = table.render(Some(80), true);
    assert!(painted.contains("\u{1b}[32mok\u{1b}[0m     x"), "{painted:?}");
}

#[test]
fn labels_and_values_are_aligned() {
    let mut pairs = LabeledValues::default();
    pairs.add("id", "laptop/disk");
    pairs.add("description", "two\nlines");
    pairs.add_optional("title", None::<String>);
    assert_eq!(pairs.render(false), "id           laptop/disk\ndescription  two\n             lines\n");
}
