use proptest::prelude::*;

use super::*;

/// The thinking and the answer of a text that comes in these pieces.
fn separated<'t>(pieces: impl IntoIterator<Item = &'t str>) -> (String, String) {
    let mut inline = InlineThinking::default();
    let (mut thinking, mut answer) = (String::new(), String::new());
    let mut segments: Vec<_> = pieces.into_iter().flat_map(|piece| inline.push(piece)).collect();
    segments.extend(inline.finish());
    for segment in segments {
        match segment {
            TextSegment::Thinking(text) => thinking.push_str(&text),
            TextSegment::Answer(text) => answer.push_str(&text),
        }
    }
    (thinking, answer)
}

/// Each case: text, thinking, answer.
const CASES: &[(&str, &str, &str)] = &[
    ("", "", ""),
    ("Hello.", "", "Hello."),
    ("  \n Hello.", "", "  \n Hello."),
    ("<think>\nHm, 2 < 3.\n</think>\n\nIt is so.", "Hm, 2 < 3.", "It is so."),
    ("\n<think>a b</think>c", "a b", "c"),
    ("<think>\n\n</think>\n\nFine.", "", "Fine."),
    ("<think></think>Fine.", "", "Fine."),
    ("<think>cut in the mid", "cut in the mid", ""),
    ("<think>cut </thi", "cut </thi", ""),
    ("<think>a</think>\n<think>b</think>\nc", "ab", "c"),
    ("<think>a</think>b <think>c</think>", "a", "b <think>c</think>"),
    ("Write `<think>` and `</think>`.", "", "Write `<think>` and `</think>`."),
    ("<thinker> is no tag", "", "<thinker> is no tag"),
    ("<th", "", "<th"),
    ("<b>bold</b>", "", "<b>bold</b>"),
    ("<thinking>a</thinking>b", "a", "b"),
    ("<thought>a</thought>b", "a", "b"),
    ("[THINK]a[/THINK]b", "a", "b"),
    ("◁think▷é◁/think▷ü", "é", "ü"),
    (
        "<|channel|>analysis<|message|>The user greets.<|end|><|start|>assistant<|channel|>final<|message|>Hello!<|return|>",
        "The user greets.",
        "Hello!",
    ),
    (
        "<|start|>assistant<|channel|>analysis<|message|>a<|end|>\n<|start|>assistant<|channel|>final<|message|>b",
        "a",
        "b",
    ),
    ("<|channel|>analysis<|message|>a<|channel|>final<|message|>b", "a", "b"),
    ("<|channel|>analysis<|message|>a<|end|>b < c", "a", "b < c"),
    ("<|channel|>commentary<|message|>I look.<|end|><|channel|>analysis<|message|>hm", "hm", "I look."),
    ("<|channel|>final <|constrain|>json<|message|>{}", "", "{}"),
    (
        "<|channel|>commentary to=functions.f <|constrain|>json<|message|>{}<|call|>",
        "",
        "<|channel|>commentary to=functions.f <|constrain|>json<|message|>{}",
    ),
    ("<|start|>assistant<|message|>plain<|end|>", "", "plain"),
    ("<|channel|>analysis<|message|>a <|en", "a <|en", ""),
    ("The mark <|channel|> stays.", "", "The mark <|channel|> stays."),
];

#[test]
fn thinking_is_separated_from_the_answer() {
    for (text, thinking, answer) in CASES {
        assert_eq!(separated([*text]), ((*thinking).to_owned(), (*answer).to_owned()), "{text:?}");
    }
}

#[test]
fn pieces_of_one_character_mean_the_same() {
    for (text, thinking, answer) in CASES {
        let ends = text.char_indices().map(|(at, c)| at..at + c.len_utf8());
        let found = separated(ends.map(|piece| &text[piece]));
        assert_eq!(found, ((*thinking).to_owned(), (*answer).to_owned()), "{text:?}");
    }
}

#[test]
fn a_certain_piece_does_not_wait() {
    let mut inline = InlineThinking::default();
    assert_eq!(inline.push("<think>So"), [TextSegment::Thinking("So".to_owned())]);
    assert_eq!(inline.push(" be it"), [TextSegment::Thinking(" be it".to_owned())]);
    assert_eq!(inline.push("</think>\n\nYes"), [TextSegment::Answer("Yes".to_owned())]);
    assert_eq!(inline.push(" <"), [TextSegment::Answer(" <".to_owned())]);
    assert!(!inline.has_pending());
}

#[test]
fn a_header_without_an_end_becomes_text() {
    let text = format!("<|channel|>{}", "x".repeat(2 * MAX_HEADER_BYTES));
    assert_eq!(separated([text.as_str()]), (String::new(), text.clone()));
    let space = " ".repeat(2 * MAX_LEADING_SPACE_BYTES);
    let mut inline = InlineThinking::default();
    assert_eq!(inline.push(&space), [TextSegment::Answer(space.clone())]);
}

proptest! {
    #[test]
    fn pieces_of_any_size_mean_the_same_as_the_whole(
        parts in prop::collection::vec(
            prop_oneof![
                Just("<think>"), Just("</think>"), Just("<|channel|>"), Just("analysis"), Just("final"),
                Just("<|message|>"), Just("<|end|>"), Just("<|start|>"), Just("assistant"), Just(" "), Just("\n"),
                Just("<"), Just("|"), Just("a"), Just("é"), Just("[THINK]"), Just("[/THINK]")
            ],
            0..16,
        ),
        size in 1_usize..9,
    ) {
        let text = parts.concat();
        let letters: Vec<char> = text.chars().collect();
        let pieces: Vec<String> = letters.chunks(size).map(|piece| piece.iter().collect()).collect();
        prop_assert_eq!(separated(pieces.iter().map(String::as_str)), separated([text.as_str()]));
    }
}
