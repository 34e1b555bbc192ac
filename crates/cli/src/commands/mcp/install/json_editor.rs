//! Changes one entry of another program's JSON file. Everything else stays the same byte for byte, including comments
//! and trailing commas.

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

/// Positions of a member of an object in the text.
#[derive(Debug)]
struct MemberSpan {
    key: String,
    start: usize,
    value: (usize, usize),
}

/// Positions of an object's braces and members in the text.
#[derive(Debug)]
struct ObjectSpan {
    open: usize,
    close: usize,
    members: Vec<MemberSpan>,
}

/// Returns the text with `value` at `table.name`.
pub(super) fn set_entry(text: &str, table: &str, name: &str, value: &Value) -> Result<String, JsonEditError> {
    let text = if text.trim_start_matches('\u{feff}').trim().is_empty() { "{}\n" } else { text };
    let editing = JsonEditor::new(text)?;
    let changed = match editing.member(&editing.root, table)? {
        None => {
            let entry = Value::Object(Map::from_iter([(name.to_owned(), value.clone())]));
            editing.insert(&editing.root, 1, table, &entry)
        }
        Some(member) => {
            let inner = editing.object(member, table)?;
            match editing.member(&inner, name)? {
                None => editing.insert(&inner, 2, name, value),
                Some(old) => editing.replace(&inner, old, value),
            }
        }
    };
    let mut meant = editing.value;
    let place = meant.as_object_mut().ok_or(JsonEditError::NotAnObject)?;
    let place = place.entry(table).or_insert_with(|| Value::Object(Map::new()));
    let place = place.as_object_mut().ok_or_else(|| JsonEditError::MemberNotAnObject(table.to_owned()))?;
    place.insert(name.to_owned(), value.clone());
    verify_edit(changed, &meant)
}

/// Returns the text without `table.name`; `None` if it has no such entry.
pub(super) fn remove_entry(text: &str, table: &str, name: &str) -> Result<Option<String>, JsonEditError> {
    if text.trim_start_matches('\u{feff}').trim().is_empty() {
        return Ok(None);
    }
    let editing = JsonEditor::new(text)?;
    let Some(member) = editing.member(&editing.root, table)? else { return Ok(None) };
    let inner = editing.object(member, table)?;
    let Some(old) = editing.member(&inner, name)? else { return Ok(None) };
    let changed = editing.remove(&inner, old);
    let mut meant = editing.value;
    if let Some(place) = meant.get_mut(table).and_then(Value::as_object_mut) {
        place.remove(name);
    }
    verify_edit(changed, &meant).map(Some)
}

/// Returns the value at `table.name`.
pub(super) fn get_entry(text: &str, table: &str, name: &str) -> Option<Value> {
    let root: Value = serde_json::from_str(&jsonc::to_json(text)).ok()?;
    root.get(table)?.get(name).cloned()
}

/// Returns a changed text, if parsing it gives exactly the intended value.
fn verify_edit(text: String, meant: &Value) -> Result<String, JsonEditError> {
    let says: Option<Value> = serde_json::from_str(&jsonc::to_json(&text)).ok();
    if says.as_ref() == Some(meant) { Ok(text) } else { Err(JsonEditError::UnsupportedLayout) }
}

struct JsonEditor<'t> {
    text: &'t str,
    /// The text with comments and trailing commas replaced with spaces.
    uncommented_text: String,
    /// The text with only the comments replaced with spaces.
    comma_text: String,
    value: Value,
    root: ObjectSpan,
    newline: &'static str,
    indent: String,
}

impl<'t> JsonEditor<'t> {
    fn new(text: &'t str) -> Result<Self, JsonEditError> {
        let plain = jsonc::to_json(text);
        let meaning: Value =
            serde_json::from_str(&plain).map_err(|error| JsonEditError::NotJson(error.to_string()))?;
        if !meaning.is_object() {
            return Err(JsonEditError::NotAnObject);
        }
        let open = plain.find('{').ok_or(JsonEditError::NotAnObject)?;
        let root = parse_object(&plain, open).ok_or(JsonEditError::UnsupportedLayout)?;
        let newline = if text.contains("\r\n") { "\r\n" } else { "\n" };
        let first = root.members.first().and_then(|first| line_indent_at(text, first.start));
        let indent = first.filter(|indent| !indent.is_empty()).unwrap_or("  ").to_owned();
        Ok(Self {
            text,
            comma_text: jsonc::without_comments(text),
            uncommented_text: plain,
            value: meaning,
            root,
            newline,
            indent,
        })
    }

