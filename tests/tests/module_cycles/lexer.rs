//! Splits Rust source into words and punctuation, without comments and literals.

/// A word, `::`, or one character of punctuation.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Token {
    pub(crate) text: String,
    /// Counted from 1.
    pub(crate) line: usize,
}

impl Token {
    pub(crate) fn is_word(&self) -> bool {
        self.text.starts_with(|c: char| c.is_alphabetic() || c == '_')
    }
}

struct Lexer {
    chars: Vec<char>,
    at: usize,
    line: usize,
    tokens: Vec<Token>,
}

/// The tokens of a source file.
pub(crate) fn tokens(source: &str) -> Vec<Token> {
    let mut lexer = Lexer { chars: source.chars().collect(), at: 0, line: 1, tokens: Vec::new() };
    while lexer.peek(0).is_some() {
        lexer.step();
    }
    lexer.tokens
}

impl Lexer {
    fn peek(&self, ahead: usize) -> Option<char> {
        self.chars.get(self.at + ahead).copied()
    }

    fn skip(&mut self, count: usize) {
        for _ in 0..count {
            self.line += usize::from(self.peek(0) == Some('\n'));
            self.at += 1;
        }
    }

    fn skip_while(&mut self, wanted: impl Fn(char) -> bool) -> String {
        let start = self.at;
        while self.peek(0).is_some_and(&wanted) {
            self.skip(1);
        }
        self.chars[start..self.at].iter().collect()
    }

    fn step(&mut self) {
        match (self.peek(0), self.peek(1)) {
            (Some('/'), Some('/')) => drop(self.skip_while(|c| c != '\n')),
            (Some('/'), Some('*')) => self.block_comment(),
            (Some('"'), _) => self.string(),
            (Some('\''), _) => self.char_or_lifetime(),
            (Some(':'), Some(':')) => self.push("::".to_owned(), 2),
            (Some(c), _) if c.is_ascii_digit() => drop(self.skip_while(|c| c.is_alphanumeric() || c == '_')),
            (Some(c), _) if c.is_alphabetic() || c == '_' => self.word(),
            (Some(c), _) if c.is_whitespace() => self.skip(1),
            (Some(c), _) => self.push(c.to_string(), 1),
            (None, _) => {}
        }
    }

    fn push(&mut self, text: String, width: usize) {
        self.tokens.push(Token { text, line: self.line });
        self.skip(width);
    }

    fn block_comment(&mut self) {
        let mut depth = 0;
        loop {
            match (self.peek(0), self.peek(1)) {
                (Some('/'), Some('*')) => (depth, ()) = (depth + 1, self.skip(2)),
                (Some('*'), Some('/')) => (depth, ()) = (depth - 1, self.skip(2)),
                (None, _) => return,
                _ => self.skip(1),
            }
            if depth == 0 {
                return;
            }
        }
    }

    fn string(&mut self) {
        let line = self.line;
        self.skip(1);
        let start = self.at;
        while self.peek(0).is_some_and(|c| c != '"') {
            self.skip(if self.peek(0) == Some('\\') { 2 } else { 1 });
        }
        let text: String = self.chars[start..self.at.min(self.chars.len())].iter().collect();
        self.skip(1);
        self.path_in_string(&text, line);
    }

    /// An attribute like serde's `with = "crate::seconds"` names a module in a string.
    fn path_in_string(&mut self, text: &str, line: usize) {
        let segments: Vec<_> = text.split("::").collect();
        let plain = |segment: &&str| {
            !segment.is_empty() && segment.chars().all(|c| c.is_ascii_alphanumeric() || c == '_')
        };
        if segments.len() > 1
            && matches!(segments[0], "crate" | "self" | "super")
            && segments.iter().all(plain)
        {
            let separated = segments.join(" :: ");
            self.tokens.extend(separated.split(' ').map(|text| Token { text: text.to_owned(), line }));
        }
    }

    fn raw_string(&mut self, hashes: usize) {
        self.skip(hashes + 1);
        let end: Vec<char> = std::iter::once('"').chain(std::iter::repeat_n('#', hashes)).collect();
        while self.at < self.chars.len() && !self.chars[self.at..].starts_with(&end) {
            self.skip(1);
        }
        self.skip(end.len());
    }

    fn char_or_lifetime(&mut self) {
        if self.peek(1) == Some('\\') {
            self.skip(3);
            self.skip_while(|c| c != '\'');
            self.skip(1);
        } else if self.peek(2) == Some('\'') {
            self.skip(3);
        } else {
            self.skip(1);
            self.skip_while(|c| c.is_alphanumeric() || c == '_');
        }
    }

    fn word(&mut self) {
        let line = self.line;
        let text = self.skip_while(|c| c.is_alphanumeric() || c == '_');
        if matches!(text.as_str(), "r" | "br" | "cr") {
            let hashes = (0..self.chars.len()).take_while(|ahead| self.peek(*ahead) == Some('#')).count();
            if self.peek(hashes) == Some('"') {
                return self.raw_string(hashes);
            }
            if hashes == 1 {
                // A raw identifier, `r#type`: the next word is the name.
                return self.skip(1);
            }
        }
        if matches!(text.as_str(), "b" | "c") && matches!(self.peek(0), Some('"' | '\'')) {
            return; // The literal's prefix.
        }
        self.tokens.push(Token { text, line });
    }
}
