//! Measures the cost of compiling a schema and of validating values against it. Schemas come from untrusted
//! sources, and a few lines can describe endless work, so each schema is measured first and refused if it is
//! too expensive.

use std::collections::{HashMap, HashSet};

use serde_json::{Map, Value};
use toolway_types::pattern::PatternCost;

use super::subschemas::{
    SubschemaTarget, holds_schemas, is_pointer, references, resolve_reference, subschemas,
};

/// Maximum number of JSON values in a schema.
pub(super) const MAX_VALUES: usize = 100_000;
/// Maximum nesting depth of schemas, including references.
pub(super) const MAX_LEVELS: usize = 64;
/// Maximum nesting depth of schemas that apply to the same value.
pub(super) const MAX_SAME_VALUE_LEVELS: usize = 32;
/// Maximum number of steps to validate a value that has one of everything. References multiply steps: each
/// may stand for a schema with two more.
pub(super) const MAX_STEPS: u64 = 1_000_000;
/// Maximum number of references in a schema with references that are not plain pointers, whose target only
/// the validator knows.
pub(super) const MAX_UNRESOLVED_REFERENCES: usize = 12;
/// Maximum nesting depth of schemas that apply to the same value in such a schema: all of them, in sequence.
const MAX_UNRESOLVED_LEVELS: usize = 40;
/// Maximum number of steps of such a schema, not counting its references.
const MAX_UNRESOLVED_STEPS: u64 = 10_000;

/// The measured complexity of a schema.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(super) struct SchemaComplexity {
    /// Number of steps to validate a value that has one of everything, including patterns.
    pub(super) weight: u32,
    /// True if the schema refers to itself, so that values of any depth can be valid.
    pub(super) is_recursive: bool,
    /// True if the schema has alternatives, so that a violation has as many reasons.
    pub(super) has_choices: bool,
    /// True if the targets of some references are only known to the validator.
    pub(super) has_unresolved_references: bool,
    /// True if the schema has patterns, so that the length of texts matters.
    pub(super) has_patterns: bool,
}

impl SchemaComplexity {
    /// Measures a schema.
    pub(super) fn measure(schema: &Value) -> Result<Self, String> {
        if super::count_values(schema, MAX_VALUES) > MAX_VALUES {
            return Err(format!("is made of more than {MAX_VALUES} values"));
        }
        let is_unclear = has_unresolved_references(schema);
        if is_unclear {
            let count = count_references(schema);
            if count > MAX_UNRESOLVED_REFERENCES {
                return Err(format!(
                    "has {count} references, some of them other than pointers into it; then at most \
                     {MAX_UNRESOLVED_REFERENCES} are allowed"
                ));
            }
        }
        let levels = check_same_value_levels(schema, is_unclear)?;
        if is_unclear && (levels + 1) * (count_references(schema) + 1) > MAX_UNRESOLVED_LEVELS {
            return Err(
                "has too many schemas inside one another for references other than pointers into it".into()
            );
        }
        let mut look = CostMeasurer::new(schema);
        look.complexity.has_unresolved_references = is_unclear;
        let measure = look.measure(schema, 0)?;
        let most = if is_unclear { MAX_UNRESOLVED_STEPS } else { MAX_STEPS };
        if measure.steps > most {
            return Err(format!("takes more than {most} steps to check a value"));
        }
        let unclear = if is_unclear { 100 } else { 1 };
        let weight = measure.steps.saturating_add(measure.patterns).saturating_mul(unclear);
        Ok(Self {
            weight: u32::try_from(weight).unwrap_or(u32::MAX),
            is_recursive: !look.cycles.is_empty(),
            has_patterns: measure.patterns > 0,
            ..look.complexity
        })
    }
}

/// Finds the schemas at which references form a cycle: at least one of each cycle.
pub(super) fn find_cycles(schema: &Value) -> HashSet<*const Value> {
    let mut look = CostMeasurer::new(schema);
    // A schema that is too deep was refused before.
    let _ = look.measure(schema, 0);
    look.cycles
}

/// Cost of a part of a schema.
#[derive(Debug, Clone, Copy, Default)]
struct SchemaCost {
    steps: u64,
    patterns: u64,
    levels: usize,
}

struct CostMeasurer<'s> {
    root: &'s Value,
    /// Costs of referenced schemas; None while a schema is being measured, so that a reference to it is a
    /// cycle. A validator follows a cycle once per part of the value, so it counts once.
    seen: HashMap<*const Value, Option<SchemaCost>>,
    cycles: HashSet<*const Value>,
    complexity: SchemaComplexity,
}