    fn member<'o>(&self, object: &'o ObjectSpan, key: &str) -> Result<Option<&'o MemberSpan>, JsonEditError> {
        let mut found = object.members.iter().filter(|member| member.key == key);
        match (found.next(), found.next()) {
            (_, Some(_)) => Err(JsonEditError::DuplicateKey(key.to_owned())),
            (one, None) => Ok(one),
        }
    }

    fn object(&self, member: &MemberSpan, key: &str) -> Result<ObjectSpan, JsonEditError> {
        let is_object = self.uncommented_text.get(member.value.0..).is_some_and(|rest| rest.starts_with('{'));
        if !is_object {
            return Err(JsonEditError::MemberNotAnObject(key.to_owned()));
        }
        parse_object(&self.uncommented_text, member.value.0).ok_or(JsonEditError::UnsupportedLayout)
    }

    fn slice(&self, start: usize, end: usize) -> &str {
        self.text.get(start..end).unwrap_or_default()
    }

    /// Returns whether an object is not empty and is written in one line.
    fn is_in_line(&self, object: &ObjectSpan) -> bool {
        !object.members.is_empty() && !self.slice(object.open, object.close).contains('\n')
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

    fn insert(&self, object: &ObjectSpan, level: usize, key: &str, value: &Value) -> String {
        let in_line = self.is_in_line(object);
        let key = Value::from(key).to_string();
        let entry = format!("{key}: {}", self.format_value(value, level, in_line));
        // Comments behind the last member are its own.
        let end = self.text.get(..object.close).unwrap_or_default().trim_end().len().max(object.open + 1);
        let start =
            if in_line { " ".to_owned() } else { format!("{}{}", self.newline, self.indent.repeat(level)) };
        let Some(last) = object.members.last() else {
            let close = format!("{}{}", self.newline, self.indent.repeat(level - 1));
            return format!("{}{start}{entry}{close}{}", self.slice(0, end), self.text_from(object.close));
        };
        let comma = self.find_comma(last.value.1, object.close);
        let (between, behind) = match comma {
            // Whoever ends lists with a comma goes on to.
            Some(_) => (self.slice(last.value.1, end).to_owned(), ","),
            None => (format!(",{}", self.slice(last.value.1, end)), ""),
        };
        format!("{}{between}{start}{entry}{behind}{}", self.slice(0, last.value.1), self.text_from(end))
    }

    fn replace(&self, object: &ObjectSpan, old: &MemberSpan, value: &Value) -> String {
        let written = self.format_value(value, 2, self.is_in_line(object));
        format!("{}{written}{}", self.slice(0, old.value.0), self.text_from(old.value.1))
    }

    fn remove(&self, object: &ObjectSpan, old: &MemberSpan) -> String {
        let at = object.members.iter().position(|member| member.start == old.start).unwrap_or_default();
        let before = at.checked_sub(1).and_then(|at| object.members.get(at));
        let next = object.members.get(at + 1).map_or(object.close, |next| next.start);
        let mut end = old.value.1;
        let mut comma_before = None;
        match (self.find_comma(old.value.1, next), before) {
            (Some(comma), _) => end = comma + 1,
            (None, Some(before)) => comma_before = self.find_comma(before.value.1, old.start),
            (None, None) => {}
        }
        // With the line that it begins.
        let head = self.slice(0, old.start);
        let trimmed = head.trim_end_matches([' ', '\t']);
        let trimmed = trimmed.strip_suffix('\n').map_or(trimmed, |it| it.strip_suffix('\r').unwrap_or(it));
        let start = trimmed.len().max(object.open + 1);
        let head = match comma_before {
            Some(comma) => format!("{}{}", self.slice(0, comma), self.slice(comma + 1, start)),
            None => self.slice(0, start).to_owned(),
        };
        let is_empty = object.members.len() == 1
            && self.slice(object.open + 1, start).trim().is_empty()
            && self.slice(end, object.close).trim().is_empty();
        if is_empty {
            return format!("{}{}", self.slice(0, object.open + 1), self.text_from(object.close));
        }
        format!("{head}{}", self.text_from(end))
    }

    fn text_from(&self, from: usize) -> &str {
        self.text.get(from..).unwrap_or_default()
    }

    /// Finds the comma between two positions.
    fn find_comma(&self, from: usize, to: usize) -> Option<usize> {
        self.comma_text.get(from..to)?.find(',').map(|at| from + at)
    }
}

/// Returns the text before a position in its line, if it is only white space.
fn line_indent_at(text: &str, at: usize) -> Option<&str> {
    let before = text.get(..at)?;
    let line = before.get(before.rfind('\n')? + 1..)?;
    line.trim().is_empty().then_some(line)
}

/// Parses the object that starts at a position, in plain JSON.
fn parse_object(text: &str, open: usize) -> Option<ObjectSpan> {
    let bytes = text.as_bytes();
    let mut members = Vec::new();
    let mut at = skip_space(bytes, open + 1);
    loop {
        match bytes.get(at)? {
            b'}' => return Some(ObjectSpan { open, close: at, members }),
            b',' => at = skip_space(bytes, at + 1),
            b'"' => {
                let end = value_end(bytes, at)?;
                let key = serde_json::from_str(text.get(at..end)?).ok()?;
                let colon = skip_space(bytes, end);
                let start = skip_space(bytes, colon + 1);
                let value = (start, value_end(bytes, start)?);
                members.push(MemberSpan { key, start: at, value });
                at = skip_space(bytes, value.1);
            }
            _ => return None,
        }
    }
}

fn skip_space(bytes: &[u8], mut at: usize) -> usize {
    while bytes.get(at).is_some_and(u8::is_ascii_whitespace) {
        at += 1;
    }
    at
}

/// Returns the position after the value that starts at a position.
fn value_end(bytes: &[u8], start: usize) -> Option<usize> {
    let mut depth = 0_usize;
    let mut at = start;
    loop {
        match bytes.get(at)? {
            b'"' => {
                at += 1;
                while *bytes.get(at)? != b'"' {
                    at += if *bytes.get(at)? == b'\\' { 2 } else { 1 };
                }
                at += 1;
            }
            b'{' | b'[' => {
                depth += 1;
                at += 1;
            }
            b'}' | b']' => {
                depth = depth.checked_sub(1)?;
                at += 1;
            }
            _ => {
                let is_scalar = |byte: &u8| !byte.is_ascii_whitespace() && !b",]}".contains(byte);
                if depth > 0 {
                    at += 1;
                    continue;
                }
                while bytes.get(at).is_some_and(is_scalar) {
                    at += 1;
                }
                return Some(at);
            }
        }
        if depth == 0 {
            return Some(at);
        }
    }
}

#[cfg(test)]
mod tests;
