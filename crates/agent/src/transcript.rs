//! Converts messages between the store's form and the models' form: each part as a
//! JSON object ([`part`]), messages with where they stand ([`history`]), and what is broken in them mended before a
//! model sees it ([`mod@repair`]).
//!
//! Stored messages are never rewritten: reading copes with any content, also with that of a newer version.

pub mod history;
pub mod part;
pub mod repair;

pub use history::{
    TranscriptEntry, entry_from_record, for_model, load, lost_outcomes, stored_message, summary_message,
};
pub use part::public_parts;
pub use repair::{RepairSummary, repair};
