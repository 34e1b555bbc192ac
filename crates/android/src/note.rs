//! Problems of a provider, which are stored and shown in addition to its working tools.

use crate::bounds::{self, cut};

/// Severity of a note.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ProviderNoteKind {
    /// The tool or provider was refused.
    Refused,
    /// The tool or provider is used anyway.
    Flagged,
}

/// One note.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ProviderNote {
    /// Severity.
    pub kind: ProviderNoteKind,
    /// The tool, by the provider's own name; `None` if the note is about the provider.
    pub tool: Option<String>,
    /// The problem and its consequence.
    pub reason: String,
}

/// The notes on one provider, at most [`bounds::NOTES`].
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct ProviderNotes {
    notes: Vec<ProviderNote>,
    untold: usize,
}

impl ProviderNotes {
    /// Adds a note about something that is used anyway.
    pub fn flag(&mut self, tool: Option<&str>, reason: impl AsRef<str>) {
        self.add(ProviderNoteKind::Flagged, tool, reason.as_ref());
    }

    /// Adds a note about something that was refused.
    pub fn refuse(&mut self, tool: Option<&str>, reason: impl AsRef<str>) {
        self.add(ProviderNoteKind::Refused, tool, reason.as_ref());
    }

    /// Adds the notes of a later step.
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

    /// Returns all notes, with a last one about those above the limit.
    #[must_use]
    pub fn to_vec(&self) -> Vec<ProviderNote> {
        let untold = (self.untold > 0).then(|| ProviderNote {
            kind: ProviderNoteKind::Flagged,
            tool: None,
            reason: format!("{} more notes are not listed", self.untold),
        });
        self.notes.iter().cloned().chain(untold).collect()
    }

    /// Returns true if there are no notes.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.notes.is_empty() && self.untold == 0
    }
}
