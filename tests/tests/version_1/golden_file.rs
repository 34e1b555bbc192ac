//! Files in `tests/data/version-1`: what a version 1 client sends and gets, line by line.
//!
//! `$name` in a line stands for an id, a time or the words of an error, which differ from run to run. The first one is
//! remembered, and every later one of the same name must be the same.

use std::collections::BTreeMap;
use std::fs;
use std::path::Path;

/// A line of a file.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Step {
    /// `connect PATH [SUBPROTOCOLS]`: opens a WebSocket.
    Connect { path: String, subprotocols: Option<String> },
    /// `> FRAME`: the client sends this frame.
    Send(String),
    /// `< FRAME`: the client gets this frame; those of consecutive `<~` lines in any order.
    Receive { frame: String, in_any_order: bool },
    /// `call NAME ARGUMENTS`: a caller elsewhere calls a tool; `called RESULT`: with this outcome.
    Call { name: String, arguments: String },
    /// The fields that the outcome of the call must have.
    Called(String),
    /// `model ANSWER`: the next answer of the model.
    Model(String),
    /// `reached GATE` and `open GATE`: waits until the model has come to a gate, and lets it pass.
    Reached(String),
    /// See [`Step::Reached`].
    Open(String),
    /// `request METHOD PATH [BODY]`, then `header NAME: VALUE`: a request over HTTP.
    Request { method: String, path: String, body: Option<String> },
    /// See [`Step::Request`].
    Header { name: String, value: String },
    /// `answer STATUS BODY`: the client gets exactly this answer. `fields STATUS BODY`: an answer that has these fields
    /// among others, which version 1 does not read.
    Answer { status: u16, body: String, has_others: bool },
    /// `close`: the client ends the connection; `closed CODE`: the gateway does.
    Close,
    /// See [`Step::Close`].
    Closed(u16),
}

/// Values of placeholders.
#[derive(Debug, Default)]
pub(crate) struct Placeholders(BTreeMap<String, String>);

/// Reads a file; gives each step with its line.
pub(crate) fn read(name: &str) -> Vec<(usize, Step)> {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("data/version-1").join(name);
    let text = fs::read_to_string(path).unwrap();
    let lines = text.lines().enumerate().filter(|(_, line)| !line.is_empty() && !line.starts_with('#'));
    lines.map(|(at, line)| (at + 1, parse(line))).collect()
}

fn parse(line: &str) -> Step {
    let (word, rest) = line.split_once(' ').unwrap_or((line, ""));
    let owned = str::to_owned;
    let (first, more) = rest.split_once(' ').map_or((rest, None), |(first, more)| (first, Some(more)));
    match word {
        "connect" => Step::Connect { path: owned(first), subprotocols: more.map(owned) },
        ">" => Step::Send(owned(rest)),
        "<" | "<~" => Step::Receive { frame: owned(rest), in_any_order: word == "<~" },
        "call" => Step::Call { name: owned(first), arguments: owned(more.unwrap()) },
        "called" => Step::Called(owned(rest)),
        "model" => Step::Model(owned(rest)),
        "reached" => Step::Reached(owned(rest)),
        "open" => Step::Open(owned(rest)),
        "request" => {
            let (path, body) = more
                .unwrap()
                .split_once(' ')
                .map_or((more.unwrap(), None), |(path, body)| (path, Some(body)));
            Step::Request { method: owned(first), path: owned(path), body: body.map(owned) }
        }
        "header" => {
            let (name, value) = rest.split_once(": ").unwrap();
            Step::Header { name: owned(name), value: owned(value) }
        }
        "answer" | "fields" => {
            let body = owned(more.unwrap_or_default());
            Step::Answer { status: first.parse().unwrap(), body, has_others: word == "fields" }
        }
        "close" => Step::Close,
        "closed" => Step::Closed(rest.parse().unwrap()),
        _ => panic!("no such step: {line}"),
    }
}

impl Placeholders {
    pub(crate) fn set(&mut self, name: &str, value: &str) {
        self.0.insert(name.to_owned(), value.to_owned());
    }

    /// A line with the values in place of their names.
    pub(crate) fn fill(&self, line: &str) -> String {
        let mut filled = String::new();
        for (literal, name) in pieces(line) {
            filled.push_str(literal);
            if let Some(name) = name {
                filled.push_str(self.0.get(name).unwrap_or_else(|| panic!("${name} is not known yet")));
            }
        }
        filled
    }

    /// Compares byte by byte, except for placeholders; remembers their values if everything fits.
    pub(crate) fn fits(&mut self, expected: &str, actual: &str) -> bool {
        let mut found = BTreeMap::new();
        let mut rest = actual;
        let pieces = pieces(expected);
        for (at, (literal, name)) in pieces.iter().enumerate() {
            let Some(after) = rest.strip_prefix(literal) else { return false };
            rest = after;
            let Some(name) = name else { continue };
            let next = pieces.get(at + 1).map_or("", |(literal, _)| literal);
            let end = if next.is_empty() { Some(rest.len()) } else { rest.find(next) };
            let Some((value, after)) = end.and_then(|end| rest.split_at_checked(end)) else { return false };
            rest = after;
            let known = found.get(*name).or_else(|| self.0.get(*name));
            if value.is_empty() || known.is_some_and(|known| known != value) {
                return false;
            }
            // The words of an error are free.
            if *name != "words" {
                found.insert((*name).to_owned(), value.to_owned());
            }
        }
        let fits = rest.is_empty();
        if fits {
            self.0.extend(found);
        }
        fits
    }
}

/// A line as literal text, each piece with the placeholder after it.
fn pieces(line: &str) -> Vec<(&str, Option<&str>)> {
    let mut pieces = Vec::new();
    let mut rest = line;
    while let Some((literal, after)) = rest.split_once('$') {
        let end = after.find(|c: char| !c.is_ascii_lowercase() && c != '_').unwrap_or(after.len());
        let (name, after) = after.split_at(end);
        pieces.push((literal, Some(name)));
        rest = after;
    }
    pieces.push((rest, None));
    pieces
}
