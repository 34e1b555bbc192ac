//! URL template with a fixed origin, and placeholders in the path and the query.

use reqwest::Url;
use toolway_types::{Code, JsonObject, ToolError};

use super::text_template::{SecretMap, TextTemplate, percent_encode};
use crate::web::{parse_url, same_origin};

/// A URL with placeholders.
#[derive(Debug)]
pub(super) struct UrlTemplate {
    /// Scheme, host and port.
    origin: Url,
    /// Segments of the path.
    path: Vec<TextTemplate>,
    /// Parts of the query, between the `&`s.
    query: Vec<TextTemplate>,
}

impl UrlTemplate {
    /// Parses the URL of a definition.
    ///
    /// # Errors
    /// A description of the problem.
    pub(super) fn parse(text: &str) -> Result<Self, String> {
        let after_scheme = text.find("://").map_or(0, |at| at + 3);
        let end =
            text.get(after_scheme..).and_then(|rest| rest.find(['/', '?', '#'])).map(|at| after_scheme + at);
        let (origin, rest) = text.split_at_checked(end.unwrap_or(text.len())).unwrap_or((text, ""));
        if origin.contains(['{', '}']) {
            return Err("url: scheme and host cannot contain placeholders".to_owned());
        }
        if rest.contains('#') {
            return Err("url: text after # is never sent; write %23 for a literal #".to_owned());
        }
        let origin = parse_url(origin).map_err(|error| format!("url: {error}"))?;
        let (path, query) = rest.split_once('?').unwrap_or((rest, ""));
        let read = |part: &str| TextTemplate::parse(part).map_err(|problem| format!("url: {problem}"));
        let path = path.strip_prefix('/').unwrap_or(path);
        let path = path.split('/').map(read).collect::<Result<Vec<_>, _>>()?;
        let query =
            query.split('&').filter(|part| !part.is_empty()).map(read).collect::<Result<Vec<_>, _>>()?;
        if path.iter().chain(&query).any(|part| part.secret_names().next().is_some()) {
            return Err(
                "url: secrets are only allowed in headers, because a URL is shown and logged".to_owned()
            );
        }
        Ok(Self { origin, path, query })
    }

    /// Parameters used by the URL.
    pub(super) fn placeholders(&self) -> impl Iterator<Item = &str> {
        self.path.iter().chain(&self.query).flat_map(TextTemplate::placeholders)
    }

    /// Parameters without which the URL cannot be built.
    pub(super) fn required_placeholders(&self) -> impl Iterator<Item = &str> {
        self.path.iter().flat_map(TextTemplate::placeholders)
    }

    /// Builds the URL for these arguments. A part of the query whose value is missing is omitted.
    ///
    /// # Errors
    /// Fails if a value would change the structure of the path, or the URL is too long.
    pub(super) fn fill(&self, arguments: &JsonObject) -> Result<Url, ToolError> {
        let invalid = |message: String| ToolError::new(Code::InvalidArguments, message);
        let mut text = self.origin.origin().ascii_serialization();
        for segment in &self.path {
            let filled = segment
                .fill(arguments, &SecretMap::new(), percent_encode)
                .ok_or_else(|| invalid(format!("{} is needed for the URL", placeholder_names(segment))))?;
            if segment.placeholders().next().is_some() && is_dot_segment(&filled) {
                return Err(invalid(format!(
                    "{} can't be empty, \".\" or \"..\": it would be another path",
                    placeholder_names(segment)
                )));
            }
            text.push('/');
            text.push_str(&filled);
        }
        let query: Vec<_> = self
            .query
            .iter()
            .filter_map(|part| part.fill(arguments, &SecretMap::new(), percent_encode))
            .collect();
        if !query.is_empty() {
            text.push('?');
            text.push_str(&query.join("&"));
        }
        let url = parse_url(&text)?;
        if !same_origin(&url, &self.origin) {
            return Err(invalid("the arguments would lead to another host".to_owned()));
        }
        Ok(url)
    }
}

/// True if a path segment has a special meaning (empty, `.` or `..`). Dots may be written as `%2e`.
fn is_dot_segment(segment: &str) -> bool {
    matches!(segment.to_ascii_lowercase().replace("%2e", ".").as_str(), "" | "." | "..")
}

fn placeholder_names(template: &TextTemplate) -> String {
    template.placeholders().collect::<Vec<_>>().join(", ")
}

#[cfg(test)]
mod tests;
