//! Suggests tools whose names are similar to an unknown one.

use toolway_types::ToolId;
use toolway_types::name::{MAX_FULL_NAME, MAX_SLUG, MAX_TOOL_NAME};

use super::RegistrySnapshot;
use crate::spec::ToolSpec;

/// Maximum number of suggestions.
const MAX_SUGGESTIONS: usize = 3;
/// Minimum similarity of the names of two tools, from 0 to 1.
const MIN_SIMILARITY: f64 = 0.75;
/// Maximum number of tools whose access is checked, so that a wrong name stays cheap with many tools.
const MAX_TOOLS: usize = 2_000;
/// Maximum number of steps to compare names. A comparison takes the product of the two lengths.
const MAX_STEPS: usize = 200_000;

impl RegistrySnapshot {
    /// Full names of connected tools with a name similar to an unknown one, the most similar first. It names
    /// only tools that the caller may use, as `may_use` tells.
    #[must_use]
    pub fn similar_names(
        &self,
        name: &str,
        may_use: impl Fn(&ToolId, Option<&ToolSpec>) -> bool,
    ) -> Vec<String> {
        if name.len() > MAX_SLUG + 2 + MAX_TOOL_NAME.max(MAX_FULL_NAME) {
            return Vec::new();
        }
        let wanted = NameForms::of(name);
        let mut steps = 0;
        let mut similar = Vec::new();
        let visible = self.tools().take(MAX_TOOLS).filter(|(id, tool)| may_use(id, Some(tool.spec())));
        for (id, _) in visible {
            let known = id.tool.as_str().to_lowercase();
            steps += wanted.steps(&known);
            if steps > MAX_STEPS {
                break;
            }
            let similarity = wanted.similarity(&known);
            if similarity >= MIN_SIMILARITY {
                similar.push((similarity, id.full_name().to_string()));
            }
        }
        similar.sort_by(|(one, a), (other, b)| other.total_cmp(one).then_with(|| a.cmp(b)));
        similar.into_iter().take(MAX_SUGGESTIONS).map(|(_, name)| name).collect()
    }
}

/// An unknown name as a whole and without the name of a source.
struct NameForms(Vec<String>);

impl NameForms {
    fn of(name: &str) -> Self {
        let lower = name.to_lowercase();
        let without_source = ["__", "/"].iter().filter_map(|mark| Some(lower.split_once(mark)?.1.to_owned()));
        let mut forms: Vec<_> = without_source.collect();
        forms.push(lower);
        forms.retain(|form| !form.is_empty());
        Self(forms)
    }

    fn steps(&self, known: &str) -> usize {
        self.0.iter().map(|form| form.len() * known.len()).sum()
    }

    fn similarity(&self, known: &str) -> f64 {
        let alike = |form: &String| strsim::normalized_damerau_levenshtein(form, known);
        self.0.iter().map(alike).fold(0.0, f64::max)
    }
}

/// Hint with suggestions; `None` if there are none.
#[must_use]
pub fn suggestion_hint(similar: &[String]) -> Option<String> {
    match similar {
        [] => None,
        [one] => Some(format!("Did you mean {one}?")),
        several => Some(format!("Did you mean one of {}?", several.join(", "))),
    }
}

#[cfg(test)]
mod tests;
