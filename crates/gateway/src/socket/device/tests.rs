use super::*;

fn text(text: &str) -> ContentPart {
    ContentPart::text(text)
}

fn image() -> ContentPart {
    ContentPart::Image { data: "aGk=".to_owned(), mime_type: "image/png".to_owned() }
}

#[track_caller]
fn makes(output: &str, content: &[ContentPart], structured: bool, expected: &[ContentPart]) {
    assert_eq!(parts(output.to_owned(), content.to_vec(), structured), expected);
}

#[test]
fn the_text_of_a_result_comes_first() {
    makes("81", &[], false, &[text("81")]);
    makes("81", &[], true, &[text("81")]);
    makes("a photo", &[image()], false, &[text("a photo"), image()]);
    makes("first", &[text("more")], false, &[text("first"), text("more")]);
}

#[test]
fn an_empty_text_beside_something_says_nothing() {
    makes("", &[], false, &[text("")]);
    makes("", &[], true, &[]);
    makes("", &[image()], false, &[image()]);
}

#[test]
fn a_text_that_the_parts_repeat_is_not_doubled() {
    makes("a photo", &[text("a photo"), image()], false, &[text("a photo"), image()]);
    makes("a photo", &[image(), text("a photo")], false, &[image(), text("a photo")]);
    makes("one\ntwo", &[text("one"), image(), text("two")], false, &[text("one"), image(), text("two")]);
}
