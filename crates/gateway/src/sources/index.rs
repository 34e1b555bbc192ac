//! The index of known sources, and the choice of their slugs.

use std::collections::{HashMap, HashSet};
use std::sync::Arc;

use toolway_types::{PrincipalId, Slug};

use super::device_session::WeakDeviceSession;
use super::device_source::DeviceSource;
use super::identity::DeviceIdentity;

/// All known sources.
#[derive(Debug, Default)]
pub(super) struct SourceIndex {
    pub(super) by_slug: HashMap<Slug, Arc<DeviceSource>>,
    pub(super) by_identity: HashMap<(PrincipalId, DeviceIdentity), Slug>,
    /// Sources without an identity, by token and chat session.
    pub(super) by_chat_session: HashMap<(PrincipalId, Arc<str>), Slug>,
    pub(super) per_token: HashMap<PrincipalId, usize>,
    /// Slugs of sources that were removed.
    pub(super) retired: HashSet<Slug>,
    /// Slugs of MCP servers. No device gets them.
    pub(super) reserved: HashSet<Slug>,
    /// Numbers from which the search for a free slug starts, by the plain slug. All lower ones are taken.
    first_numbers: HashMap<Slug, u32>,
    /// Sessions by their resume tokens.
    pub(super) resumable: HashMap<String, WeakDeviceSession>,
}

impl SourceIndex {
    pub(super) fn add(&mut self, source: Arc<DeviceSource>) {
        let (slug, token) = (source.slug().clone(), source.token().clone());
        if let Some(identity) = source.identity() {
            self.by_identity.insert((token.clone(), identity.clone()), slug.clone());
        }
        if let Some(session) = source.chat_session() {
            self.by_chat_session.insert((token.clone(), Arc::clone(session)), slug.clone());
        }
        *self.per_token.entry(token).or_default() += 1;
        self.by_slug.insert(slug, source);
    }

    pub(super) fn remove(&mut self, slug: &Slug, spend: bool) {
        let Some(source) = self.by_slug.remove(slug) else { return };
        if let Some(identity) = source.identity() {
            self.by_identity.remove(&(source.token().clone(), identity.clone()));
        }
        if let Some(session) = source.chat_session() {
            self.by_chat_session.remove(&(source.token().clone(), Arc::clone(session)));
        }
        if let Some(count) = self.per_token.get_mut(source.token()) {
            *count = count.saturating_sub(1);
            if *count == 0 {
                self.per_token.remove(source.token());
            }
        }
        if spend {
            self.retired.insert(slug.clone());
        } else {
            self.free(slug);
        }
    }

    /// Returns the first of `name`, `name-2`, `name-3`, … that is not reserved and that no source has or had.
    pub(super) fn free_slug(&mut self, label: &str) -> Slug {
        let plain = Slug::from_label(label);
        if !self.is_taken(&plain) {
            return plain;
        }
        // Thousands of devices may have the same name, so the search starts where the last one ended.
        let from = self.first_numbers.get(&plain).copied().unwrap_or(FIRST_NUMBER);
        let Some(number) = (from..).find(|number| !self.is_taken(&plain.with_number(*number))) else {
            return plain;
        };
        if self.first_numbers.len() >= MAX_FIRST_NUMBERS {
            self.first_numbers.clear();
        }
        self.first_numbers.insert(plain.clone(), number);
        plain.with_number(number)
    }

    fn is_taken(&self, slug: &Slug) -> bool {
        slug.is_reserved()
            || self.by_slug.contains_key(slug)
            || self.retired.contains(slug)
            || self.reserved.contains(slug)
    }

    /// Lets the search for a free slug find this one again.
    fn free(&mut self, slug: &Slug) {
        let number = slug.as_str().rsplit_once('-').and_then(|(_, digits)| digits.parse::<u32>().ok());
        let Some(number) = number.filter(|number| *number >= FIRST_NUMBER) else { return };
        for (plain, first) in &mut self.first_numbers {
            if number < *first && plain.with_number(number) == *slug {
                *first = number;
            }
        }
    }
}

/// Number of the second source of a name.
const FIRST_NUMBER: u32 = 2;
/// Maximum number of names for which the search for a free slug is remembered.
const MAX_FIRST_NUMBERS: usize = 256;

#[cfg(test)]
mod tests {
    use super::*;
    use crate::sources::device_source::DeviceSourceState;

    fn add(index: &mut SourceIndex, slug: &Slug) {
        let state = DeviceSourceState::default();
        index.add(DeviceSource::new(slug.clone(), PrincipalId::from("t"), None, None, state));
    }

    /// The search without a memory.
    fn first_free(index: &SourceIndex, label: &str) -> Slug {
        let plain = Slug::from_label(label);
        let numbered = (2..).map(|number| plain.with_number(number));
        std::iter::once(plain.clone()).chain(numbered).find(|slug| !index.is_taken(slug)).unwrap()
    }

    proptest::proptest! {
        #[test]
        fn a_free_slug_is_always_the_first_one_that_no_source_has_or_had(
            steps in proptest::collection::vec((0..4_usize, 0..40_usize, proptest::bool::ANY), 1..200),
        ) {
            // The number of the longest name takes the place of its end.
            let labels = ["pixel", "pixel 2", "a name that is as long as it may be", "a name that is as long as other"];
            let mut index = SourceIndex::default();
            let mut slugs = Vec::new();
            for (label, removed, is_stored) in steps {
                let label = labels[label];
                let expected = first_free(&index, label);
                let slug = index.free_slug(label);
                assert_eq!(slug, expected);
                add(&mut index, &slug);
                slugs.push(slug);
                if removed < slugs.len() {
                    index.remove(&slugs.swap_remove(removed), is_stored);
                }
            }
        }
    }

    #[test]
    fn thousands_of_devices_of_one_name_get_their_slugs_without_a_search_from_the_start() {
        let mut index = SourceIndex::default();
        for number in 1..5000 {
            let slug = index.free_slug("Pixel 8");
            let expected = if number == 1 { "pixel-8".to_owned() } else { format!("pixel-8-{number}") };
            assert_eq!(slug.as_str(), expected);
            add(&mut index, &slug);
            assert!(number < 3 || index.first_numbers.values().eq([&number]), "{:?}", index.first_numbers);
        }
    }
}
