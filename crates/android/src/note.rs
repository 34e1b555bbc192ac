//! What was found wrong with a provider. It is kept and shown beside what works.

use crate::bounds::{self, cut};

/// How wrong.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ProviderNoteKind {
    /// Left out.
    Refused,
    /// Taken all the same.
    Flagged,
}

/// One remark.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ProviderNote {
    /// How wrong.
    pub kind: ProviderNoteKind,
    /// The tool that it is about, as the provider named it; nothing where it is about the provider.
    pub tool: Option<String>,
    /// What is wrong, and what came of it.
    pub reason: String,
}

/// The remarks on one provider, of which there are never more than [`bounds::NOTES`].
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct ProviderNotes {
    notes: Vec<ProviderNote>,
    untold: usize,
}

impl ProviderNotes {
    /// Notes what was taken all the same.
    pub fn flag(&mut self, tool: Option<&str>, reason: impl AsRef<str>) {
        self.add(ProviderNoteKind::Flagged, tool, reason.as_ref());
    }

    /// Notes what was left out.
    pub fn refuse(&mut self, tool: Option<&str>, reason: impl AsRef<str>) {
        self.add(ProviderNoteKind::Refused, tool, reason.as_ref());
    }

    /// Adds those of a later step.
    pub fn extend(&mut self, others: Self) {
        for note in others.notes {
            self.push(note);
        }
        self.untold += others.untold;
    }

    fn add(&mut self, kind: ProviderNoteKind, tool: Option<&str>, reason: &str) {
        let tool = tool.map(|tool| cut(tool, bounds::TEXT));
        self.push(ProviderNote { kind, tool, reason: cut(reason, bounds::TEXT) });
    }

    fn push(&mut self, note: ProviderNote) {
        if self.notes.len() + 1 < bounds::NOTES { self.notes.push(note) } else { self.untold += 1 }
    }

    /// All of them, with a last one on those that found no room.
    #[must_use]
    pub fn to_vec(&self) -> Vec<ProviderNote> {
        let untold = (self.untold > 0).then(|| ProviderNote {
            kind: ProviderNoteKind::Flagged,
            tool: None,
            reason: format!("{} more remarks are not listed", self.untold),
        });
        self.notes.iter().cloned().chain(untold).collect()
    }

    /// Whether there are none.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.notes.is_empty() && self.untold == 0
    }
}
