//! Optional properties that a caller gives as null. Models often write null for a property that they want to leave
//! out. If the schema does not allow null there, the property counts as absent. Required properties stay.

use crate::arguments::Arguments;
use crate::schema::Schema;

/// Removes optional properties that are null although the schema does not allow it. The result may still be invalid;
/// it has [`Arguments::given`] if anything was removed.
pub(super) fn without_optional_nulls(arguments: Arguments, schema: &Schema) -> Arguments {
    let mut nulls = schema.null_violations(arguments.value());
    if nulls.is_empty() {
        return arguments;
    }
    let Some(mut changed) = arguments.without_members(&nulls) else { return arguments };
    let missing = schema.missing_properties(changed.value());
    if !nulls.is_disjoint(&missing) {
        nulls = &nulls - &missing;
        match arguments.without_members(&nulls) {
            Some(fewer) if !nulls.is_empty() => changed = fewer,
            _ => return arguments,
        }
    }
    if !schema.has_choices() || !schema.is_valid(changed.value()) {
        return changed;
    }
    // A null may violate only an alternative that does not apply. It stays if the arguments are valid with it.
    for null in nulls.clone() {
        nulls.remove(&null);
        match arguments.without_members(&nulls) {
            Some(fewer) if schema.is_valid(fewer.value()) => changed = fewer,
            _ => {
                nulls.insert(null);
            }
        }
    }
    changed
}
