//! Consent of persons: open questions ([`OpenQuestions`]) and stored answers ([`ActiveGrants`]).

mod grants;
mod question;
mod questions;

pub(crate) use grants::GrantQuery;
pub use grants::{
    ActiveGrants, Grant, GrantError, GrantId, GrantStore, GrantStoreError, GrantSubject, GrantVerdict,
    NoGrantStore,
};
pub use question::{
    AnswerError, ConsentAnswer, ConsentDecision, ConsentScope, Question, QuestionId, QuestionKind,
};
pub(crate) use questions::{AskOutcome, QuestionAudience};
pub use questions::{OpenQuestions, QuestionCloseReason, QuestionEvent, QuestionSink, QuestionWatcher};
