//! Reads single constructs of Rust from tokens: imports, paths, attributes, the extent of an item.

use crate::lexer::Token;

/// One name of a `use`, which may be `*`.
pub(crate) struct Import {
    pub(crate) path: Vec<String>,
    pub(crate) name: String,
}

/// The imports of what stands between `use` and its `;`.
pub(crate) fn imports(tokens: &[Token]) -> Vec<Import> {
    let mut found = Vec::new();
    // A leading `::` is another crate's name.
    if tokens.first().is_some_and(|token| token.text != "::") {
        collect_imports(tokens, &[], &mut found);
    }
    found
}

fn collect_imports(tokens: &[Token], before: &[String], found: &mut Vec<Import>) {
    let mut path = before.to_vec();
    let mut alias = None;
    let mut at = 0;
    while let Some(token) = tokens.get(at) {
        match token.text.as_str() {
            "{" => {
                let inside = &tokens[at + 1..tokens.len().saturating_sub(1).max(at + 1)];
                for part in split_at_commas(inside) {
                    collect_imports(part, &path, found);
                }
                return;
            }
            "*" => {
                found.push(Import { path, name: "*".to_owned() });
                return;
            }
            "as" => {
                alias = tokens.get(at + 1).map(|token| token.text.clone());
                break;
            }
            "self" if !path.is_empty() => {}
            _ if token.is_word() => path.push(token.text.clone()),
            _ => {}
        }
        at += 1;
    }
    if let Some(name) = alias.or_else(|| path.last().cloned()) {
        found.push(Import { path, name });
    }
}

fn split_at_commas(tokens: &[Token]) -> Vec<&[Token]> {
    let mut depth = 0;
    let parts = tokens.split(|token| {
        match token.text.as_str() {
            "{" => depth += 1,
            "}" => depth -= 1,
            _ => {}
        }
        depth == 0 && token.text == ","
    });
    parts.filter(|part| !part.is_empty()).collect()
}

/// Whether a path of several segments, or one from `crate`, `self` or `super`, starts here.
pub(crate) fn starts_path(tokens: &[Token], at: usize) -> bool {
    let text = |at: usize| tokens.get(at).map_or("", |token| token.text.as_str());
    let before = at.checked_sub(1).map_or("", text);
    tokens[at].is_word() && text(at + 1) == "::" && before != "::" && before != "."
}

pub(crate) fn leading_path(tokens: &[Token]) -> Vec<String> {
    let mut path = vec![tokens[0].text.clone()];
    for pair in tokens[1..].chunks_exact(2) {
        if pair[0].text != "::" || !pair[1].is_word() {
            break;
        }
        path.push(pair[1].text.clone());
    }
    path
}

/// Whether the attribute at the start makes what follows a part of tests only.
pub(crate) fn is_test_attribute(tokens: &[Token]) -> bool {
    let inner = usize::from(tokens.get(1).is_some_and(|token| token.text == "!"));
    let words =
        tokens[1 + inner..].iter().take_while(|token| token.text != "]").map(|token| token.text.as_str());
    let words: Vec<_> = words.collect();
    words.get(..3) == Some(&["[", "cfg", "("]) && words.contains(&"test") && !words.contains(&"not")
}

/// The number of tokens of the item, field or statement at the start, with its attributes.
pub(crate) fn length_of_item(tokens: &[Token]) -> usize {
    let text = |at: usize| tokens.get(at).map_or("", |token| token.text.as_str());
    let mut at = 0;
    while text(at) == "#" {
        at += 1 + length_of_group(&tokens[at + 1..]);
    }
    let start = at;
    let to_semicolon = ["use", "const", "static", "type", "let"];
    let to_brace = ["fn", "impl", "mod", "struct", "enum", "trait", "macro_rules", "union", "extern"];
    let keyword = tokens[start..].iter().take(8).map(|token| token.text.as_str());
    let keyword = keyword.clone().find(|word| to_brace.contains(word) || to_semicolon.contains(word));
    // `const fn` ends like `fn`.
    let is_function = tokens[start..].iter().take(6).any(|token| token.text == "fn");
    let ends_at_semicolon = keyword.is_some_and(|word| to_semicolon.contains(&word)) && !is_function;
    while at < tokens.len() {
        match text(at) {
            ";" => return at + 1,
            "," if keyword.is_none() => return at + 1,
            "}" | ")" | "]" => return at,
            "{" if !ends_at_semicolon => {
                at += length_of_group(&tokens[at..]);
                return at;
            }
            "{" | "(" | "[" => at += length_of_group(&tokens[at..]),
            _ => at += 1,
        }
    }
    tokens.len()
}

/// The number of tokens of a bracketed group at the start.
fn length_of_group(tokens: &[Token]) -> usize {
    let mut depth = 0_usize;
    for (at, token) in tokens.iter().enumerate() {
        match token.text.as_str() {
            "{" | "(" | "[" => depth += 1,
            "}" | ")" | "]" => depth = depth.saturating_sub(1),
            _ => {}
        }
        if depth == 0 {
            return at + 1;
        }
    }
    tokens.len()
}
