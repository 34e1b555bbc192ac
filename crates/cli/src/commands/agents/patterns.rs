//! From ticks to patterns: what an agent may use, as it is written.

use toolway_core::AgentScope;
use toolway_core::policy::definition::ApprovalMode;
use toolway_types::ToolId;

/// A tool and whether it is ticked.
pub(super) type Ticked<'a> = (&'a ToolId, bool);

/// The patterns for these ticks. What was written stays as far as it fits: a pattern whose tools are all ticked, or of
/// which none is there now, and one that takes tools out none of which is ticked. Every other tool is named by its id.
pub(super) fn for_ticks(before: &[String], tools: &[Ticked<'_>]) -> Vec<String> {
    if fits(before, tools) {
        return before.to_vec();
    }
    let (without, within): (Vec<_>, Vec<_>) = before.iter().partition(|pattern| pattern.starts_with('!'));
    let none_ticked = |pattern: &&&String| {
        let alone = pattern.strip_prefix('!').and_then(|pattern| scope(&[pattern]));
        alone.is_some_and(|alone| !tools.iter().any(|(id, ticked)| *ticked && alone.includes(id)))
    };
    let without: Vec<&String> = without.iter().filter(none_ticked).copied().collect();
    let all_ticked = |pattern: &&&String| {
        let taken_out: Vec<&str> = without.iter().map(|pattern| pattern.as_str()).collect();
        let alone = scope(&[&[pattern.as_str()], taken_out.as_slice()].concat());
        alone.is_some_and(|alone| !tools.iter().any(|(id, ticked)| !*ticked && alone.includes(id)))
    };
    let within: Vec<&String> = within.iter().filter(all_ticked).copied().collect();
    let kept: Vec<String> =
        before.iter().filter(|it| within.contains(it) || without.contains(it)).cloned().collect();
    let mut patterns = kept.clone();
    patterns.extend(missing(&kept, tools));
    if fits(&patterns, tools) { patterns } else { missing(&[], tools) }
}

/// The ids of ticked tools that the patterns leave out.
fn missing(patterns: &[String], tools: &[Ticked<'_>]) -> Vec<String> {
    let scope = scope(patterns);
    let is_missing = |id: &ToolId| scope.as_ref().is_none_or(|scope| !scope.includes(id));
    tools.iter().filter(|(id, ticked)| *ticked && is_missing(id)).map(|(id, _)| literal(id)).collect()
}

/// Whether the patterns give just these ticks.
fn fits(patterns: &[String], tools: &[Ticked<'_>]) -> bool {
    scope(patterns).is_some_and(|scope| tools.iter().all(|(id, ticked)| scope.includes(id) == *ticked))
}

fn scope<S: AsRef<str>>(patterns: &[S]) -> Option<AgentScope> {
    AgentScope::new(patterns, ApprovalMode::default()).ok()
}

/// A pattern that only this id fits.
fn literal(id: &ToolId) -> String {
    let mut pattern = String::new();
    for c in id.to_string().chars() {
        if matches!(c, '*' | '?' | '[' | ']' | '{' | '}' | '\\' | '!') {
            pattern.push('\\');
        }
        pattern.push(c);
    }
    pattern
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn gives(before: &[&str], ticks: &[(&str, bool)], expected: &[&str]) {
        let ids: Vec<(ToolId, bool)> = ticks.iter().map(|(id, on)| (id.parse().unwrap(), *on)).collect();
        let tools: Vec<Ticked<'_>> = ids.iter().map(|(id, on)| (id, *on)).collect();
        let before: Vec<String> = before.iter().map(|it| (*it).to_owned()).collect();
        assert_eq!(for_ticks(&before, &tools), expected);
    }

    #[test]
    fn what_was_written_stays_where_nothing_changes() {
        gives(&["*/*"], &[("a/x", true), ("b/y", true)], &["*/*"]);
        gives(&["*/*", "!b/*"], &[("a/x", true), ("b/y", false)], &["*/*", "!b/*"]);
        gives(&[], &[("a/x", false)], &[]);
    }

    #[test]
    fn a_tool_that_is_taken_out_leaves_the_others_named() {
        gives(&["*/*"], &[("a/x", true), ("a/y", false), ("b/z", true)], &["a/x", "b/z"]);
        gives(&["a/*", "b/*"], &[("a/x", true), ("a/y", false), ("b/z", true)], &["b/*", "a/x"]);
    }

    #[test]
    fn a_tool_that_is_added_is_named() {
        gives(&["a/*"], &[("a/x", true), ("b/y", true), ("b/z", false)], &["a/*", "b/y"]);
        gives(&["*/*", "!b/*"], &[("a/x", true), ("b/y", true), ("b/z", false)], &["a/x", "b/y"]);
        gives(&["*/*", "!b/*", "!c/*"], &[("b/y", true), ("c/z", false)], &["*/*", "!c/*"]);
    }

    #[test]
    fn patterns_of_what_is_away_stay() {
        gives(&["phone/*", "a/x"], &[("a/x", false), ("b/y", true)], &["phone/*", "b/y"]);
    }

    #[test]
    fn names_with_signs_are_named_all_the_same() {
        gives(&[], &[("a/w*ld{1}", true), ("a/wild1", false)], &[r"a/w\*ld\{1\}"]);
        gives(&[], &[("a/x!", true), ("a/x", false)], &[r"a/x\!"]);
    }
}
