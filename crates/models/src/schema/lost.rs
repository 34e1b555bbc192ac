//! What of a schema could not be said, in words.

use std::collections::HashSet;

use super::document::Pointer;

/// Most notes on one tool; whoever reads more of them learns nothing more.
const MAX_NOTES: usize = 100;

/// The notes on one schema.
#[derive(Debug, Default)]
pub(crate) struct Lost {
    notes: Vec<String>,
    seen: HashSet<String>,
    left_out: usize,
    /// How often something was made looser than it was.
    pub(crate) loosened: usize,
}

impl Lost {
    /// Something is not sent that changes nothing about which values fit.
    pub(crate) fn remark(&mut self, pointer: &Pointer<'_>, what: &str) {
        if self.notes.len() >= MAX_NOTES {
            self.left_out += 1;
            return;
        }
        let note = format!("#{pointer}: {what}");
        if self.seen.insert(note.clone()) {
            self.notes.push(note);
        }
    }

    /// More values fit than before.
    pub(crate) fn loosen(&mut self, pointer: &Pointer<'_>, what: &str) {
        self.loosened += 1;
        self.remark(pointer, what);
    }

    pub(crate) fn into_notes(mut self) -> Vec<String> {
        if self.left_out > 0 {
            self.notes.push(format!("and {} more of the kind", self.left_out));
        }
        self.notes
    }
}
