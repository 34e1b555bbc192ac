use super::*;

#[test]
fn text_attachments_come_before_the_message() {
    let text = |text: &str| MessageAttachment::Text(text.to_owned());
    assert_eq!(split_attachments("what is it?", vec![text("a\n"), text("b\n")]).0, "a\nb\nwhat is it?");
    assert_eq!(split_attachments("hi", Vec::new()), ("hi".to_owned(), Vec::new()));
}

#[test]
fn piped_input_follows_the_prompt() {
    assert_eq!(join_prompt("review", "diff\n"), "review\n\ndiff\n");
    assert_eq!(join_prompt("review", " \n"), "review");
}
