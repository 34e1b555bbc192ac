//! Validates the specs of a registration (docs/protocol.md, "Registering tools"). Invalid specs are rejected
//! by name with a reason; valid ones are registered.

use std::collections::HashSet;
use std::sync::Arc;

use toolway_core::{CompileBudget, SpecCache, SpecError, ToolSpec};
use toolway_types::pattern::SchemaPatterns;
use toolway_types::text::shorten_error;
use toolway_types::{RawJson, SpecDocument};
use toolway_wire::gateway_message::Rejected;

use crate::rules::RegistrationAllowance;

/// Remaining capacity of a connection for tools.
#[derive(Debug)]
pub(crate) struct RegistrationCapacity {
    /// Number of further tools.
    pub(crate) tools: usize,
    /// Size of further specs, in bytes.
    pub(crate) bytes: usize,
    /// Names of the connection's registered tools. Registering them again needs no capacity for tools.
    pub(crate) own_names: HashSet<String>,
    /// Names of tools of other connections of the source, if the owner limits the number of the source's
    /// tools.
    pub(crate) other_names: HashSet<String>,
    /// Patterns of the tools that the connection keeps.
    pub(crate) patterns: SchemaPatterns,
}

/// The validated specs of one message.
#[derive(Debug, Default)]
pub(crate) struct CheckedSpecs {
    pub(crate) accepted: Vec<Arc<ToolSpec>>,
    /// Size of the accepted specs, in bytes.
    pub(crate) bytes: usize,
    pub(crate) rejected: Vec<Rejected>,
}

impl CheckedSpecs {
    /// Rejects all accepted specs for a reason.
    pub(crate) fn reject_all(&mut self, reason: &str) {
        self.bytes = 0;
        let free = MAX_REJECTED.saturating_sub(self.rejected.len());
        let rejected = self.accepted.drain(..).take(free);
        self.rejected.extend(
            rejected.map(|spec| Rejected { name: spec.name().to_string(), reason: reason.to_owned() }),
        );
    }
}

/// Maximum number of rejections in a response.
const MAX_REJECTED: usize = 4096;

/// Compiles specs. `allowed` has the owner's limits for the source.
pub(crate) fn check_specs(
    specs: &SpecCache,
    tools: &[RawJson],
    room: &RegistrationCapacity,
    allowed: &RegistrationAllowance,
) -> CheckedSpecs {
    let compile = |document, budget: &mut CompileBudget| Some(specs.compile_within(document, budget));
    check_each(tools, room, allowed, compile).unwrap_or_default()
}

/// Checks specs without compiling any. `None` if one of them is not in use by anybody yet.
pub(crate) fn check_known_specs(
    specs: &SpecCache,
    tools: &[RawJson],
    room: &RegistrationCapacity,
    allowed: &RegistrationAllowance,
) -> Option<CheckedSpecs> {
    let find = |document, budget: &mut CompileBudget| specs.find_within(&document, budget);
    check_each(tools, room, allowed, find)
}

/// Checks each spec with the result of `compile`. Ends with `None` as soon as that returns none.
fn check_each(
    tools: &[RawJson],
    room: &RegistrationCapacity,
    allowed: &RegistrationAllowance,
    mut compile: impl FnMut(SpecDocument, &mut CompileBudget) -> Option<Result<Arc<ToolSpec>, SpecError>>,
) -> Option<CheckedSpecs> {
    let mut checked = CheckedSpecs::default();
    let mut seen = HashSet::new();
    let (mut tools_left, mut bytes_left) = (room.tools, room.bytes);
    let most = allowed.max_tools().unwrap_or(usize::MAX);
    let mut budget = CompileBudget::of_source(room.patterns);
    let mut source_left = most.saturating_sub(room.own_names.union(&room.other_names).count());
    for raw in tools {
        let compiled = match read_document(raw) {
            Ok(document) => compile(document, &mut budget)?.map_err(|bad| bad.to_string()),
            Err(reason) => Err(reason),
        };
        let result = compiled.and_then(|spec| {
            let name = spec.name().as_str();
            if let Some(refusal) = allowed.refusal_reason(name) {
                return Err(refusal);
            }
            if !seen.insert(spec.name().clone()) {
                return Err("the message already has a tool of this name".to_owned());
            }
            let bytes = raw.get().len();
            if bytes > bytes_left {
                return Err(format!(
                    "the specs of a connection may have at most {} bytes in total",
                    room.bytes
                ));
            }
            let is_new = !room.own_names.contains(name);
            if is_new && tools_left == 0 {
                let most = room.tools + room.own_names.len();
                return Err(format!("a connection may register at most {most} tools"));
            }
            let is_new_to_source = is_new && !room.other_names.contains(name);
            if is_new_to_source && source_left == 0 {
                return Err(format!("the owner allows this source to register at most {most} tools"));
            }
            bytes_left -= bytes;
            checked.bytes += bytes;
            tools_left -= usize::from(is_new);
            source_left -= usize::from(is_new_to_source);
            Ok(spec)
        });
        match result {
            Ok(spec) => checked.accepted.push(spec),
            Err(reason) if checked.rejected.len() < MAX_REJECTED => {
                checked.rejected.push(Rejected { name: name_of(raw), reason });
            }
            Err(_) => {}
        }
    }
    Some(checked)
}

fn read_document(raw: &RawJson) -> Result<SpecDocument, String> {
    raw.to().map_err(|error| SpecError::Malformed(shorten_error(&error)).to_string())
}

/// Returns the start of a rejected spec's name as it was received, so that its device recognizes it.
fn name_of(raw: &RawJson) -> String {
    #[derive(serde::Deserialize)]
    struct NamedSpec {
        name: String,
    }
    let name = raw.to::<NamedSpec>().map(|named| named.name).unwrap_or_default();
    name.chars().take(MAX_SHOWN).collect()
}

/// Maximum length of a rejected name in a response, in characters.
const MAX_SHOWN: usize = 300;
