//! What was said, between the form in which the store keeps it and the one in which models are told: each part as a
//! JSON object ([`part`]), messages with where they stand ([`history`]), and what is broken in them mended before a
//! model sees it ([`mod@repair`]).
//!
//! What is stored is never rewritten: reading copes with whatever stands there, also with what a newer version wrote.

pub mod history;
pub mod part;
pub mod repair;

pub use history::{
    TranscriptEntry, entry_from_record, for_model, load, lost_outcomes, stored_message, summary_message,
};
pub use part::public_parts;
pub use repair::{RepairSummary, repair};
