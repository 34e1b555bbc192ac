//! Suggests existing names that are similar to an unknown one.

/// Maximum number of suggestions.
const MAX_SUGGESTIONS: usize = 3;
/// Minimum similarity of suggestions, from 0 to 1.
const MIN_SIMILARITY: f64 = 0.75;

/// Returns the similar names, the most similar first.
pub(crate) fn close_names<'n>(name: &str, known: impl IntoIterator<Item = &'n str>) -> Vec<String> {
    let name = name.to_lowercase();
    let mut alike: Vec<(f64, &str)> = known
        .into_iter()
        .map(|known| (strsim::jaro_winkler(&name, &known.to_lowercase()), known))
        .filter(|(alike, known)| *alike >= MIN_SIMILARITY || is_prefix_or_suffix(&name, known))
        .collect();
    alike.sort_by(|(one, a), (other, b)| other.total_cmp(one).then_with(|| a.cmp(b)));
    alike.into_iter().take(MAX_SUGGESTIONS).map(|(_, known)| known.to_owned()).collect()
}

/// Returns whether one name is a prefix or suffix of the other.
fn is_prefix_or_suffix(name: &str, known: &str) -> bool {
    let known = known.to_lowercase();
    name.len() > 2 && (known.starts_with(name) || known.ends_with(name) || name.ends_with(known.as_str()))
}

/// Returns a question with the suggestions; `None` if there are none.
pub(crate) fn did_you_mean(close: &[String]) -> Option<String> {
    match close {
        [] => None,
        [one] => Some(format!("did you mean {one:?}?")),
        several => {
            let quoted: Vec<_> = several.iter().map(|name| format!("{name:?}")).collect();
            Some(format!("did you mean one of {}?", quoted.join(", ")))
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_closest_come_first_and_strangers_not_at_all() {
        let known = ["default", "coder", "decoder", "translator"];
        assert_eq!(close_names("codr", known), ["coder"]);
        assert_eq!(close_names("Coder", known), ["coder", "decoder"]);
        assert_eq!(close_names("xyz", known), Vec::<String>::new());
        assert_eq!(did_you_mean(&close_names("codr", known)).as_deref(), Some(r#"did you mean "coder"?"#));
        assert_eq!(did_you_mean(&[]), None);
    }
}
