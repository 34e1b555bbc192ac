//! What a schema asks of whoever compiles it and checks values against it. Schemas come from strangers: a few
//! lines can say more than a machine can do, so each is measured first, and refused where it asks too much.

use std::collections::{HashMap, HashSet};

use serde_json::{Map, Value};

use super::parts::{Of, holds_schemas, inner, is_pointer, references, target};

/// Most values that a schema is made of.
pub(super) const MAX_VALUES: usize = 100_000;
/// Most schemas inside one another, references followed.
pub(super) const MAX_LEVELS: usize = 64;
/// Most schemas inside one another that speak of the same value.
pub(super) const MAX_SAME: usize = 32;
/// Most steps that checking a value with one of everything takes. References multiply them: each can stand for a
/// schema with two more.
pub(super) const MAX_STEPS: u64 = 1_000_000;
/// Most references in a schema some of whose references are no plain pointers, so that where they lead is known
/// only to the validator.
pub(super) const MAX_UNCLEAR: usize = 12;
/// Most schemas inside one another that speak of the same value of such a schema: all that there are, one behind
/// the other.
const MAX_UNCLEAR_LEVELS: usize = 40;
/// Most steps of such a schema, not counting its references.
const MAX_UNCLEAR_STEPS: u64 = 10_000;

/// What a schema asks.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(super) struct Shape {
    /// Steps that checking a value with one of everything takes, patterns among them.
    pub(super) weight: u32,
    /// Whether it refers to itself, so that values of any depth fit it.
    pub(super) is_recursive: bool,
    /// Whether it lets values be one of several things, so that there are as many reasons why one is none of them.
    pub(super) has_choices: bool,
    /// Whether some references lead where only the validator knows.
    pub(super) is_unclear: bool,
    /// Whether it has patterns, so that the length of texts counts.
    pub(super) has_patterns: bool,
}

impl Shape {
    /// Measures a schema.
    pub(super) fn of(schema: &Value) -> Result<Self, String> {
        if super::parts(schema, MAX_VALUES) > MAX_VALUES {
            return Err(format!("is made of more than {MAX_VALUES} values"));
        }
        let is_unclear = has_unclear_references(schema);
        if is_unclear {
            let count = count_references(schema);
            if count > MAX_UNCLEAR {
                return Err(format!(
                    "has {count} references, some of them other than pointers into it; then at most \
                     {MAX_UNCLEAR} are allowed"
                ));
            }
        }
        let levels = same_value(schema, is_unclear)?;
        if is_unclear && (levels + 1) * (count_references(schema) + 1) > MAX_UNCLEAR_LEVELS {
            return Err(
                "has too many schemas inside one another for references other than pointers into it".into()
            );
        }
        let mut look = Look::over(schema);
        look.shape.is_unclear = is_unclear;
        let measure = look.measure(schema, 0)?;
        let most = if is_unclear { MAX_UNCLEAR_STEPS } else { MAX_STEPS };
        if measure.steps > most {
            return Err(format!("takes more than {most} steps to check a value"));
        }
        let unclear = if is_unclear { 100 } else { 1 };
        let weight = measure.steps.saturating_add(measure.patterns).saturating_mul(unclear);
        Ok(Self {
            weight: u32::try_from(weight).unwrap_or(u32::MAX),
            is_recursive: !look.circles.is_empty(),
            has_patterns: measure.patterns > 0,
            ..look.shape
        })
    }
}

/// The schemas at which references close a circle: at least one of each circle.
pub(super) fn circles(schema: &Value) -> HashSet<*const Value> {
    let mut look = Look::over(schema);
    // One that is too deep has been refused before.
    let _ = look.measure(schema, 0);
    look.circles
}

/// What a part of a schema asks.
#[derive(Debug, Clone, Copy, Default)]
struct Measure {
    steps: u64,
    patterns: u64,
    levels: usize,
}

struct Look<'s> {
    root: &'s Value,
    /// What was found behind references; nothing yet where that is being looked at, so that a reference there is a
    /// circle. A validator goes round it as often as the value has parts, and it counts once.
    seen: HashMap<*const Value, Option<Measure>>,
    circles: HashSet<*const Value>,
    shape: Shape,
}

