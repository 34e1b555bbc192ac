//! Patterns for names of models.

/// Returns true if a pattern matches a text: `*` is any text, including none, and `?` any one character. The
/// time is bounded by the product of both lengths.
pub(super) fn matches(pattern: &str, text: &str) -> bool {
    let (mut pattern, mut text) = (pattern.chars(), text.chars());
    // The pattern after the last star, and the position in the text where it was tried.
    let mut star: Option<(std::str::Chars<'_>, std::str::Chars<'_>)> = None;
    loop {
        let at = (pattern.clone(), text.clone());
        match (pattern.next(), text.next()) {
            (Some('*'), _) => {
                // The star matches nothing at first.
                text = at.1;
                star = Some((pattern.clone(), text.clone()));
            }
            (Some(wanted), Some(letter)) if wanted == '?' || wanted == letter => {}
            (None, None) => return true,
            _ => {
                // The last star matches one character more.
                let Some((after, tried)) = star.as_mut() else { return false };
                if tried.next().is_none() {
                    return false;
                }
                (pattern, text) = (after.clone(), tried.clone());
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn stars_and_question_marks_stand_for_others() {
        for (pattern, text, expected) in [
            ("openai/gpt-5", "openai/gpt-5", true),
            ("openai/gpt-5", "openai/gpt-5-mini", false),
            ("openai/gpt-*", "openai/gpt-", true),
            ("openai/gpt-*", "openai/gpt-5-mini", true),
            ("openrouter/*", "openrouter/anthropic/claude", true),
            ("*", "", true),
            ("*", "x/y", true),
            ("", "", true),
            ("", "x", false),
            ("?", "é", true),
            ("?", "", false),
            ("a?c", "abc", true),
            ("*/gpt-?", "mine/gpt-5", true),
            ("*/gpt-?", "mine/gpt-55", false),
            ("*ab*ab", "abxabyab", true),
            ("*ab*ab", "ab", false),
            ("**", "x", true),
            ("a*b*c", "a-c-b-c", true),
            ("a*b*c", "a-c-b", false),
            ("[x]", "[x]", true),
        ] {
            assert_eq!(matches(pattern, text), expected, "{pattern} over {text}");
        }
    }

    #[test]
    fn many_stars_over_a_long_text_take_no_time() {
        let pattern = format!("{}b", "*a".repeat(200));
        assert!(!matches(&pattern, &"a".repeat(10_000)));
    }
}
