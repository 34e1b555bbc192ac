//! Forms in which a text can occur in the columns of a call.

use std::fmt::Write as _;

use sqlx::{QueryBuilder, Sqlite};

use super::filter::TextFilter;

/// Forms of a search text, in lower case.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct SearchPattern {
    /// Plain form, for names.
    plain: String,
    /// Plain form and JSON-escaped forms, with and without escaping of non-ASCII characters. For JSON
    /// columns.
    forms: Vec<String>,
    ran_with: bool,
}

impl SearchPattern {
    pub(super) fn new(filter: &TextFilter) -> Self {
        let plain = filter.text.to_ascii_lowercase();
        let json = serde_json::Value::from(plain.as_str()).to_string();
        let escaped = json.strip_prefix('"').and_then(|rest| rest.strip_suffix('"')).unwrap_or(&json);
        let mut forms = vec![plain.clone()];
        for form in [escaped.to_owned(), escape_non_ascii(escaped)] {
            if !forms.contains(&form) {
                forms.push(form);
            }
        }
        Self { plain, forms, ran_with: filter.ran_with }
    }

    /// Adds the search condition to a statement that already has a `WHERE`.
    pub(super) fn push_to(&self, sql: &mut QueryBuilder<Sqlite>) {
        sql.push(" AND (");
        push_contains(sql, "name", &self.plain);
        sql.push(" OR ");
        push_contains(sql, "source || '/' || tool", &self.plain);
        let columns = ["arguments", "outcome", "effective_arguments"];
        for column in columns.into_iter().filter(|column| *column != "effective_arguments" || self.ran_with) {
            for form in &self.forms {
                sql.push(" OR ");
                push_contains(sql, column, form);
            }
        }
        sql.push(")");
    }
}

/// Searches without `LIKE`, which takes quadratic time on repetitive text.
fn push_contains(sql: &mut QueryBuilder<Sqlite>, column: &'static str, form: &str) {
    sql.push("instr(lower(").push(column).push("), ").push_bind(form.to_owned()).push(")");
}

/// Escapes the non-ASCII characters of a JSON string.
fn escape_non_ascii(escaped: &str) -> String {
    let mut text = String::with_capacity(escaped.len());
    for c in escaped.chars() {
        if c.is_ascii() {
            text.push(c);
            continue;
        }
        for unit in c.encode_utf16(&mut [0; 2]) {
            // Writing to a string does not fail.
            let _ = write!(text, "\\u{unit:04x}");
        }
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_text_is_looked_for_in_each_form_that_it_may_have() {
        let forms =
            |text: &str| SearchPattern::new(&TextFilter { text: text.to_owned(), ran_with: false }).forms;
        assert_eq!(forms("Battery 5"), ["battery 5"]);
        assert_eq!(forms(r#"say "hi" \"#), [r#"say "hi" \"#, r#"say \"hi\" \\"#]);
        assert_eq!(forms("Café"), ["café", r"caf\u00e9"]);
        assert_eq!(forms("\"É\n🎈"), ["\"É\n🎈", "\\\"É\\n🎈", r#"\"\u00c9\n\ud83c\udf88"#]);
    }
}