impl<'s> Look<'s> {
    fn over(root: &'s Value) -> Self {
        // What refers to the root closes a circle.
        let seen = HashMap::from([(std::ptr::from_ref(root), None)]);
        Self { root, seen, circles: HashSet::new(), shape: Shape::default() }
    }

    fn measure(&mut self, schema: &'s Value, level: usize) -> Result<Measure, String> {
        if level > MAX_LEVELS {
            return Err(format!("nests more than {MAX_LEVELS} levels deep, references followed"));
        }
        let Value::Object(fields) = schema else { return Ok(Measure { steps: 1, ..Measure::default() }) };
        self.shape.has_choices |= fields.contains_key("anyOf") || fields.contains_key("oneOf");
        let (mut same, mut parts) = (Measure::default(), Measure::default());
        for (of, schema) in inner(fields) {
            let found = self.measure(schema, level + 1)?;
            if of == Of::Same { &mut same } else { &mut parts }.add(found);
        }
        // What only the validator can follow counts as one step.
        let followed = if self.shape.is_unclear { None } else { Some(references(fields)) };
        for reference in followed.into_iter().flatten() {
            if let Some(target) = target(reference, self.root) {
                same.add(self.behind(target, level + 1)?);
            }
        }
        // To know what was not looked at, all that speaks of the same value is looked at twice more.
        let times = times_looked_at(fields);
        Ok(Measure {
            steps: own_steps(fields)
                .saturating_add(same.steps.saturating_mul(times))
                .saturating_add(parts.steps),
            patterns: own_patterns(fields)
                .saturating_add(same.patterns.saturating_mul(times))
                .saturating_add(parts.patterns),
            levels: same.levels.max(parts.levels),
        })
    }

    fn behind(&mut self, target: &'s Value, level: usize) -> Result<Measure, String> {
        match self.seen.get(&std::ptr::from_ref(target)) {
            Some(Some(found)) if level + found.levels <= MAX_LEVELS => return Ok(*found),
            // Too deep: looked at again, it says so.
            Some(Some(_)) | None => {}
            Some(None) => {
                self.circles.insert(target);
                return Ok(Measure { steps: 1, ..Measure::default() });
            }
        }
        self.seen.insert(target, None);
        let found = self.measure(target, level)?;
        self.seen.insert(target, Some(found));
        Ok(found)
    }
}

impl Measure {
    fn add(&mut self, inner: Self) {
        self.steps = self.steps.saturating_add(inner.steps);
        self.patterns = self.patterns.saturating_add(inner.patterns);
        self.levels = self.levels.max(inner.levels + 1);
    }
}

/// How often what speaks of the same value is looked at.
pub(super) fn times_looked_at(fields: &Map<String, Value>) -> u64 {
    let marks = |keyword| fields.get(keyword).is_some_and(|schema| *schema != Value::Bool(true));
    if marks("unevaluatedProperties") || marks("unevaluatedItems") { 3 } else { 1 }
}

/// The steps of a schema's own keywords: the names it requires, the values it lists.
fn own_steps(fields: &Map<String, Value>) -> u64 {
    let own = fields.iter().filter(|(keyword, _)| !holds_schemas(keyword));
    let own: usize = own.map(|(_, value)| super::parts(value, MAX_VALUES)).sum();
    1 + own as u64
}

fn own_patterns(fields: &Map<String, Value>) -> u64 {
    let pattern = fields.get("pattern").and_then(Value::as_str);
    let named = fields.get("patternProperties").and_then(Value::as_object);
    let patterns = pattern.into_iter().chain(named.into_iter().flat_map(Map::keys).map(String::as_str));
    patterns.map(pattern_weight).fold(0, u64::saturating_add)
}

/// How much a pattern that looks around or back may cost, which is done by trying.
const TRYING: u64 = 10_000;

/// About how many states a pattern has: its length, and how often its parts may be repeated. Times the length of a
/// text, that is what matching takes.
pub(super) fn pattern_weight(pattern: &str) -> u64 {
    let repeated = pattern.split('{').skip(1).filter_map(|rest| rest.split('}').next());
    let counts =
        repeated.flat_map(|bounds| bounds.split(',')).filter_map(|bound| bound.trim().parse::<u64>().ok());
    let states = counts.fold(pattern.len() as u64, u64::saturating_add);
    if looks_around(pattern.as_bytes()) { states.saturating_add(TRYING) } else { states }
}

