use super::*;

fn text(text: &str) -> ContentPart {
    ContentPart::text(text)
}

fn image() -> ContentPart {
    ContentPart::Image { data: "aGk=".to_owned(), mime_type: "image/png".to_owned() }
}

#[track_caller]
fn assert_parts(output: &str, content: &[ContentPart], structured: bool, expected: &[ContentPart]) {
    assert_eq!(result_parts(output.to_owned(), content.to_vec(), structured), expected);
}

#[test]
fn the_text_of_a_result_comes_first() {
    assert_parts("81", &[], false, &[text("81")]);
    assert_parts("81", &[], true, &[text("81")]);
    assert_parts("a photo", &[image()], false, &[text("a photo"), image()]);
    assert_parts("first", &[text("more")], false, &[text("first"), text("more")]);
}

#[test]
fn an_empty_text_is_omitted_if_there_are_other_parts() {
    assert_parts("", &[], false, &[text("")]);
    assert_parts("", &[], true, &[]);
    assert_parts("", &[image()], false, &[image()]);
}

#[test]
fn a_text_that_the_parts_contain_is_not_repeated() {
    assert_parts("a photo", &[text("a photo"), image()], false, &[text("a photo"), image()]);
    assert_parts("a photo", &[image(), text("a photo")], false, &[image(), text("a photo")]);
    assert_parts(
        "one\ntwo",
        &[text("one"), image(), text("two")],
        false,
        &[text("one"), image(), text("two")],
    );
}
