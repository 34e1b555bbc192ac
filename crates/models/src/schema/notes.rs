//! Notes about the parts of a schema that the conversion left out or loosened.

use std::collections::HashSet;

use super::document::SchemaPointer;

/// Maximum number of notes on one schema.
const MAX_NOTES: usize = 100;

/// Notes on the conversion of one schema.
#[derive(Debug, Default)]
pub(crate) struct ConversionNotes {
    notes: Vec<String>,
    seen: HashSet<String>,
    omitted_notes: usize,
    /// Number of constraints that were loosened.
    pub(crate) loosened_count: usize,
}

impl ConversionNotes {
    /// Adds a note about a change that does not affect which values are valid.
    pub(crate) fn add_note(&mut self, pointer: &SchemaPointer<'_>, what: &str) {
        if self.notes.len() >= MAX_NOTES {
            self.omitted_notes += 1;
            return;
        }
        let note = format!("#{pointer}: {what}");
        if self.seen.insert(note.clone()) {
            self.notes.push(note);
        }
    }

    /// Adds a note about a constraint that was loosened: more values are valid than in the original schema.
    pub(crate) fn add_loosening(&mut self, pointer: &SchemaPointer<'_>, what: &str) {
        self.loosened_count += 1;
        self.add_note(pointer, what);
    }

    pub(crate) fn into_notes(mut self) -> Vec<String> {
        if self.omitted_notes > 0 {
            self.notes.push(format!("and {} more notes", self.omitted_notes));
        }
        self.notes
    }
}
