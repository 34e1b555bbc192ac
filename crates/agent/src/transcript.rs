//! Converts messages between the store's form and the models' form: parts as JSON objects ([`part`]),
//! messages with their positions ([`history`]), and the repair of broken messages before a model gets them
//! ([`mod@repair`]).
//!
//! Stored messages are never rewritten: reading handles any content, including that of newer versions.

pub mod history;
pub mod part;
pub mod repair;

pub use history::{
    TranscriptEntry, entry_from_record, for_model, load, lost_outcomes, stored_message, summary_message,
};
pub use part::public_parts;
pub use repair::{RepairSummary, repair};
