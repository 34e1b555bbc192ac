//! Validates definitions. The model's existence is not checked, because it can change later.

use toolway_core::AgentScope;
use toolway_core::policy::definition::ApprovalMode;

use super::error::AgentProblem;
use crate::definition::{AgentDefinition, TurnLimits};

/// Maximum length of a name, in characters.
const MAX_NAME: usize = 64;
/// Maximum length of a description, in bytes.
const MAX_DESCRIPTION: usize = 4 << 10;
/// Maximum length of a prompt, in bytes.
const MAX_PROMPT: usize = 256 << 10;
/// Maximum number of tool patterns.
const MAX_PATTERNS: usize = 1000;
/// Maximum length of a pattern, in bytes.
const MAX_PATTERN: usize = 512;
/// Maximum length of a model's `NAME/ID`, in bytes.
const MAX_MODEL: usize = 256;
/// Maximum length of a time zone, in bytes.
const MAX_TIME_ZONE: usize = 100;
/// Maximum number of stop sequences.
const MAX_STOP_SEQUENCES: usize = 16;

/// Maximum value of `max_tools`.
const MAX_TOOLS: usize = 100_000;
/// Maximum value of `max_output_tokens`.
const MAX_TOKENS: u64 = 1_000_000_000_000;
/// Maximum absolute value of a seed.
const MAX_SEED: u64 = 1_000_000_000_000_000;
/// Maximum of `temperature` and `top_p`. Models accept less; their providers report it.
const MAX_TEMPERATURE: f64 = 100.0;
/// Minimum of a limit in money or seconds.
const MIN_LIMIT: f64 = 0.001;
/// Maximum of a limit in money or seconds.
const MAX_LIMIT: f64 = 1e9;

/// Validates a definition. Returns its scope, or all its problems.
pub(super) fn check(agent: &AgentDefinition) -> Result<AgentScope, Vec<AgentProblem>> {
    let mut problems = AgentProblems::default();
    if !is_name(&agent.name) {
        problems.add("name", name_form(&agent.name));
    }
    if agent.description.len() > MAX_DESCRIPTION {
        problems.add("description", format!("must have at most {MAX_DESCRIPTION} bytes"));
    }
    if agent.prompt.len() > MAX_PROMPT {
        problems.add("prompt", format!("must have at most {MAX_PROMPT} bytes"));
    }
    if let Some(model) = &agent.model {
        check_model(model, &mut problems);
    }
    check_options(agent, &mut problems);
    check_limits(agent.limits, &mut problems);
    if agent.max_tools.is_some_and(|most| most > MAX_TOOLS) {
        problems.add("max_tools", format!("must be at most {MAX_TOOLS}"));
    }
    if agent.max_tools == Some(0) {
        problems.add("max_tools", "must be at least 1; for an agent without tools, set tools = []");
    }
    if agent.time_zone.as_ref().is_some_and(|zone| zone.is_empty() || zone.len() > MAX_TIME_ZONE) {
        let problem =
            format!("write a name of the IANA database with at most {MAX_TIME_ZONE} bytes: Europe/Berlin");
        problems.add("time_zone", problem);
    }
    let scope = check_tools(agent, &mut problems);
    match scope {
        Some(scope) if problems.0.is_empty() => Ok(scope),
        _ => Err(problems.0),
    }
}

#[derive(Default)]
struct AgentProblems(Vec<AgentProblem>);

impl AgentProblems {
    fn add(&mut self, field: impl Into<String>, problem: impl Into<String>) {
        self.0.push(AgentProblem { field: field.into(), problem: problem.into() });
    }
}

/// Returns whether a name is valid for an agent: `[a-z][a-z0-9_-]{0,63}`.
pub(super) fn is_name(name: &str) -> bool {
    let fits = |byte: u8| byte.is_ascii_lowercase() || byte.is_ascii_digit() || matches!(byte, b'_' | b'-');
    name.len() <= MAX_NAME
        && name.starts_with(|first: char| first.is_ascii_lowercase())
        && name.bytes().all(fits)
}

