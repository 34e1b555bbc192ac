//! Changes one entry of a JSON file that belongs to another program. Everything else stays byte for byte, including
//! comments and trailing commas.
//!
//! `jsonc-parser` says where the members and commas are. Its own editing (`cst`) is not used: it breaks an object
//! written in one line into lines, and removes the comment behind a removed member.

use jsonc_parser::ast::{Object, ObjectProp};
use jsonc_parser::common::Ranged;
use jsonc_parser::tokens::{Token, TokenAndRange};
use jsonc_parser::{CollectOptions, parse_to_ast};
use serde_json::{Map, Value};
use toolway_mcp::definition::jsonc;

/// Reason why a file can't be changed.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub(super) enum JsonEditError {
    #[error("it is not JSON: {0}")]
    NotJson(String),
    #[error("it is not a JSON object")]
    NotAnObject,
    #[error("{0:?} in it is not an object")]
    MemberNotAnObject(String),
    #[error("{0:?} occurs in it more than once")]
    DuplicateKey(String),
    #[error("its syntax can't be edited safely")]
    UnsupportedLayout,
}

/// The text with `value` at `table.name`.
pub(super) fn set_entry(text: &str, table: &str, name: &str, value: &Value) -> Result<String, JsonEditError> {
    let (byte_order_mark, text) = jsonc::split_byte_order_mark(text);
    let text = if text.trim().is_empty() { "{}\n" } else { text };
    let editing = JsonEditor::new(text)?;
    let changed = match editing.member(&editing.root, table)? {
        None => {
            let entry = Value::Object(Map::from_iter([(name.to_owned(), value.clone())]));
            editing.insert(&editing.root, 1, table, &entry)
        }
        Some(member) => {
            let inner = editing.object(member, table)?;
            match editing.member(inner, name)? {
                None => editing.insert(inner, 2, name, value),
                Some(old) => editing.replace(inner, old, value),
            }
        }
    };
    let mut meant = editing.value;
    let place = meant.as_object_mut().ok_or(JsonEditError::NotAnObject)?;
    let place = place.entry(table).or_insert_with(|| Value::Object(Map::new()));
    let place = place.as_object_mut().ok_or_else(|| JsonEditError::MemberNotAnObject(table.to_owned()))?;
    place.insert(name.to_owned(), value.clone());
    verify_edit(format!("{byte_order_mark}{changed}"), &meant)
}

/// Returns the text without `table.name`; `None` if it has no such entry.
pub(super) fn remove_entry(text: &str, table: &str, name: &str) -> Result<Option<String>, JsonEditError> {
    let (byte_order_mark, text) = jsonc::split_byte_order_mark(text);
    if text.trim().is_empty() {
        return Ok(None);
    }
    let editing = JsonEditor::new(text)?;
    let Some(member) = editing.member(&editing.root, table)? else { return Ok(None) };
    let inner = editing.object(member, table)?;
    let Some(old) = editing.member(inner, name)? else { return Ok(None) };
    let changed = editing.remove(inner, old);
    let mut meant = editing.value;
    if let Some(place) = meant.get_mut(table).and_then(Value::as_object_mut) {
        place.remove(name);
    }
    verify_edit(format!("{byte_order_mark}{changed}"), &meant).map(Some)
}

/// Returns the value at `table.name`.
pub(super) fn get_entry(text: &str, table: &str, name: &str) -> Option<Value> {
    jsonc::parse(text).ok()?.get(table)?.get(name).cloned()
}

/// Returns a changed text, if parsing it gives exactly the intended value.
fn verify_edit(text: String, meant: &Value) -> Result<String, JsonEditError> {
    if jsonc::parse(&text).ok().as_ref() == Some(meant) {
        Ok(text)
    } else {
        Err(JsonEditError::UnsupportedLayout)
    }
}

struct JsonEditor<'t> {
    text: &'t str,
    tokens: Vec<TokenAndRange<'t>>,
    value: Value,
    root: Object<'t>,
    newline: &'static str,
    indent: String,
}

impl<'t> JsonEditor<'t> {
    fn new(text: &'t str) -> Result<Self, JsonEditError> {
        let value = jsonc::parse(text).map_err(JsonEditError::NotJson)?;
        if !value.is_object() {
            return Err(JsonEditError::NotAnObject);
        }
        let collected = CollectOptions { tokens: true, ..CollectOptions::default() };
        let parsed = parse_to_ast(text, &collected, &jsonc::OPTIONS)
            .map_err(|error| JsonEditError::NotJson(error.to_string()))?;
        let Some(jsonc_parser::ast::Value::Object(root)) = parsed.value else {
            return Err(JsonEditError::NotAnObject);
        };
        let newline = if text.contains("\r\n") { "\r\n" } else { "\n" };
        let first = root.properties.first().and_then(|first| line_indent_at(text, first.range.start));
        let indent = first.filter(|indent| !indent.is_empty()).unwrap_or("  ").to_owned();
        let tokens = parsed.tokens.unwrap_or_default();
        Ok(Self { text, tokens, value, root, newline, indent })
    }