/// Whether a pattern may be one that can't be matched in linear time.
fn looks_around(pattern: &[u8]) -> bool {
    let behind = pattern.windows(4).any(|part| matches!(part, [b'(', b'?', b'<', b'=' | b'!']));
    let ahead = pattern.windows(3).any(|part| matches!(part, [b'(', b'?', b'=' | b'!' | b'>' | b'(']));
    let back = pattern.windows(2).any(|part| {
        matches!(part, [b'\\', b'0'..=b'9' | b'k' | b'g' | b'G' | b'K'] | [b'*' | b'+' | b'?' | b'}', b'+'])
    });
    behind || ahead || back
}

/// Refuses a schema that leads back to itself without having looked at a part of the value, which says nothing and
/// never ends, and one that has too much inside one another of the same value. Gives how much it has.
fn same_value(root: &Value, is_unclear: bool) -> Result<usize, String> {
    /// How far a schema goes down; nothing yet where it is being looked at.
    type Seen = HashMap<*const Value, Option<usize>>;
    fn down<'s>(
        schema: &'s Value,
        root: &'s Value,
        follow: bool,
        level: usize,
        seen: &mut Seen,
        todo: &mut Vec<&'s Value>,
    ) -> Result<usize, String> {
        let too_deep = || {
            Err(format!("has more than {MAX_SAME} schemas inside one another that speak of the same value"))
        };
        if level > MAX_SAME {
            return too_deep();
        }
        let Value::Object(fields) = schema else { return Ok(0) };
        match seen.get(&std::ptr::from_ref(schema)) {
            Some(Some(levels)) if level + levels > MAX_SAME => return too_deep(),
            Some(Some(levels)) => return Ok(*levels),
            Some(None) => return Err("refers to itself without looking at a part of the value".to_owned()),
            None => {}
        }
        seen.insert(schema, None);
        let mut levels = 0;
        for (of, inner) in inner(fields) {
            match of {
                Of::Same => levels = levels.max(1 + down(inner, root, follow, level + 1, seen, todo)?),
                Of::Part => todo.push(inner),
            }
        }
        for target in references(fields).filter(|_| follow).filter_map(|reference| target(reference, root)) {
            levels = levels.max(1 + down(target, root, follow, level + 1, seen, todo)?);
        }
        seen.insert(schema, Some(levels));
        Ok(levels)
    }
    let (mut seen, mut todo) = (Seen::new(), vec![root]);
    while let Some(schema) = todo.pop() {
        if !seen.contains_key(&std::ptr::from_ref(schema)) {
            down(schema, root, !is_unclear, 0, &mut seen, &mut todo)?;
        }
    }
    Ok(seen.into_values().flatten().max().unwrap_or(0))
}

/// Whether some reference is no plain pointer, or may be one into a part that has a name of its own.
fn has_unclear_references(root: &Value) -> bool {
    fn names_itself(value: &Value, names: &[&str]) -> bool {
        let has_name = |inner: &Value| names.iter().any(|name| inner.get(name).is_some_and(Value::is_string));
        values(value).any(|inner| has_name(inner) || names_itself(inner, names))
    }
    fn is_unclear(value: &Value) -> bool {
        let odd = |(keyword, reference): (&str, &Value)| {
            reference.is_string() && (keyword != "$ref" || !is_pointer(reference))
        };
        let keywords = super::parts::REFERENCES.iter().copied();
        keywords.filter_map(|keyword| Some((keyword, value.get(keyword)?))).any(odd)
            || values(value).any(is_unclear)
    }
    // In draft 4 the name's keyword is one that examples have too.
    let is_draft_4 =
        root.get("$schema").and_then(Value::as_str).is_some_and(|draft| draft.contains("draft-04"));
    let names = if is_draft_4 { ["$schema", "id"] } else { ["$schema", "$id"] };
    is_unclear(root) || (count_references(root) > 0 && names_itself(root, &names))
}

fn count_references(value: &Value) -> usize {
    let own = value.as_object().map_or(0, |fields| references(fields).filter(|it| it.is_string()).count());
    own + values(value).map(count_references).sum::<usize>()
}

fn values(value: &Value) -> impl Iterator<Item = &Value> {
    let items = value.as_array().into_iter().flatten();
    items.chain(value.as_object().into_iter().flat_map(Map::values))
}

#[cfg(test)]
mod tests;
