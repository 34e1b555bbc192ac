//! The words of names and sentences: `readFile`, `read_file` and `Read a file` have the same.

/// The words of a text, as slices of it: runs of letters and digits, parted at the humps of `camelCase` and
/// `HTTPServer` too.
pub(super) fn words(text: &str) -> WordIter<'_> {
    WordIter { rest: text }
}

pub(super) struct WordIter<'a> {
    rest: &'a str,
}

impl<'a> Iterator for WordIter<'a> {
    type Item = &'a str;

    fn next(&mut self) -> Option<&'a str> {
        let start = self.rest.bytes().position(|byte| byte.is_ascii_alphanumeric() || !byte.is_ascii())?;
        let mut text = self.rest.get(start..)?;
        if !text.starts_with(|c: char| c.is_ascii()) {
            text = text.get(text.find(char::is_alphanumeric)?..)?;
        }
        let end = end_of_word(text);
        let (word, rest) = text.split_at_checked(end)?;
        self.rest = rest;
        Some(word)
    }
}

/// Where the word ends with which `text` begins.
fn end_of_word(text: &str) -> usize {
    let mut bytes = text.bytes().enumerate().peekable();
    let mut before = 0_u8;
    while let Some((at, byte)) = bytes.next() {
        if !byte.is_ascii() {
            return end_of_any_word(text);
        }
        if !byte.is_ascii_alphanumeric() {
            return at;
        }
        let mut next_is_lower = || bytes.peek().is_some_and(|(_, next)| next.is_ascii_lowercase());
        // `fileName`, or the `S` of `HTTPServer`.
        if byte.is_ascii_uppercase()
            && (before.is_ascii_lowercase() || (before.is_ascii_uppercase() && next_is_lower()))
        {
            return at;
        }
        before = byte;
    }
    text.len()
}

/// The same beyond ASCII.
fn end_of_any_word(text: &str) -> usize {
    let mut chars = text.char_indices().peekable();
    let mut before: Option<char> = None;
    while let Some((at, c)) = chars.next() {
        if !c.is_alphanumeric() {
            return at;
        }
        if let Some(last) = before.filter(|_| c.is_uppercase()) {
            let next_is_lower = chars.peek().is_some_and(|(_, next)| next.is_lowercase());
            if last.is_lowercase() || (last.is_uppercase() && next_is_lower) {
                return at;
            }
        }
        before = Some(c);
    }
    text.len()
}

/// One word that is looked for, in lower case, and its singular and plural.
#[derive(Debug)]
pub(super) struct SearchWord {
    forms: Vec<String>,
    /// Beyond ASCII there may be no spaces between words, so that a word is looked for within others.
    within: bool,
}

/// How well a word fits.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum WordMatch {
    /// Not at all.
    None,
    /// It begins so, or has it in itself.
    Partial,
    /// It is the word, perhaps in its other number.
    Whole,
}

impl SearchWord {
    pub(super) fn new(word: &str) -> Self {
        let word = word.to_lowercase();
        let within = !word.is_ascii();
        let mut forms = Vec::new();
        if !within && word.len() > 2 {
            forms = other_numbers(&word);
        }
        forms.insert(0, word);
        Self { forms, within }
    }

    /// The word as it was looked for, in lower case.
    pub(super) fn as_str(&self) -> &str {
        self.forms.first().map_or("", String::as_str)
    }

    /// With which bytes, in lower case, a word of ASCII begins that fits this one.
    pub(super) fn first_bytes(&self) -> impl Iterator<Item = u8> {
        self.forms.iter().filter_map(|form| form.bytes().next())
    }

    /// How well a word of a text fits this one.
    pub(super) fn match_word(&self, word: &str) -> WordMatch {
        if self.within || !word.is_ascii() {
            return self.match_any_script(&word.to_lowercase());
        }
        let bytes = word.as_bytes();
        let mut best = WordMatch::None;
        for form in &self.forms {
            let begins_so =
                bytes.get(..form.len()).is_some_and(|begin| begin.eq_ignore_ascii_case(form.as_bytes()));
            match begins_so {
                true if bytes.len() == form.len() => return WordMatch::Whole,
                // One letter begins too much.
                true if form.len() > 1 => best = WordMatch::Partial,
                _ => {}
            }
        }
        best
    }

    fn match_any_script(&self, word: &str) -> WordMatch {
        if self.forms.iter().any(|form| form == word) {
            return WordMatch::Whole;
        }
        let wanted = self.as_str();
        let partly =
            if self.within { word.contains(wanted) } else { wanted.len() > 1 && word.starts_with(wanted) };
        if partly { WordMatch::Partial } else { WordMatch::None }
    }
}

/// What the plural of an English word could be, and the singular if it is a plural. Wrong ones do no harm:
/// nothing is named so.
fn other_numbers(word: &str) -> Vec<String> {
    let mut forms = Vec::new();
    if let Some(stem) = word.strip_suffix("ies") {
        forms.push(format!("{stem}y"));
    } else if let Some(stem) = word.strip_suffix('y') {
        forms.push(format!("{stem}ies"));
    } else if let Some(stem) = word.strip_suffix('s').filter(|stem| !stem.ends_with('s')) {
        forms.push(stem.to_owned());
        if let Some(stem) = stem.strip_suffix('e') {
            forms.push(stem.to_owned());
        }
    } else {
        forms.push(format!("{word}s"));
    }
    forms.retain(|form| form.len() > 2);
    forms
}

#[cfg(test)]
mod tests;
