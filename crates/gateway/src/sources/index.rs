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
mod tests;