fn name_form(name: &str) -> String {
    format!(
        "{name:?} is not a valid name of an agent: use a lower-case letter, then at most {} lower-case letters, digits, _ and -",
        MAX_NAME - 1
    )
}

fn check_model(model: &str, problems: &mut AgentProblems) {
    let is_whole = match model.split_once('/') {
        Some((name, id)) => !name.is_empty() && !id.is_empty(),
        None => !model.is_empty(),
    };
    if !is_whole || model.len() > MAX_MODEL || !model.bytes().all(|byte| byte.is_ascii_graphic()) {
        problems.add("model", format!("{model:?} does not have the form NAME/ID"));
    }
}

fn check_options(agent: &AgentDefinition, problems: &mut AgentProblems) {
    let options = &agent.options;
    if options.max_output_tokens.is_some_and(|tokens| !(1..=MAX_TOKENS).contains(&tokens)) {
        problems.add("options.max_output_tokens", format!("must be from 1 to {MAX_TOKENS}"));
    }
    if options.seed.is_some_and(|seed| seed.unsigned_abs() > MAX_SEED) {
        problems.add("options.seed", format!("must be from -{MAX_SEED} to {MAX_SEED}"));
    }
    for (field, number) in [("temperature", options.temperature), ("top_p", options.top_p)] {
        if number.is_some_and(|number| !(0.0..=MAX_TEMPERATURE).contains(&number)) {
            problems.add(format!("options.{field}"), format!("must be a number from 0 to {MAX_TEMPERATURE}"));
        }
    }
    if options.stop.len() > MAX_STOP_SEQUENCES || options.stop.iter().any(String::is_empty) {
        problems
            .add("options.stop", format!("must have at most {MAX_STOP_SEQUENCES} texts, none of them empty"));
    }
}

fn check_limits(limits: TurnLimits, problems: &mut AgentProblems) {
    let TurnLimits { rounds, cost, seconds } = limits;
    if rounds == Some(0) {
        problems.add("limits.rounds", "must be at least 1; remove it for no limit");
    }
    for (field, number) in [("cost", cost), ("seconds", seconds)] {
        if number.is_some_and(|number| !(MIN_LIMIT..=MAX_LIMIT).contains(&number)) {
            let words = format!("must be from {MIN_LIMIT} to {MAX_LIMIT}; remove it for no limit");
            problems.add(format!("limits.{field}"), words);
        }
    }
}

fn check_tools(agent: &AgentDefinition, problems: &mut AgentProblems) -> Option<AgentScope> {
    let tools = &agent.tools;
    if tools.len() > MAX_PATTERNS {
        problems.add("tools", format!("has {} patterns; the maximum is {MAX_PATTERNS}", tools.len()));
        return None;
    }
    let before = problems.0.len();
    for (at, pattern) in tools.iter().enumerate() {
        let place = format!("tools[{at}]");
        if pattern.len() > MAX_PATTERN {
            problems.add(place, format!("must have at most {MAX_PATTERN} bytes"));
        } else if let Err(bad) = AgentScope::new([pattern], ApprovalMode::Never) {
            problems.add(place, bad.to_string());
        } else if !can_match(pattern) {
            problems.add(place, format!("{pattern:?} matches no tool; patterns have the form source/tool"));
        }
    }
    if !tools.is_empty() && tools.iter().all(|pattern| pattern.starts_with('!')) {
        problems.add("tools", "has only exclusions; add \"*/*\" before them");
    }
    if problems.0.len() > before {
        return None;
    }
    let approval = agent.approval.unwrap_or(ApprovalMode::Never);
    match AgentScope::new(tools, approval) {
        Ok(scope) => Some(scope),
        // Each pattern is valid on its own.
        Err(bad) => {
            problems.add("tools", bad.to_string());
            None
        }
    }
}

/// Returns whether any id can match.
fn can_match(pattern: &str) -> bool {
    let pattern = pattern.strip_prefix('!').unwrap_or(pattern);
    pattern.contains('/') || pattern.starts_with(['*', '?', '[', '{'])
}

#[cfg(test)]
mod tests;
