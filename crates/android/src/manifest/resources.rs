//! The resource table of an APK (`resources.arsc`, `ResTable` of the platform's `ResourceTypes.h`), limited
//! to what a manifest refers to. Among values for different languages and screens, the one without conditions
//! is used, as on a phone with a language that the app does not support.

use std::collections::BTreeMap;

use super::bytes::{ByteSlice, ResourceChunk};
use super::strings::{STRING_POOL, StringPool};
use super::value::{RawResourceValue, ResourceValue};

/// `RES_TABLE_TYPE`.
const TABLE: u16 = 0x0002;
const PACKAGE: u16 = 0x0200;
const TYPE: u16 = 0x0201;
/// Maximum length of a chain of references; a longer one counts as unresolved.
const MAX_CHAIN: usize = 16;
/// Maximum number of resource types times configurations; the largest apps have some thousands.
const MAX_TYPES: usize = 16_384;
const NO_ENTRY: u32 = u32::MAX;
/// `ResTable_type::FLAG_SPARSE` and `FLAG_OFFSET16`.
const SPARSE: u8 = 1;
const OFFSET16: u8 = 2;
/// `ResTable_entry::FLAG_COMPLEX` and `FLAG_COMPACT`.
const COMPLEX: u16 = 1;
const COMPACT: u16 = 8;

/// A resource table that is read on demand.
#[derive(Debug)]
pub(super) struct ResourceTable<'a> {
    strings: StringPool<'a>,
    /// By package and type, one for each configuration.
    types: BTreeMap<(u32, u32), Vec<ResourceChunk<'a>>>,
}

impl<'a> ResourceTable<'a> {
    /// Returns a table without resources.
    pub(super) fn none() -> Self {
        Self { strings: StringPool::none(), types: BTreeMap::new() }
    }

    /// Parses a table; `None` if the bytes are not a table.
    pub(super) fn read(bytes: &'a [u8]) -> Option<Self> {
        let table = ResourceChunk::first(ByteSlice::new(bytes)).filter(|it| it.kind == TABLE)?;
        let mut read = Self::none();
        let mut count = 0;
        for chunk in table.children(table.header) {
            match chunk.kind {
                STRING_POOL => read.strings = StringPool::read(chunk)?,
                PACKAGE => {
                    let package = chunk.all.u32(8)?;
                    let left = MAX_TYPES.saturating_sub(count);
                    for types in chunk.children(chunk.header).filter(|it| it.kind == TYPE).take(left) {
                        let kind = u32::from(types.all.u8(8)?);
                        read.types.entry((package, kind)).or_default().push(types);
                        count += 1;
                    }
                }
                _ => {}
            }
        }
        Some(read)
    }

    /// Returns the resolved value of a resource.
    pub(super) fn resolve(&self, id: u32) -> ResourceValue {
        let mut at = id;
        for _ in 0..MAX_CHAIN {
            match self.entry(at) {
                Some(raw) if raw.is_reference() => at = raw.data,
                Some(raw) => {
                    return ResourceValue::of(raw, |index| self.strings.get(index))
                        .unwrap_or(ResourceValue::Reference(id));
                }
                None => return ResourceValue::Reference(id),
            }
        }
        ResourceValue::Reference(id)
    }

    /// Returns the value of the configuration that fits best.
    fn entry(&self, id: u32) -> Option<RawResourceValue> {
        let (package, kind, entry) = (id >> 24, (id >> 16) & 0xff, id & 0xffff);
        let mut best: Option<(ConfigurationFit, RawResourceValue)> = None;
        for types in self.types.get(&(package, kind)).into_iter().flatten() {
            let fit = ConfigurationFit::of(*types);
            if best.is_none_or(|(best, _)| best < fit)
                && let Some(value) = value_in(*types, entry)
            {
                best = Some((fit, value));
            }
        }
        best.map(|(_, value)| value)
    }
}

/// Fit of a configuration for a phone with unknown properties.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
enum ConfigurationFit {
    /// The configuration is for one language.
    Language,
    /// The configuration is for some screens or versions.
    Condition,
    /// The configuration has no conditions.
    Default,
}

impl ConfigurationFit {
    /// Rates a chunk of `RES_TABLE_TYPE_TYPE`, whose configuration starts at byte 20 with its own size.
    fn of(types: ResourceChunk<'_>) -> Self {
        let size = types.all.size(20).unwrap_or_default().min(types.all.len());
        let config = types.all.slice(24, size.saturating_sub(4)).unwrap_or(ByteSlice::new(&[]));
        // mcc and mnc come first, then language and country.
        if config.u32(4).is_some_and(|locale| locale != 0) {
            return Self::Language;
        }
        if config.as_slice().iter().all(|byte| *byte == 0) { Self::Default } else { Self::Condition }
    }
}

/// Returns the value of an entry in a chunk of `RES_TABLE_TYPE_TYPE`.
fn value_in(types: ResourceChunk<'_>, entry: u32) -> Option<RawResourceValue> {
    let (flags, count, entries) = (types.all.u8(9)?, types.all.u32(12)?, types.all.size(16)?);
    let wanted = usize::try_from(entry).ok()?;
    let offsets = types.body();
    let offset = if flags & SPARSE != 0 {
        // Pairs of an entry's number and its offset in words, sorted by number.
        let count = usize::try_from(count).ok()?.min(offsets.len() / 4);
        let (mut low, mut high) = (0, count);
        loop {
            if low >= high {
                return None;
            }
            let middle = low + (high - low) / 2;
            let found = offsets.u16(middle * 4)?;
            match u32::from(found).cmp(&entry) {
                std::cmp::Ordering::Equal => break usize::from(offsets.u16(middle * 4 + 2)?) * 4,
                std::cmp::Ordering::Less => low = middle + 1,
                std::cmp::Ordering::Greater => high = middle,
            }
        }
    } else if entry >= count {
        return None;
    } else if flags & OFFSET16 != 0 {
        let offset = offsets.u16(wanted * 2).filter(|offset| *offset != u16::MAX)?;
        usize::from(offset) * 4
    } else {
        let offset = offsets.u32(wanted * 4).filter(|offset| *offset != NO_ENTRY)?;
        usize::try_from(offset).ok()?
    };
    let start = entries.checked_add(offset)?;
    let (size, flags) = (types.all.u16(start)?, types.all.u16(start.checked_add(2)?)?);
    if flags & COMPACT != 0 {
        let [kind, _] = (flags >> 8).to_le_bytes();
        return Some(RawResourceValue { kind, data: types.all.u32(start.checked_add(4)?)? });
    }
    if flags & COMPLEX != 0 {
        return None;
    }
    RawResourceValue::read(types.all, start.checked_add(usize::from(size))?)
}
