use super::*;

#[test]
fn a_short_text_has_a_bounded_number_of_visible_characters() {
    let longest = "ü".repeat(MAX_SHORT_TEXT);
    for text in ["x", "Küche 2", &longest] {
        assert_eq!(check_short_text("label", text.to_owned()).as_deref(), Ok(text));
    }
    for (text, length) in [(String::new(), 0), (format!("{longest}ü"), MAX_SHORT_TEXT + 1)] {
        let field = "label".to_owned();
        assert_eq!(check_short_text("label", text), Err(InvalidShortText::Length { field, length }));
    }
    let refused = check_short_text("label", "a\u{200b}b".to_owned()).unwrap_err();
    assert_eq!(refused.to_string(), "label has a control or invisible character (U+200B)");
}

#[test]
fn a_title_may_be_empty() {
    assert_eq!(check_title(""), Ok(()));
    assert_eq!(check_title(&"x".repeat(MAX_SHORT_TEXT)), Ok(()));
    let length = MAX_SHORT_TEXT + 1;
    assert_eq!(check_title(&"x".repeat(length)), Err(InvalidShortText::TitleTooLong(length)));
}
