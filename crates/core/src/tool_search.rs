//! Ranks tools for a search query: first by the number of matching words, then by the place of the matches (name,
//! title, source, description). The tool `find_tools` and the selection of a request's tools use the same ranks.

mod words;

use std::cmp::Reverse;

use toolway_types::ToolId;

use crate::spec::ToolSpec;
use words::{SearchWord, WordMatch, words};

/// Stop words. They are ignored if the query has other words.
const FILLERS: &[&str] = &[
    "a", "an", "and", "are", "as", "at", "be", "by", "can", "do", "does", "for", "from", "how", "i", "in",
    "is", "it", "me", "my", "of", "on", "or", "please", "some", "that", "the", "this", "to", "tool", "tools",
    "want", "what", "which", "with", "you",
];
/// Maximum number of words of a query. Further words are ignored.
const MAX_WORDS: usize = 32;

/// Scores of a word in a field: for a whole and for a partial match.
const NAME: (u32, u32) = (24, 12);
const TITLE: (u32, u32) = (10, 6);
const SOURCE: (u32, u32) = (8, 4);
const DESCRIPTION: (u32, u32) = (4, 2);
/// Additional score if the query contains all words of the name.
const WHOLE_NAME: u32 = 16;

/// Parsed search query.
#[derive(Debug)]
pub struct ToolSearchQuery {
    words: Vec<SearchWord>,
    /// For each byte: true if a word begins with it, in lower case. Rejects most words of a text without a comparison.
    begins: [bool; 256],
}

/// Rank of a tool. Greater is better.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub struct ToolSearchRank {
    /// Number of matching words.
    words: u32,
    score: u32,
    /// Shorter names are better: they contain fewer other words.
    name_length: Reverse<usize>,
}

impl ToolSearchQuery {
    /// Parses a query; `None` if it contains no word.
    #[must_use]
    pub fn new(text: &str) -> Option<Self> {
        let (mut meaningful, mut fillers): (Vec<SearchWord>, Vec<SearchWord>) = (Vec::new(), Vec::new());
        for word in words(text).map(SearchWord::new) {
            let list = if FILLERS.contains(&word.as_str()) { &mut fillers } else { &mut meaningful };
            if list.len() < MAX_WORDS && list.iter().all(|known| known.as_str() != word.as_str()) {
                list.push(word);
            }
        }
        let all = if meaningful.is_empty() { fillers } else { meaningful };
        let mut begins = [false; 256];
        for byte in all.iter().flat_map(SearchWord::first_bytes) {
            if let Some(begins) = begins.get_mut(usize::from(byte)) {
                *begins = true;
            }
        }
        (!all.is_empty()).then_some(Self { words: all, begins })
    }

    /// Returns the rank of a tool; `None` if it contains no word of the query.
    #[must_use]
    pub fn rank(&self, id: &ToolId, spec: &ToolSpec) -> Option<ToolSearchRank> {
        let mut best = [0_u32; MAX_WORDS];
        let name = id.tool.as_str();
        let whole_name = self.score_field(words(name), NAME, &mut best);
        self.score_field(words(id.source.as_str()), SOURCE, &mut best);
        let document = spec.document();
        let titles = [document.title.as_deref(), spec.annotations().title.as_deref()];
        for title in titles.into_iter().flatten() {
            self.score_field(words(title), TITLE, &mut best);
        }
        self.score_field(words(spec.description()), DESCRIPTION, &mut best);
        let found = best.iter().filter(|worth| **worth > 0).count();
        (found > 0).then(|| ToolSearchRank {
            words: u32::try_from(found).unwrap_or(u32::MAX),
            score: best.iter().sum::<u32>() + if whole_name { WHOLE_NAME } else { 0 },
            name_length: Reverse(name.len()),
        })
    }

    /// Whether it is worth a closer look.
    fn may_match(&self, word: &str) -> bool {
        match word.bytes().next() {
            Some(byte) if byte.is_ascii() => {
                let begins = self.begins.get(usize::from(byte.to_ascii_lowercase()));
                begins.copied().unwrap_or(true) || !word.is_ascii()
            }
            _ => true,
        }
    }

    /// Notes the best worth of each word of the query in a field. True where every word of the field is one
    /// of the query's.
    fn score_field<'a>(
        &self,
        field: impl Iterator<Item = &'a str>,
        (wholly, partly): (u32, u32),
        best: &mut [u32; MAX_WORDS],
    ) -> bool {
        let (mut all, mut any) = (true, false);
        for text in field {
            any = true;
            if !self.may_match(text) {
                all = false;
                continue;
            }
            let mut wanted = false;
            for (word, best) in self.words.iter().zip(best.iter_mut()) {
                let worth = match word.match_word(text) {
                    WordMatch::None => continue,
                    WordMatch::Partial => partly,
                    WordMatch::Whole => {
                        wanted = true;
                        wholly
                    }
                };
                *best = (*best).max(worth);
            }
            all &= wanted;
        }
        all && any
    }
}