impl<'s> CostMeasurer<'s> {
    fn new(root: &'s Value) -> Self {
        // A reference to the root closes a cycle.
        let seen = HashMap::from([(std::ptr::from_ref(root), None)]);
        Self { root, seen, cycles: HashSet::new(), complexity: SchemaComplexity::default() }
    }

    fn measure(&mut self, schema: &'s Value, level: usize) -> Result<SchemaCost, String> {
        if level > MAX_LEVELS {
            return Err(format!("nests more than {MAX_LEVELS} levels deep, references followed"));
        }
        let Value::Object(fields) = schema else {
            return Ok(SchemaCost { steps: 1, ..SchemaCost::default() });
        };
        self.complexity.has_choices |= fields.contains_key("anyOf") || fields.contains_key("oneOf");
        let (mut same, mut parts) = (SchemaCost::default(), SchemaCost::default());
        for (of, schema) in subschemas(fields) {
            let found = self.measure(schema, level + 1)?;
            if of == SubschemaTarget::SameValue { &mut same } else { &mut parts }.add(found);
        }
        // A reference that only the validator can resolve counts as one step.
        let followed =
            if self.complexity.has_unresolved_references { None } else { Some(references(fields)) };
        for reference in followed.into_iter().flatten() {
            if let Some(target) = resolve_reference(reference, self.root) {
                same.add(self.measure_reference(target, level + 1)?);
            }
        }
        // To find unevaluated parts, the validator visits all schemas of the same value twice more.
        let times = visit_count(fields);
        Ok(SchemaCost {
            steps: count_own_steps(fields)
                .saturating_add(same.steps.saturating_mul(times))
                .saturating_add(parts.steps),
            patterns: own_pattern_weight(fields)
                .saturating_add(same.patterns.saturating_mul(times))
                .saturating_add(parts.patterns),
            levels: same.levels.max(parts.levels),
        })
    }

    fn measure_reference(&mut self, target: &'s Value, level: usize) -> Result<SchemaCost, String> {
        match self.seen.get(&std::ptr::from_ref(target)) {
            Some(Some(found)) if level + found.levels <= MAX_LEVELS => return Ok(*found),
            // Too deep: measuring again returns the error.
            Some(Some(_)) | None => {}
            Some(None) => {
                self.cycles.insert(target);
                return Ok(SchemaCost { steps: 1, ..SchemaCost::default() });
            }
        }
        self.seen.insert(target, None);
        let found = self.measure(target, level)?;
        self.seen.insert(target, Some(found));
        Ok(found)
    }
}

impl SchemaCost {
    fn add(&mut self, inner: Self) {
        self.steps = self.steps.saturating_add(inner.steps);
        self.patterns = self.patterns.saturating_add(inner.patterns);
        self.levels = self.levels.max(inner.levels + 1);
    }
}

/// Number of times that the schemas of the same value are visited.
pub(super) fn visit_count(fields: &Map<String, Value>) -> u64 {
    let marks = |keyword| fields.get(keyword).is_some_and(|schema| *schema != Value::Bool(true));
    if marks("unevaluatedProperties") || marks("unevaluatedItems") { 3 } else { 1 }
}

/// Steps of a schema's own keywords, for example the names in `required` and the values in `enum`.
fn count_own_steps(fields: &Map<String, Value>) -> u64 {
    let own = fields.iter().filter(|(keyword, _)| !holds_schemas(keyword));
    let own: usize = own.map(|(_, value)| super::count_values(value, MAX_VALUES)).sum();
    1 + own as u64
}

fn own_pattern_weight(fields: &Map<String, Value>) -> u64 {
    let pattern = fields.get("pattern").and_then(Value::as_str);
    let named = fields.get("patternProperties").and_then(Value::as_object);
    let patterns = pattern.into_iter().chain(named.into_iter().flat_map(Map::keys).map(String::as_str));
    patterns.map(pattern_weight).fold(0, u64::saturating_add)
}

/// Factor for patterns with look-around or back-references, which need backtracking.
const BACKTRACKING_WEIGHT: u64 = 10_000;

/// Approximate number of states of a pattern, from its length and its repetitions. Matching takes this number
/// times the length of the text.
pub(super) fn pattern_weight(pattern: &str) -> u64 {
    // A pattern without a cost was refused before.
    let positions = PatternCost::of(pattern).map_or(u64::MAX, |cost| cost.positions);
    let repeated = pattern.split('{').skip(1).filter_map(|rest| rest.split('}').next());
    let counts =
        repeated.flat_map(|bounds| bounds.split(',')).filter_map(|bound| bound.trim().parse::<u64>().ok());
    let states = counts.fold(pattern.len() as u64, u64::saturating_add).max(positions);
    if needs_backtracking(pattern.as_bytes()) { states.saturating_add(BACKTRACKING_WEIGHT) } else { states }
}

