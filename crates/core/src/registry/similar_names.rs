//! Suggests tools whose names are similar to an unknown one.

use toolway_types::name::{MAX_FULL_NAME, MAX_SLUG, MAX_TOOL_NAME};
use toolway_types::{Slug, ToolId};

use super::RegistrySnapshot;
use super::lookup::OWN;
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
    /// Full names of connected tools with a name similar to an unknown one, the most similar first. It names only
    /// tools that the caller may use, as `may_use` tells. For a full name or an id, it names only tools of that source
    /// and tools that no device can register: another source must not attract the calls of this one by its tools' names.
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
        let may_stand_for = |id: &ToolId| match &wanted.source {
            Some(source) => {
                id.source.is_builtin() || id.source.as_str() == OWN || id.source.as_str() == source
            }
            None => true,
        };
        let tools = self.tools().take(MAX_TOOLS).filter(|(id, _)| may_stand_for(id));
        let visible = tools.filter(|(id, tool)| may_use(id, Some(tool.spec())));
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

/// An unknown name.
struct NameForms {
    /// The source that it names.
    source: Option<String>,
    /// The name as a whole, or without its source, in lower case.
    forms: Vec<String>,
}

impl NameForms {
    fn of(name: &str) -> Self {
        let lower = name.to_lowercase();
        let parts = ["__", "/"].iter().filter_map(|mark| lower.split_once(mark));
        let with_source: Vec<_> = parts.filter(|(source, _)| source.parse::<Slug>().is_ok()).collect();
        let source = with_source.first().map(|(source, _)| (*source).to_owned());
        let mut forms: Vec<_> = match source {
            Some(_) => with_source.iter().map(|(_, rest)| (*rest).to_owned()).collect(),
            None => vec![lower.clone()],
        };
        forms.retain(|form| !form.is_empty());
        Self { source, forms }
    }

    fn steps(&self, known: &str) -> usize {
        self.forms.iter().map(|form| form.len() * known.len()).sum()
    }

    fn similarity(&self, known: &str) -> f64 {
        let alike = |form: &String| strsim::normalized_damerau_levenshtein(form, known);
        self.forms.iter().map(alike).fold(0.0, f64::max)
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
