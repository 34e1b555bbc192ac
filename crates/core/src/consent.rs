//! Asking persons: open [`Questions`], and [`Grants`], the answers that are kept.

mod grants;
mod question;
mod questions;

pub(crate) use grants::Sought;
pub use grants::{BadGrant, Grant, GrantFor, GrantId, GrantKeeper, Grants, NoKeeper, NotKept, Verdict};
pub use question::{Answer, CannotAnswer, Choice, Question, QuestionId, QuestionKind, Scope};
pub(crate) use questions::Asked;
pub use questions::{Closed, QuestionEvent, QuestionSink, Questions, Watching};
