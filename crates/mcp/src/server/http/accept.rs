//! The forms of an answer that a client accepts (RFC 9110, section 12.5.1).

use http::HeaderMap;
use http::header::ACCEPT;

pub(super) const JSON: &str = "application/json";
pub(super) const EVENT_STREAM: &str = "text/event-stream";
/// The header of the official SDKs.
const USUAL: &str = "application/json, text/event-stream";
/// The highest weight (RFC 9110, section 12.4.2), in thousandths.
const MAX_WEIGHT: u16 = 1000;

/// The weights of both forms, in thousandths; 0 for one that is not accepted.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct AcceptedForms {
    json: u16,
    stream: u16,
}

impl AcceptedForms {
    /// Parses the header. Without one, everything is accepted.
    pub(super) fn parse(headers: &HeaderMap) -> Self {
        // The official SDKs send exactly this with each request.
        if headers.get(ACCEPT).is_some_and(|value| value == USUAL)
            && headers.get_all(ACCEPT).iter().count() == 1
        {
            return Self { json: MAX_WEIGHT, stream: MAX_WEIGHT };
        }
        let mut values = headers.get_all(ACCEPT).iter().filter_map(|value| value.to_str().ok()).peekable();
        if values.peek().is_none() {
            return Self { json: MAX_WEIGHT, stream: MAX_WEIGHT };
        }
        let ranges: Vec<(&str, u16)> =
            values.flat_map(|value| split_unquoted(value, ',')).filter_map(media_range).collect();
        Self { json: weight(&ranges, JSON), stream: weight(&ranges, EVENT_STREAM) }
    }

    /// Returns true if none of both forms is accepted.
    pub(super) fn takes_nothing(self) -> bool {
        self.json == 0 && self.stream == 0
    }

    /// Returns true if the client reads a stream.
    pub(super) fn takes_stream(self) -> bool {
        self.stream > 0
    }

    /// Returns true if a single answer is a JSON document. Without a preference of the client, it is.
    pub(super) fn prefers_json(self) -> bool {
        self.json > 0 && self.json >= self.stream
    }

    /// Returns true if an answer in a session is a stream, which the client can read again. Without a preference of
    /// the client, it is.
    pub(super) fn prefers_stream(self) -> bool {
        self.stream > 0 && self.stream >= self.json
    }
}

/// A media range with its weight.
fn media_range(entry: &str) -> Option<(&str, u16)> {
    let mut parts = split_unquoted(entry, ';');
    let range = parts.next()?.trim();
    let weight = parts.find_map(|parameter| {
        let (name, value) = parameter.split_once('=')?;
        name.trim().eq_ignore_ascii_case("q").then(|| parse_weight(value.trim()))
    });
    range.contains('/').then_some((range, weight.unwrap_or(MAX_WEIGHT)))
}

/// The weight of a media type: that of the most specific range that contains it.
fn weight(ranges: &[(&str, u16)], media_type: &str) -> u16 {
    let kind = media_type.split('/').next().unwrap_or_default();
    let specificity = |range: &str| {
        let (major, minor) = range.split_once('/')?;
        match (major.trim(), minor.trim()) {
            ("*", "*") => Some(0),
            (major, "*") if major.eq_ignore_ascii_case(kind) => Some(1),
            _ if range.eq_ignore_ascii_case(media_type) => Some(2),
            _ => None,
        }
    };
    let matching = ranges.iter().filter_map(|(range, weight)| Some((specificity(range)?, *weight)));
    matching.max().map_or(0, |(_, weight)| weight)
}

/// Parses a weight. An invalid one does not exclude the range.
fn parse_weight(text: &str) -> u16 {
    let (whole, fraction) = text.split_once('.').unwrap_or((text, ""));
    let is_valid = fraction.len() <= 3 && fraction.bytes().all(|digit| digit.is_ascii_digit());
    match whole {
        "0" if is_valid => format!("{fraction:0<3}").parse().unwrap_or(MAX_WEIGHT),
        _ => MAX_WEIGHT,
    }
}

/// Splits a list outside of quoted strings (RFC 9110, section 5.6.4).
fn split_unquoted(value: &str, delimiter: char) -> impl Iterator<Item = &str> {
    let (mut is_quoted, mut is_escaped) = (false, false);
    value.split(move |character| {
        match character {
            _ if is_escaped => is_escaped = false,
            '\\' if is_quoted => is_escaped = true,
            '"' => is_quoted = !is_quoted,
            _ => return !is_quoted && character == delimiter,
        }
        false
    })
}

/// Returns true if the header names JSON.
pub(super) fn is_json(content_type: &str) -> bool {
    let essence = content_type.split(';').next().unwrap_or_default();
    essence.trim().eq_ignore_ascii_case(JSON)
}

#[cfg(test)]
mod tests {
    use http::HeaderValue;

    use super::*;

    #[track_caller]
    fn accepted(value: Option<&str>) -> (u16, u16) {
        let value = value.map(|value| (ACCEPT, HeaderValue::from_str(value).unwrap()));
        let AcceptedForms { json, stream } = AcceptedForms::parse(&value.into_iter().collect());
        (json, stream)
    }

    #[test]
    fn the_most_specific_range_decides_and_weights_count() {
        assert_eq!(accepted(None), (1000, 1000));
        for (value, expected) in [
            ("*/*", (1000, 1000)),
            ("application/json", (1000, 0)),
            ("text/event-stream", (0, 1000)),
            ("application/json, text/event-stream", (1000, 1000)),
            ("Application/JSON;charset=utf-8, TEXT/*;q=0.5", (1000, 500)),
            ("*/*;q=0.1, text/event-stream;q=0", (100, 0)),
            ("application/*;q=0.25, */*", (250, 1000)),
            ("text/html", (0, 0)),
            ("application/json;q=0", (0, 0)),
            ("application/json;q=0.000, text/event-stream;q=abc", (0, 1000)),
            (r#"text/plain;a="b,application/json""#, (0, 0)),
            ("application/json text/event-stream", (0, 0)),
            ("application/jsonx, json", (0, 0)),
        ] {
            assert_eq!(accepted(Some(value)), expected, "{value}");
        }
    }

    #[test]
    fn the_form_with_the_higher_weight_is_preferred() {
        let forms = |json, stream| AcceptedForms { json, stream };
        assert!(forms(1000, 1000).prefers_json() && forms(1000, 1000).prefers_stream());
        assert!(forms(1000, 500).prefers_json() && !forms(1000, 500).prefers_stream());
        assert!(!forms(500, 1000).prefers_json() && forms(500, 1000).prefers_stream());
        assert!(!forms(0, 1).prefers_json() && !forms(1, 0).prefers_stream());
        assert!(forms(0, 0).takes_nothing());
    }

    #[test]
    fn json_is_recognised_without_its_parameters() {
        for fine in ["application/json", "Application/JSON; charset=utf-8", " application/json "] {
            assert!(is_json(fine), "{fine}");
        }
        for other in ["", "application/jsonx", "text/plain; a=application/json"] {
            assert!(!is_json(other), "{other}");
        }
    }
}
