//! Formats JSON text token by token, so that key order and number formats stay unchanged.

/// Puts each member on its own line. Invalid JSON changes only in its white space.
pub(crate) fn pretty(text: &str) -> String {
    let mut out = String::with_capacity(text.len() * 2);
    let mut depth = 0usize;
    let mut chars = text.chars().peekable();
    while let Some(c) = chars.next() {
        match c {
            '"' => {
                out.push(c);
                let mut escaped = false;
                for c in chars.by_ref() {
                    out.push(c);
                    match c {
                        _ if escaped => escaped = false,
                        '\\' => escaped = true,
                        '"' => break,
                        _ => {}
                    }
                }
            }
            '{' | '[' => {
                while chars.next_if(|c| c.is_ascii_whitespace()).is_some() {}
                out.push(c);
                match chars.next_if(|c| matches!(c, '}' | ']')) {
                    Some(end) => out.push(end),
                    None => {
                        depth += 1;
                        new_line(&mut out, depth);
                    }
                }
            }
            '}' | ']' => {
                depth = depth.saturating_sub(1);
                new_line(&mut out, depth);
                out.push(c);
            }
            ',' => {
                out.push(c);
                new_line(&mut out, depth);
            }
            ':' => out.push_str(": "),
            c if c.is_ascii_whitespace() => {}
            c => out.push(c),
        }
    }
    out
}

/// Maximum depth of indentation: the text must not grow with the square of its depth.
const MAX_DEPTH: usize = 64;

fn new_line(out: &mut String, depth: usize) {
    out.push('\n');
    out.push_str(&"  ".repeat(depth.min(MAX_DEPTH)));
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn formatting_keeps_the_value() {
        let text = r#"{"b":1.0,"a":[1e3,{}, [ ],"x,{\"y\":1}"] ,"n":12345678901234567890123}"#;
        let laid_out = pretty(text);
        assert_eq!(
            laid_out,
            "{\n  \"b\": 1.0,\n  \"a\": [\n    1e3,\n    {},\n    [],\n    \"x,{\\\"y\\\":1}\"\n  ],\n  \
             \"n\": 12345678901234567890123\n}"
        );
        assert_eq!(pretty(&laid_out), laid_out);
        for scalar in ["null", "\"a b\"", "-1.50", " true "] {
            assert_eq!(pretty(scalar), scalar.trim());
        }
    }

    #[test]
    fn deep_nesting_has_limited_indentation() {
        let text = format!("{}{}", "[".repeat(10_000), "]".repeat(10_000));
        assert!(pretty(&text).len() < 10_000 * 2 * 200);
    }
}
