use super::*;

const PLAIN: MarkdownLayout = MarkdownLayout { width: 40, colour: false };
const COLOUR: MarkdownLayout = MarkdownLayout { width: 40, colour: true };

#[track_caller]
fn assert_renders(text: &str, expected: &str) {
    assert_eq!(render(text, PLAIN).join("\n"), expected);
}

#[test]
fn blocks_are_separated() {
    assert_renders(
        "# Head\ntext\n***\nmore",
        "# Head\n\ntext\n\n────────────────────────────────────────\n\nmore",
    );
    assert_renders("a\n\n\n\nb", "a\n\nb");
    assert_renders("> quoted\n> on\n>\n> two", "> quoted on\n>\n> two");
}

#[test]
fn lists_can_be_nested() {
    assert_renders("- a\n- b\n  - c\n  - d\n- e", "- a\n- b\n  - c\n  - d\n- e");
    assert_renders("3. a\n4. b\n   more", "3. a\n4. b more");
    assert_renders("1. a\n\n   b\n\n2. c", "1. a\n\n   b\n\n2. c");
    assert_renders("- [x] done\n- [ ] open\n-", "- [x] done\n- [ ] open\n-");
    assert_renders("text\n- a\n\nafter", "text\n\n- a\n\nafter");
}

#[test]
fn lines_are_wrapped_at_spaces() {
    assert_renders(
        "- The quick brown fox jumps over the lazy dog and runs",
        "- The quick brown fox jumps over the\n  lazy dog and runs",
    );
    assert_renders(&"x".repeat(45), &format!("{}\n{}", "x".repeat(40), "x".repeat(5)));
    assert_renders(
        "日本語日本語日本語日本語日本語日本語日本語",
        "日本語日本語日本語日本語日本語日本語日本\n語",
    );
    assert_renders("a  \nb", "a\nb");
    let exact = format!("{} {}", "x".repeat(20), "y".repeat(19));
    assert_renders(&format!("{exact} z"), &format!("{exact}\nz"));
}

#[test]
fn marks_stay_without_colours() {
    assert_renders("*a* **b** ~~c~~ `d`", "*a* **b** ~~c~~ `d`");
    assert_eq!(
        render("*a* **b** ~~c~~ `d`", COLOUR).join("\n"),
        "\u{1b}[3ma\u{1b}[0m \u{1b}[1mb\u{1b}[0m \u{1b}[9mc\u{1b}[0m \u{1b}[36md\u{1b}[0m"
    );
    assert_eq!(render("# H", COLOUR), ["\u{1b}[1;4mH\u{1b}[0m"]);
}

#[test]
fn links_show_their_targets() {
    assert_renders("[here](https://a.example/x)", "here (https://a.example/x)");
    assert_renders("<https://a.example>", "https://a.example");
    assert_renders("![a cat](cat.png)", "[image: a cat] (cat.png)");
    assert_renders("[one][1]\n\n[1]: https://a.example", "one (https://a.example)\n\n[1]: https://a.example");
    assert_renders(
        "[https://bank.example](https://evil.example)",
        "https://bank.example\n(https://evil.example)",
    );
}

#[test]
fn code_is_not_wrapped() {
    let long = "y".repeat(60);
    assert_renders(
        &format!("```rust\nfn\tmain\n\n{long}\n```"),
        &format!("```rust\nfn    main\n\n{long}\n```"),
    );
    assert_eq!(
        render("```rust\nlet x;\n```", COLOUR),
        ["\u{1b}[2m    rust\u{1b}[0m", "    \u{1b}[36mlet x;\u{1b}[0m"]
    );
}

#[test]
fn tables_fit() {
    assert_renders(
        "| a | b |\n|---|--:|\n| one | 2 |\n| x | 345 |",
        "a   │   b\n────┼────\none │   2\nx   │ 345",
    );
    assert_renders(
        "| name | description |\n|---|---|\n| x | a text that is far too long for one line of it |",
        "name │ description\n─────┼──────────────────────────────────\nx    │ a text that is far too long for\n     │ one line of it",
    );
    let narrow = MarkdownLayout { width: 20, colour: false };
    assert_eq!(
        render("| aaaaaaaa | bbbbbbbb | cccccccc |\n|-|-|-|\n| 1 | 2 | 3 |", narrow),
        ["aaaaaaaa: 1", "bbbbbbbb: 2", "cccccccc: 3"]
    );
}

