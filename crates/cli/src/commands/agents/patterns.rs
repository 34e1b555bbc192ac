//! Converts a selection of tools to an agent's tool patterns.

use toolway_core::AgentScope;
use toolway_core::policy::definition::ApprovalMode;
use toolway_types::ToolId;

/// A tool and whether it is selected.
pub(super) type ToolSelection<'a> = (&'a ToolId, bool);

/// Returns patterns for a selection. Keeps existing patterns where possible: those whose tools are all selected or all
/// absent, and exclusions that match no selected tool. Every other selected tool gets its id as a pattern.
pub(super) fn patterns_for_selection(before: &[String], tools: &[ToolSelection<'_>]) -> Vec<String> {
    if matches_selection(before, tools) {
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
    patterns.extend(missing_patterns(&kept, tools));
    if matches_selection(&patterns, tools) { patterns } else { missing_patterns(&[], tools) }
}

/// Returns the ids of selected tools that the patterns do not match.
fn missing_patterns(patterns: &[String], tools: &[ToolSelection<'_>]) -> Vec<String> {
    let scope = scope(patterns);
    let is_missing = |id: &ToolId| scope.as_ref().is_none_or(|scope| !scope.includes(id));
    tools.iter().filter(|(id, ticked)| *ticked && is_missing(id)).map(|(id, _)| literal_pattern(id)).collect()
}

/// True if the patterns match exactly the selected tools.
fn matches_selection(patterns: &[String], tools: &[ToolSelection<'_>]) -> bool {
    scope(patterns).is_some_and(|scope| tools.iter().all(|(id, ticked)| scope.includes(id) == *ticked))
}

fn scope<S: AsRef<str>>(patterns: &[S]) -> Option<AgentScope> {
    AgentScope::new(patterns, ApprovalMode::default()).ok()
}

/// Returns a pattern that matches only this id.
fn literal_pattern(id: &ToolId) -> String {
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
    fn assert_patterns(before: &[&str], ticks: &[(&str, bool)], expected: &[&str]) {
        let ids: Vec<(ToolId, bool)> = ticks.iter().map(|(id, on)| (id.parse().unwrap(), *on)).collect();
        let tools: Vec<ToolSelection<'_>> = ids.iter().map(|(id, on)| (id, *on)).collect();
        let before: Vec<String> = before.iter().map(|it| (*it).to_owned()).collect();
        assert_eq!(patterns_for_selection(&before, &tools), expected);
    }

    #[test]
    fn patterns_stay_if_the_selection_is_the_same() {
        assert_patterns(&["*/*"], &[("a/x", true), ("b/y", true)], &["*/*"]);
        assert_patterns(&["*/*", "!b/*"], &[("a/x", true), ("b/y", false)], &["*/*", "!b/*"]);
        assert_patterns(&[], &[("a/x", false)], &[]);
    }

    #[test]
    fn removing_a_tool_lists_the_others_by_id() {
        assert_patterns(&["*/*"], &[("a/x", true), ("a/y", false), ("b/z", true)], &["a/x", "b/z"]);
        assert_patterns(&["a/*", "b/*"], &[("a/x", true), ("a/y", false), ("b/z", true)], &["b/*", "a/x"]);
    }

    #[test]
    fn an_added_tool_is_listed_by_id() {
        assert_patterns(&["a/*"], &[("a/x", true), ("b/y", true), ("b/z", false)], &["a/*", "b/y"]);
        assert_patterns(&["*/*", "!b/*"], &[("a/x", true), ("b/y", true), ("b/z", false)], &["a/x", "b/y"]);
        assert_patterns(&["*/*", "!b/*", "!c/*"], &[("b/y", true), ("c/z", false)], &["*/*", "!c/*"]);
    }

    #[test]
    fn patterns_of_absent_tools_stay() {
        assert_patterns(&["phone/*", "a/x"], &[("a/x", false), ("b/y", true)], &["phone/*", "b/y"]);
    }

    #[test]
    fn special_characters_in_names_are_escaped() {
        assert_patterns(&[], &[("a/w*ld{1}", true), ("a/wild1", false)], &[r"a/w\*ld\{1\}"]);
        assert_patterns(&[], &[("a/x!", true), ("a/x", false)], &[r"a/x\!"]);
    }
}
