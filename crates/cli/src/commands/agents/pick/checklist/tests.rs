use super::*;

fn item(name: &str, does: &str, needs: &str, ticked: bool) -> ChecklistItem {
    ChecklistItem {
        name: name.to_owned(),
        description: does.to_owned(),
        permissions: needs.to_owned(),
        is_selected: ticked,
    }
}

/// The example of the feature's own description, with one tool that needs a permission.
fn list() -> Checklist {
    Checklist::new(
        "default",
        vec![
            item("get_current_time", "Get the current date and time", "", true),
            item("read_file", "Read the contents of a file from local storage", "", true),
            item("write_file", "Write contents to a file on local storage", "", true),
            item("http_request", "Make an HTTP request to a URL", "", false),
            item("pixel-8__camera", "Take a photo", "device.camera", false),
        ],
    )
}

fn press(list: &mut Checklist, presses: &[ChecklistAction]) {
    for one in presses {
        assert_eq!(list.apply(*one, 3), ChecklistOutcome::Continue);
    }
}

#[test]
fn it_looks_as_people_know_it() {
    assert_eq!(
        list().rows(80, 24, false),
        [
            "Tools of default: 3 of 5 ticked",
            "> [x] get_current_time - Get the current date and time",
            "  [x] read_file - Read the contents of a file from local storage",
            "  [x] write_file - Write contents to a file on local storage",
            "  [ ] http_request - Make an HTTP request to a URL",
            "  [ ] pixel-8__camera - Take a photo  ! needs device.camera",
            "space tick  a all  n none  / find  enter keep  esc cancel",
        ]
    );
}

#[test]
fn ticks_come_and_go() {
    let mut list = list();
    press(
        &mut list,
        &[
            ChecklistAction::Toggle,
            ChecklistAction::Down,
            ChecklistAction::Down,
            ChecklistAction::Down,
            ChecklistAction::Toggle,
        ],
    );
    assert_eq!(list.ticks(), [false, true, true, true, false]);
    press(&mut list, &[ChecklistAction::None]);
    assert_eq!(list.ticks(), [false; 5]);
    press(&mut list, &[ChecklistAction::All]);
    assert_eq!(list.ticks(), [true; 5]);
}

#[test]
fn only_what_is_shown_is_ticked_by_all() {
    let mut list = list();
    press(&mut list, &[ChecklistAction::Filter]);
    assert!(list.is_editing_filter());
    press(&mut list, &"FILE".chars().map(ChecklistAction::Type).collect::<Vec<_>>());
    assert_eq!(list.rows(80, 24, false).last().unwrap(), "/FILE_");
    assert_eq!(list.rows(80, 24, false).len(), 4);
    press(&mut list, &[ChecklistAction::Enter, ChecklistAction::None]);
    assert_eq!(list.ticks(), [true, false, false, false, false]);
    assert!(list.rows(80, 24, false).last().unwrap().starts_with("/FILE  space"));
    press(&mut list, &[ChecklistAction::Escape]);
    assert_eq!(list.rows(80, 24, false).len(), 7);
    press(
        &mut list,
        &[
            ChecklistAction::Filter,
            ChecklistAction::Type('z'),
            ChecklistAction::Type('z'),
            ChecklistAction::Toggle,
        ],
    );
    assert_eq!(list.rows(80, 24, false)[1], "  (none has that)");
    press(&mut list, &[ChecklistAction::Delete, ChecklistAction::Delete, ChecklistAction::Enter]);
    assert_eq!(list.rows(80, 24, false).len(), 7);
}

#[test]
fn enter_keeps_and_escape_cancels() {
    assert_eq!(list().apply(ChecklistAction::Enter, 3), ChecklistOutcome::Confirm);
    assert_eq!(list().apply(ChecklistAction::Escape, 3), ChecklistOutcome::Cancel);
}

#[test]
fn a_small_terminal_shows_a_part() {
    let mut list = list();
    assert_eq!(
        list.rows(30, 5, false),
        [
            "Tools of default: 3 of 5 ticked",
            "> [x] get_current_time - Get …",
            "  [x] read_file - Read the co…",
            "1/5  space tick  a all  n non…"
        ]
        .map(|row| live::truncate(row, 30))
    );
    press(&mut list, &[ChecklistAction::Down, ChecklistAction::Down]);
    assert_eq!(
        list.rows(80, 5, false)[1..3],
        [
            "  [x] read_file - Read the contents of a file from local storage",
            "> [x] write_file - Write contents to a file on local storage"
        ]
    );
    press(&mut list, &[ChecklistAction::Bottom]);
    assert!(list.rows(44, 5, false)[2].ends_with("! needs device.camera"), "{:?}", list.rows(44, 5, false));
    press(
        &mut list,
        &[ChecklistAction::PageUp, ChecklistAction::Up, ChecklistAction::Up, ChecklistAction::Up],
    );
    assert!(list.rows(80, 5, false)[1].starts_with("> [x] get_current_time"));
    assert_eq!(list.rows(80, 1, false).len(), 3, "one of them is always in sight");
}
