//! Conversion of JSON with comments and trailing commas into plain JSON of the same length, so that offsets stay
//! valid.

/// Replaces comments and trailing commas with spaces. Other errors stay.
#[must_use]
pub fn to_json(text: &str) -> String {
    let mut out = text.as_bytes().to_vec();
    blank_comments(&mut out);
    blank_commas(&mut out);
    // Only whole comments and ASCII characters are replaced, so the text stays valid UTF-8.
    String::from_utf8(out).unwrap_or_else(|_| text.to_owned())
}

/// Replaces only comments with spaces.
#[must_use]
pub fn without_comments(text: &str) -> String {
    let mut out = text.as_bytes().to_vec();
    blank_comments(&mut out);
    String::from_utf8(out).unwrap_or_else(|_| text.to_owned())
}

fn blank_comments(text: &mut [u8]) {
    let mut at = if text.starts_with("\u{feff}".as_bytes()) {
        blank(text, 0, 3);
        3
    } else {
        0
    };
    while let Some(byte) = text.get(at).copied() {
        match (byte, text.get(at + 1)) {
            (b'"', _) => at = string_end(text, at),
            (b'/', Some(b'/')) => {
                let end = text
                    .get(at..)
                    .and_then(|rest| rest.iter().position(|byte| matches!(byte, b'\n' | b'\r')));
                let end = end.map_or(text.len(), |length| at + length);
                blank(text, at, end);
                at = end;
            }
            (b'/', Some(b'*')) => {
                let rest = text.get(at + 2..).unwrap_or_default();
                let end = rest.windows(2).position(|pair| pair == b"*/");
                let end = end.map_or(text.len(), |length| at + length + 4);
                blank(text, at, end);
                at = end;
            }
            _ => at += 1,
        }
    }
}

/// Replaces trailing commas with spaces.
fn blank_commas(text: &mut [u8]) {
    let mut at = 0;
    let mut comma = None;
    // A comma after no value is an error and stays.
    let mut follows_value = false;
    while let Some(byte) = text.get(at).copied() {
        match byte {
            b'"' => {
                (comma, follows_value) = (None, true);
                at = string_end(text, at);
                continue;
            }
            b',' => {
                comma = follows_value.then_some(at);
                follows_value = false;
            }
            b'}' | b']' => {
                if let Some(comma) = comma.take() {
                    blank(text, comma, comma + 1);
                }
                follows_value = true;
            }
            byte if byte.is_ascii_whitespace() => {}
            byte => (comma, follows_value) = (None, !matches!(byte, b'{' | b'[' | b':')),
        }
        at += 1;
    }
}

/// The offset after the string that starts here.
fn string_end(text: &[u8], start: usize) -> usize {
    let mut at = start + 1;
    loop {
        match text.get(at) {
            None => return text.len(),
            Some(b'"') => return at + 1,
            Some(b'\\') => at += 2,
            Some(_) => at += 1,
        }
    }
}

/// Replaces a range with spaces. Line ends stay, so that line numbers stay valid.
fn blank(text: &mut [u8], start: usize, end: usize) {
    for byte in text.get_mut(start..end).unwrap_or_default() {
        if !matches!(byte, b'\n' | b'\r') {
            *byte = b' ';
        }
    }
}

#[cfg(test)]
mod tests;
