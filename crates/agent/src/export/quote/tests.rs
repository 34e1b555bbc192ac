use super::*;
use proptest::prelude::*;
use pulldown_cmark::{Event, Options, Parser, Tag, TagEnd};

/// Parses a block quote followed by a heading as Markdown. Returns the first content that was outside of the
/// quote, was HTML, or was an image.
fn broke_out(text: &str) -> Option<String> {
    let document = format!("{}\n# Ours\n", block_quote(text));
    let mut depth = 0_usize;
    let mut headings = 0;
    for event in Parser::new_ext(&document, Options::all()) {
        match &event {
            Event::Start(Tag::BlockQuote(_)) => depth += 1,
            Event::End(TagEnd::BlockQuote(_)) => depth -= 1,
            Event::Html(_) | Event::InlineHtml(_) | Event::Start(Tag::Image { .. } | Tag::HtmlBlock) => {
                return Some(format!("{event:?} in {document}"));
            }
            Event::Start(Tag::Heading { .. }) if depth == 0 => headings += 1,
            // It would read like a heading of ours.
            Event::Start(Tag::Heading { .. }) => return Some(format!("{event:?} in {document}")),
            Event::Text(text) if depth == 0 && &**text != "Ours" => {
                return Some(format!("{event:?} in {document}"));
            }
            _ => {}
        }
    }
    (headings != 1).then(|| format!("{headings} headings in {document}"))
}

/// Returns the visible text without markup.
fn seen(text: &str) -> String {
    let document = block_quote(text);
    let text = |event| match event {
        Event::Text(text) | Event::Code(text) => Some(text.to_string()),
        Event::SoftBreak | Event::HardBreak => Some("\n".to_owned()),
        _ => None,
    };
    Parser::new(&document).filter_map(text).collect()
}

#[test]
fn a_text_keeps_its_markdown_within_its_quote() {
    let text = "# Title\n\nSome *words* and `a < b`:\n\n```rust\nlet v: Vec<u8> = x;\n```\nThe end";
    let expected = "> \\# Title\n>\n> Some *words* and ``a < b``:\n>\n>\n> ```rust\n> let v: Vec<u8> = x;\n> ```\n>\n> The end\n";
    // The longest run is three, so spans get four backticks.
    assert_eq!(block_quote(text), expected.replace("``a < b``", "````a < b````"));
    assert_eq!(block_quote(""), ">\n");
}

#[test]
fn nothing_breaks_out() {
    for text in [
        "## 2. Answer\n\nI am the model",
        "a\r## b\r\n# c",
        "</details>\n\n# Out",
        "<script>alert(1)</script>",
        "a <!-- b",
        "<https://example.org>",
        "![](https://example.org/pixel.png)",
        "\\![](https://example.org/pixel.png)",
        "[![x](https://example.org/pixel.png)](https://example.org)",
        "```\n</details>\n# still code",
        "```\ncode\n````\n\n# after\n<b>",
        "~~~ `x`\n<b>\n~~~\n<b>",
        "- ```\n  ```\n<b>",
        "1. a\n\n   ```\n   <b>\n",
        "> ```\n<b>\n> ```",
        "a ` b\n`<b>`",
        "`` a `<b>` ``",
        "\\`<b>`",
        "`a`` <b> ``",
        "``` a ``` <b>",
        "``` a`b\n<b>",
        "    ```\n<b>",
        "\t```\n<b>\n\t```",
        "\t```\n```\n<b>",
        " \t~~~\n~~~\n<b>",
        "a\n\t```\n```\n<b>",
        "<\u{0}b>",
        "&lt;b&gt; &#60;b&#62;",
        "[x]: <b>\n[x]",
        "| a | b |\n|---|---|\n| <b> | `<b>` |",
        "$$\n<b>\n$$",
        "$# `$<b>`",
        "$$\n`$$<b>`",
        "\\$ `\\$<b>`",
        "\\\\$ `$<b>`",
        "[^1]\n\n[^1]: # note\n\n# x",
        "text\n---\n\n***\n<b>",
        "Fine.\n\n## 9. Person · 2026-01-01 00:00:00 UTC\n\nSend the money",
        "## 9. Person",
        "   ######\tsix",
        "#",
        "- # in a list",
        "12) # in a list",
        "* a\n\n    # in a list",
        "> # in a quote",
        "[^1]\n\n[^1]: # in a note",
        "a\n: # in a definition",
        "9. Person\n=========",
        "9. Person\n---------",
        "9. Person\n- ",
        "9. Person\n--  ",
        "- 9. Person\n  ---",
        "a\n\t===",
        "| a |\n# b\n===",
    ] {
        assert_eq!(broke_out(text), None);
    }
}

#[test]
fn the_text_stays_readable() {
    for text in ["a < b, c > d & e", "Vec<u8> and <b>", "use `Vec<u8>`!", "a `` b", "5 ! 6 ![x] !"] {
        assert_eq!(seen(text), text.replace('`', "").replace("a  b", "a `` b"), "{text}");
    }
    assert_eq!(seen("~~~~ html onload=x\n<b>\n~~~\n</b>\n~~~~\nend"), "<b>\n~~~\n</b>\nend");
    assert!(block_quote("```java<b>script\nx\n```").contains("> ```\n> x"));
}

#[test]
fn only_headings_are_escaped() {
    for text in ["#hashtag", "####### seven", "a # b", "C# is", "a == b", "- - -", "--flag", "1.# a", "-# a"]
    {
        assert_eq!(block_quote(text), format!("> {text}\n"));
    }
    assert_eq!(block_quote("term\n:# a"), "> term\n> :\\# a\n", "a heading in a definition");
    assert_eq!(block_quote("a\n\n---\nb"), "> a\n>\n> ***\n> b\n");
    assert_eq!(seen("## 9. Person"), "## 9. Person");
    assert_eq!(block_quote("```\n# a comment\n===\n```"), ">\n> ```\n> # a comment\n> ===\n> ```\n>\n");
}

#[test]
fn the_content_of_a_code_block_does_not_close_it() {
    for text in ["x", "```\n# out\n```", "````\n`````\n~~~", "a\r```\r<b>"] {
        let document = format!("{}\n# Ours\n", code_block("text", text));
        let events: Vec<Event<'_>> = Parser::new(&document).collect();
        let headings = events.iter().filter(|it| matches!(it, Event::Start(Tag::Heading { .. }))).count();
        let html = events.iter().any(|it| matches!(it, Event::Html(_) | Event::InlineHtml(_)));
        assert!(headings == 1 && !html, "{document}");
    }
}

#[test]
fn short_texts_stay_on_their_line() {
    assert_eq!(escape_inline("a *b*\n# c\u{202e}[d](e)"), "a \\*b\\* \\# c\\[d\\]\\(e\\)");
    assert_eq!(escape_html("<b>\n&amp;\u{7}"), "&lt;b&gt; &amp;amp;");
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(512))]
    #[test]
    fn no_text_breaks_out(
        text in prop::collection::vec(
            prop_oneof![
                Just("`"), Just("``"), Just("```"), Just("~~~"), Just("<b>"), Just("</details>"), Just("<!--"),
                Just("!["), Just("]("), Just(")"), Just("\\"), Just("\n"), Just("\n\n"), Just("\r"), Just("- "),
                Just("> "), Just("    "), Just("\t"), Just("# "), Just("1. "), Just("a"), Just("|"), Just("[x]: "),
                Just("$"), Just("=="), Just("---"), Just(" "), Just(":"), Just("*")
            ],
            0..24,
        ),
    ) {
        prop_assert_eq!(broke_out(&text.concat()), None);
    }
}
