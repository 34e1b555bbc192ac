//! Suggestions for the id of an unknown model.

use crate::error::ModelError;
use crate::provider::AvailableModel;

/// Minimum similarity of a suggestion, from 0 to 1.
const MIN_SIMILARITY: f64 = 0.8;
/// Maximum number of suggestions.
const MAX_SUGGESTIONS: usize = 5;

/// Adds models with a similar id to the error's hint.
pub(crate) fn with_similar_models(error: ModelError, model: &str, offered: &[AvailableModel]) -> ModelError {
    let close = similar_models(model, offered);
    if close.is_empty() {
        let hint = match offered.len() {
            0 => "The provider offers no models.".to_owned(),
            count => format!("The provider offers {count} models, none with a similar name."),
        };
        return error.with_hint(hint);
    }
    error.with_hint(format!("Similar models: {}.", close.join(", ")))
}

fn similar_models<'a>(model: &str, offered: &'a [AvailableModel]) -> Vec<&'a str> {
    let wanted = model.to_lowercase();
    let mut close: Vec<_> =
        offered.iter().map(|offered| (name_similarity(&wanted, &offered.id), &*offered.id)).collect();
    close.retain(|(likeness, _)| *likeness >= MIN_SIMILARITY);
    close.sort_by(|(a, one), (b, other)| b.total_cmp(a).then_with(|| one.cmp(other)));
    close.into_iter().take(MAX_SUGGESTIONS).map(|(_, id)| id).collect()
}

fn name_similarity(wanted: &str, id: &str) -> f64 {
    let id = id.to_lowercase();
    // Routers write the maker before the name.
    let name = id.rsplit('/').next().unwrap_or(&id);
    let contained = !wanted.is_empty() && (id.contains(wanted) || wanted.contains(name));
    // What differs mostly stands at the end.
    let likeness = strsim::jaro_winkler(wanted, &id).max(strsim::jaro_winkler(wanted, name));
    if contained { likeness.max(MIN_SIMILARITY) } else { likeness }
}
