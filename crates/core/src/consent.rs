//! Asking persons: open [`Questions`], and [`Grants`], the answers that are kept.

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
pub(crate) use questions::AskOutcome;
pub use questions::{OpenQuestions, QuestionCloseReason, QuestionEvent, QuestionSink, QuestionWatcher};
