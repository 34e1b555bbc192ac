//! Notes about the constraints of a schema that could not be expressed.

use std::collections::HashSet;

use super::document::SchemaPointer;

/// Maximum number of notes on one tool. More would not help a reader.
const MAX_NOTES: usize = 100;

/// The notes on one schema.
#[derive(Debug, Default)]
pub(crate) struct ConversionNotes {
    notes: Vec<String>,
    seen: HashSet<String>,
    omitted_notes: usize,
    /// Number of constraints that were loosened.
    pub(crate) loosened_count: usize,
}

impl ConversionNotes {
    /// Something is not sent that changes nothing about which values fit.
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

    /// More values fit than before.
    pub(crate) fn add_loosening(&mut self, pointer: &SchemaPointer<'_>, what: &str) {
        self.loosened_count += 1;
        self.add_note(pointer, what);
    }

    pub(crate) fn into_notes(mut self) -> Vec<String> {
        if self.omitted_notes > 0 {
            self.notes.push(format!("and {} more of the kind", self.omitted_notes));
        }
        self.notes
    }
}