/// True if a pattern may not match in linear time.
fn needs_backtracking(pattern: &[u8]) -> bool {
    let behind = pattern.windows(4).any(|part| matches!(part, [b'(', b'?', b'<', b'=' | b'!']));
    let ahead = pattern.windows(3).any(|part| matches!(part, [b'(', b'?', b'=' | b'!' | b'>' | b'(']));
    let back = pattern.windows(2).any(|part| {
        matches!(part, [b'\\', b'0'..=b'9' | b'k' | b'g' | b'G' | b'K'] | [b'*' | b'+' | b'?' | b'}', b'+'])
    });
    behind || ahead || back
}

/// Refuses a schema that refers to itself for the same value, which never ends, and one with too many nested
/// schemas for the same value. Returns the depth.
fn check_same_value_levels(root: &Value, is_unclear: bool) -> Result<usize, String> {
    /// Depth of each schema; None while it is being measured.
    type KnownDepths = HashMap<*const Value, Option<usize>>;
    fn count_levels<'s>(
        schema: &'s Value,
        root: &'s Value,
        follow: bool,
        level: usize,
        seen: &mut KnownDepths,
        todo: &mut Vec<&'s Value>,
    ) -> Result<usize, String> {
        let too_deep = || {
            Err(format!(
                "has more than {MAX_SAME_VALUE_LEVELS} schemas inside one another that speak of the same value"
            ))
        };
        if level > MAX_SAME_VALUE_LEVELS {
            return too_deep();
        }
        let Value::Object(fields) = schema else { return Ok(0) };
        match seen.get(&std::ptr::from_ref(schema)) {
            Some(Some(levels)) if level + levels > MAX_SAME_VALUE_LEVELS => return too_deep(),
            Some(Some(levels)) => return Ok(*levels),
            Some(None) => return Err("refers to itself without looking at a part of the value".to_owned()),
            None => {}
        }
        seen.insert(schema, None);
        let mut levels = 0;
        for (of, inner) in subschemas(fields) {
            match of {
                SubschemaTarget::SameValue => {
                    levels = levels.max(1 + count_levels(inner, root, follow, level + 1, seen, todo)?)
                }
                SubschemaTarget::ValuePart => todo.push(inner),
            }
        }
        for target in
            references(fields).filter(|_| follow).filter_map(|reference| resolve_reference(reference, root))
        {
            levels = levels.max(1 + count_levels(target, root, follow, level + 1, seen, todo)?);
        }
        seen.insert(schema, Some(levels));
        Ok(levels)
    }
    let (mut seen, mut todo) = (KnownDepths::new(), vec![root]);
    while let Some(schema) = todo.pop() {
        if !seen.contains_key(&std::ptr::from_ref(schema)) {
            count_levels(schema, root, !is_unclear, 0, &mut seen, &mut todo)?;
        }
    }
    Ok(seen.into_values().flatten().max().unwrap_or(0))
}

/// True if a reference is not a plain pointer, or may point into a part with its own id.
fn has_unresolved_references(root: &Value) -> bool {
    fn has_identifier(value: &Value, names: &[&str]) -> bool {
        let has_name = |inner: &Value| names.iter().any(|name| inner.get(name).is_some_and(Value::is_string));
        child_values(value).any(|inner| has_name(inner) || has_identifier(inner, names))
    }
    fn has_unresolved(value: &Value) -> bool {
        let odd = |(keyword, reference): (&str, &Value)| {
            reference.is_string() && (keyword != "$ref" || !is_pointer(reference))
        };
        let keywords = super::subschemas::REFERENCES.iter().copied();
        keywords.filter_map(|keyword| Some((keyword, value.get(keyword)?))).any(odd)
            || child_values(value).any(has_unresolved)
    }
    // In draft 4 the keyword is `id`, which examples may contain too.
    let is_draft_4 =
        root.get("$schema").and_then(Value::as_str).is_some_and(|draft| draft.contains("draft-04"));
    let names = if is_draft_4 { ["$schema", "id"] } else { ["$schema", "$id"] };
    has_unresolved(root) || (count_references(root) > 0 && has_identifier(root, &names))
}

fn count_references(value: &Value) -> usize {
    let own = value.as_object().map_or(0, |fields| references(fields).filter(|it| it.is_string()).count());
    own + child_values(value).map(count_references).sum::<usize>()
}

fn child_values(value: &Value) -> impl Iterator<Item = &Value> {
    let items = value.as_array().into_iter().flatten();
    items.chain(value.as_object().into_iter().flat_map(Map::values))
}

#[cfg(test)]
mod tests;
