use super::*;

#[test]
fn problems_have_their_line_and_are_sorted() {
    let text = "a = 1\nb = 2\n";
    let path = Path::new("some.toml");
    assert_eq!(all_or_nothing(5, Vec::new(), text, path), Ok(5));
    let problems = vec![TextProblem::at(6..7, "second").with_hint("remove it"), TextProblem::new(0, "first")];
    let problems = all_or_nothing(5, problems, text, path).unwrap_err();
    let shown: Vec<_> = problems.iter().map(ToString::to_string).collect();
    assert_eq!(shown, ["some.toml:1: first", "some.toml:2: second"]);
    assert_eq!(problems[1].hint.as_deref(), Some("remove it"));
    assert_eq!(line_of(text, 1000), 3);
}

#[test]
fn an_error_of_toml_keeps_its_place() {
    let text = "a = 1\nb = \n";
    let error = toml::from_str::<toml::Table>(text).unwrap_err();
    assert_eq!(TextProblem::from_toml(0, &error, &[]).in_file(text, Path::new("x")).line, 2);
}

#[test]
fn only_regular_files_within_the_limit_are_read() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("a.toml");
    assert_eq!(read_text(&path, 4), Ok(None));
    fs::write(&path, "1234").unwrap();
    assert_eq!(read_text(&path, 4), Ok(Some("1234".to_owned())));
    assert_eq!(read_text(&path, 3).unwrap_err().message, "the file is longer than 3 bytes");
    assert_eq!(read_text(folder.path(), 4).unwrap_err().message, "it is not a regular file");
    fs::write(&path, b"\xff").unwrap();
    assert!(read_text(&path, 4).unwrap_err().message.starts_with("the file can't be read: "));
}

#[test]
fn a_place_is_counted_in_lines_and_characters() {
    let place = |offset| {
        let TextPosition { line, column } = TextPosition::of("aä\nb", offset);
        (line, column)
    };
    assert_eq!((place(0), place(1), place(3)), ((1, 1), (1, 2), (1, 3)));
    // In the middle of a character, and after the end.
    assert_eq!((place(2), place(4), place(1000)), ((1, 2), (2, 1), (2, 2)));
}

#[test]
fn a_missing_file_is_an_empty_one_and_a_later_change_is_noticed() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("a.toml");
    let parse = |text: &str, _: &Path| Ok(text.to_owned());
    let (stamps, read) = read_stamped(&path, 4, parse);
    assert_eq!(read.unwrap(), "");
    fs::write(&path, "1234").unwrap();
    assert_ne!(FileStamps::of([&path]), stamps);
    let (stamps, read) = read_stamped(&path, 4, parse);
    assert_eq!(read.unwrap(), "1234");
    assert_eq!(FileStamps::of([&path]), stamps);
    let (stamps, read) = read_stamped(&path, 3, parse);
    // Also a file that can't be used is read again only when it has changed.
    assert_eq!((FileStamps::of([&path]), read.unwrap_err().len()), (stamps, 1));
}

#[test]
fn a_change_of_any_file_changes_the_stamps() {
    let folder = tempfile::tempdir().unwrap();
    let paths = ["a", "b"].map(|name| folder.path().join(name));
    let nothing = FileStamps::of(&paths);
    assert!(nothing.is_empty());
    fs::write(&paths[1], "1").unwrap();
    let one = FileStamps::of(&paths);
    assert_eq!(one.len(), 1);
    assert_eq!(FileStamps::of(paths.iter().rev()), one);
    fs::write(&paths[1], "12").unwrap();
    assert_ne!(FileStamps::of(&paths), one);
    fs::remove_file(&paths[1]).unwrap();
    assert_eq!(FileStamps::of(&paths), nothing);
}