#[test]
fn markdown_cannot_send_control_sequences() {
    for text in [
        "\u{1b}[2Jgone",
        "&#27;[2J and &#x9b;2J",
        "`\u{1b}]0;title\u{7}`",
        "```\u{1b}[1m\n\u{1b}[2J\n```",
        "[x](<\u{1b}[2J>)",
        "![\u{1b}[2J](\u{202e}y)",
        "| \u{1b}[2J |\n|---|\n| \u{9b}31m |",
        "<b>\u{1b}[2J</b>\n\n<div>\n\u{1b}[2J\n</div>",
        "# \u{1b}[2J\n- \u{1b}[2J\n> \u{1b}[2J",
        "[a]\n\n[a]: https://x/\u{1b}[2J \"\u{1b}\"",
        "a\rb",
    ] {
        let mut stream = MarkdownStream::new(PLAIN);
        let mut lines = stream.push(text);
        lines.extend(stream.unfinished_lines());
        lines.extend(stream.finish());
        lines.extend(render(text, PLAIN));
        for line in lines {
            assert!(!line.chars().any(toolway_types::name::is_invisible), "{text:?} gave {line:?}");
        }
    }
}

#[test]
fn deep_nesting_is_rendered() {
    let deep = format!("{}text", "> ".repeat(500));
    assert!(render(&deep, PLAIN).iter().all(|line| line.chars().count() <= 50));
    let deep = format!("{}text", "- ".repeat(500));
    assert!(render(&deep, PLAIN).iter().all(|line| line.chars().count() <= 60));
}

const TEXTS: &[&str] = &[
    "one\n\ntwo *three*\nfour\n\n# five\n\nsix",
    "- a\n- b\n- c\n\nafter",
    "1. a\n\n   b\n\n2. c\n\n3. d\n",
    "1. a\n1. b\n1. c\n",
    "text:\n- a\n  - b\n- c\n\n```rust\nlet x;\n\nlet y;\n```\ntail",
    "| a | b |\n|---|---|\n| 1 | 2 |\n\nend",
    "````md\n```\ninner\n```\n````\n",
    "> q\n> r\n\n---\n\nHead\n====\n\ntext",
    "```\nnever closed",
    "~~~\na\n~~~\n\n~~~\nb\n~~~",
    "a\n\n    indented\n    code\n\nb",
    "",
    "\n\n",
];

#[test]
fn streamed_text_renders_like_the_whole_text() {
    for text in TEXTS {
        for paper in [PLAIN, COLOUR] {
            let whole = render(text, paper);
            for cut in (0..=text.len()).filter(|cut| text.is_char_boundary(*cut)) {
                let mut stream = MarkdownStream::new(paper);
                let mut lines = stream.push(&text[..cut]);
                lines.extend(stream.push(&text[cut..]));
                lines.extend(stream.finish());
                assert_eq!(lines, whole, "{text:?} cut at {cut}");
            }
            let mut stream = MarkdownStream::new(paper);
            let mut lines = Vec::new();
            for c in text.chars() {
                lines.extend(stream.push(c.encode_utf8(&mut [0; 4])));
            }
            lines.extend(stream.finish());
            assert_eq!(lines, whole, "{text:?} letter by letter");
        }
    }
}

#[test]
fn lines_are_printed_as_soon_as_they_are_final() {
    let mut stream = MarkdownStream::new(PLAIN);
    assert_eq!(stream.push("Hello **wor"), [] as [&str; 0]);
    assert_eq!(stream.unfinished_lines(), ["Hello **wor"]);
    assert_eq!(stream.push("ld**\n\n"), [] as [&str; 0], "a line may follow that makes a heading of it");
    assert_eq!(stream.push("- a\n"), ["Hello **world**"]);
    assert_eq!(stream.push("- b\n- "), ["", "- a"]);
    assert_eq!(stream.unfinished_lines(), ["- b", "-"]);
    assert_eq!(stream.push("c\n\n```\ncode\nmo"), ["- b", "- c", "", "```", "code"]);
    assert_eq!(stream.unfinished_lines(), ["mo"]);
    assert_eq!(stream.push("re\n```\n"), ["more", "```"]);
    assert_eq!(stream.finish(), [] as [&str; 0]);
}

#[test]
fn endless_paragraphs_are_printed_in_parts() {
    let mut stream = MarkdownStream::new(PLAIN);
    let mut given = 0;
    for _ in 0..5000 {
        given += stream.push("word word word word word word word\n").len();
    }
    assert!(given > 3000, "{given}");
    assert!(stream.pending_bytes() <= 70_000);
}