    fn member<'o>(
        &self,
        object: &'o Object<'t>,
        key: &str,
    ) -> Result<Option<&'o ObjectProp<'t>>, JsonEditError> {
        let mut found = object.properties.iter().filter(|member| member.name.as_str() == key);
        match (found.next(), found.next()) {
            (_, Some(_)) => Err(JsonEditError::DuplicateKey(key.to_owned())),
            (one, None) => Ok(one),
        }
    }

    fn object<'o>(&self, member: &'o ObjectProp<'t>, key: &str) -> Result<&'o Object<'t>, JsonEditError> {
        member.value.as_object().ok_or_else(|| JsonEditError::MemberNotAnObject(key.to_owned()))
    }

    fn slice(&self, start: usize, end: usize) -> &str {
        self.text.get(start..end).unwrap_or_default()
    }

    /// Whether an object is written in one line, with something in it.
    fn is_in_line(&self, object: &Object<'_>) -> bool {
        !object.properties.is_empty() && !self.slice(object.range.start, object.range.end).contains('\n')
    }

    /// Formats a value for an indentation level.
    fn format_value(&self, value: &Value, level: usize, in_line: bool) -> String {
        if in_line {
            return value.to_string();
        }
        let pretty = serde_json::to_string_pretty(value).unwrap_or_else(|_| value.to_string());
        let mut lines = pretty.lines();
        let mut written = lines.next().unwrap_or_default().to_owned();
        for line in lines {
            let bare = line.trim_start_matches(' ');
            let deep = (line.len() - bare.len()) / 2;
            written.push_str(self.newline);
            written.push_str(&self.indent.repeat(level + deep));
            written.push_str(bare);
        }
        written
    }

    fn insert(&self, object: &Object<'_>, level: usize, key: &str, value: &Value) -> String {
        let in_line = self.is_in_line(object);
        let close_at = object.range.end - 1;
        let key = Value::from(key).to_string();
        let entry = format!("{key}: {}", self.format_value(value, level, in_line));
        // Comments behind the last member are its own.
        let end = self.text.get(..close_at).unwrap_or_default().trim_end().len().max(object.range.start + 1);
        let start =
            if in_line { " ".to_owned() } else { format!("{}{}", self.newline, self.indent.repeat(level)) };
        let Some(last) = object.properties.last() else {
            let end_line = format!("{}{}", self.newline, self.indent.repeat(level - 1));
            return format!("{}{start}{entry}{end_line}{}", self.slice(0, end), self.text_from(close_at));
        };
        let comma = self.find_comma(last.range.end, close_at);
        let (between, behind) = match comma {
            // Whoever ends lists with a comma goes on to.
            Some(_) => (self.slice(last.range.end, end).to_owned(), ","),
            None => (format!(",{}", self.slice(last.range.end, end)), ""),
        };
        format!("{}{between}{start}{entry}{behind}{}", self.slice(0, last.range.end), self.text_from(end))
    }

    fn replace(&self, object: &Object<'_>, old: &ObjectProp<'_>, value: &Value) -> String {
        let written = self.format_value(value, 2, self.is_in_line(object));
        format!("{}{written}{}", self.slice(0, old.value.start()), self.text_from(old.range.end))
    }

    fn remove(&self, object: &Object<'_>, old: &ObjectProp<'_>) -> String {
        let close_at = object.range.end - 1;
        let at = object
            .properties
            .iter()
            .position(|member| member.range.start == old.range.start)
            .unwrap_or_default();
        let before = at.checked_sub(1).and_then(|at| object.properties.get(at));
        let next = object.properties.get(at + 1).map_or(close_at, |next| next.range.start);
        let mut end = old.range.end;
        let mut comma_before = None;
        match (self.find_comma(old.range.end, next), before) {
            (Some(comma), _) => end = comma + 1,
            (None, Some(before)) => comma_before = self.find_comma(before.range.end, old.range.start),
            (None, None) => {}
        }
        // With the line that it begins.
        let head = self.slice(0, old.range.start);
        let trimmed = head.trim_end_matches([' ', '\t']);
        let trimmed = trimmed.strip_suffix('\n').map_or(trimmed, |it| it.strip_suffix('\r').unwrap_or(it));
        let start = trimmed.len().max(object.range.start + 1);
        let head = match comma_before {
            Some(comma) => format!("{}{}", self.slice(0, comma), self.slice(comma + 1, start)),
            None => self.slice(0, start).to_owned(),
        };
        let is_empty = object.properties.len() == 1
            && self.slice(object.range.start + 1, start).trim().is_empty()
            && self.slice(end, close_at).trim().is_empty();
        if is_empty {
            return format!("{}{}", self.slice(0, object.range.start + 1), self.text_from(close_at));
        }
        format!("{head}{}", self.text_from(end))
    }

    fn text_from(&self, from: usize) -> &str {
        self.text.get(from..).unwrap_or_default()
    }

    /// Finds the comma between two positions.
    fn find_comma(&self, from: usize, to: usize) -> Option<usize> {
        let is_comma = |token: &&TokenAndRange<'_>| {
            token.token == Token::Comma && (from..to).contains(&token.range.start)
        };
        self.tokens.iter().find(is_comma).map(|token| token.range.start)
    }
}

/// Returns the text before a position in its line, if it is only white space.
fn line_indent_at(text: &str, at: usize) -> Option<&str> {
    let before = text.get(..at)?;
    let line = before.get(before.rfind('\n')? + 1..)?;
    line.trim().is_empty().then_some(line)
}

#[cfg(test)]
mod tests;
