//! Removes members of objects from JSON text. All other values keep their bytes.

use std::collections::BTreeMap;
use std::fmt;

use serde::de::{Deserialize, Deserializer, MapAccess, Visitor};
use serde::ser::{Serialize, SerializeMap, Serializer};
use serde_json::value::RawValue;
use toolway_types::RawJson;

/// Removes the members at these JSON pointers; `None` if one of them is not a member of an object.
pub(super) fn remove_members<'p>(
    raw: &RawJson,
    pointers: impl IntoIterator<Item = &'p str>,
) -> Option<RawJson> {
    let mut tree = RemovalTree::default();
    for pointer in pointers {
        tree.add(pointer.strip_prefix('/')?.split('/'));
    }
    let text: &RawValue = serde_json::from_str(raw.get()).ok()?;
    Some(RawJson::from(tree.apply(text)?))
}

/// The members to remove, by the path to them. A leaf is removed.
#[derive(Default)]
struct RemovalTree(BTreeMap<String, RemovalTree>);

impl RemovalTree {
    fn add<'t>(&mut self, tokens: impl Iterator<Item = &'t str>) {
        let mut node = self;
        for token in tokens {
            // RFC 6901, section 4: first `~1`, then `~0`.
            node = node.0.entry(token.replace("~1", "/").replace("~0", "~")).or_default();
        }
    }

    fn apply(&self, text: &RawValue) -> Option<Box<RawValue>> {
        if text.get().starts_with('[') {
            let mut items: Vec<Box<RawValue>> = serde_json::from_str(text.get()).ok()?;
            for (index, inner) in &self.0 {
                let item = items.get_mut(index.parse::<usize>().ok()?)?;
                if inner.0.is_empty() {
                    return None;
                }
                *item = inner.apply(item)?;
            }
            return serde_json::value::to_raw_value(&items).ok();
        }
        let RawMembers(mut members) = serde_json::from_str(text.get()).ok()?;
        for (name, inner) in &self.0 {
            let at = members.iter().position(|(known, _)| known == name)?;
            if inner.0.is_empty() {
                members.remove(at);
            } else if let Some((_, value)) = members.get_mut(at) {
                *value = inner.apply(value)?;
            }
        }
        serde_json::value::to_raw_value(&RawMembers(members)).ok()
    }
}

/// The members of an object in their order, with the bytes of their values.
struct RawMembers(Vec<(String, Box<RawValue>)>);

impl<'de> Deserialize<'de> for RawMembers {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct MembersVisitor;
        impl<'de> Visitor<'de> for MembersVisitor {
            type Value = RawMembers;

            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("an object")
            }

            fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<RawMembers, A::Error> {
                let mut members = Vec::new();
                while let Some(member) = map.next_entry()? {
                    members.push(member);
                }
                Ok(RawMembers(members))
            }
        }
        deserializer.deserialize_map(MembersVisitor)
    }
}

impl Serialize for RawMembers {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let mut map = serializer.serialize_map(Some(self.0.len()))?;
        for (name, value) in &self.0 {
            map.serialize_entry(name, value)?;
        }
        map.end()
    }
}
