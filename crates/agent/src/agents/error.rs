//! Why something about an agent was refused.

use std::path::PathBuf;

use toolway_store::StoreError;

/// There is no agent of this name.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("there is no agent {name:?}")]
pub struct NoSuchAgent {
    /// The name.
    pub name: String,
    /// Names that there are and that are close to it.
    pub close: Vec<String>,
}

/// A problem of a definition.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{field}: {problem}")]
pub struct AgentProblem {
    /// The field, such as `tools[2]`.
    pub field: String,
    /// Description of the problem.
    pub problem: String,
}

/// Why an agent was not changed.
#[derive(Debug, thiserror::Error)]
pub enum AgentError {
    /// The definition can't stand; everything that is wrong with it.
    #[error("the agent is invalid: {}", join_problems(.0))]
    Invalid(Vec<AgentProblem>),
    /// It stands in a file, and is changed there.
    #[error("the agent {name:?} is defined in {}, line {line}; change it there", path.display())]
    InFile {
        /// Its name.
        name: String,
        /// The file.
        path: PathBuf,
        /// The line in it, from 1.
        line: usize,
    },
    /// `default` is always there.
    #[error("the agent \"default\" can be changed but not removed")]
    CannotRemoveDefault,
    /// There are as many as there may be.
    #[error("there are {0} agents, the maximum")]
    TooMany(usize),
    /// There is none of this name.
    #[error(transparent)]
    Unknown(#[from] NoSuchAgent),
    /// The store failed.
    #[error(transparent)]
    Store(#[from] StoreError),
}

pub(super) fn join_problems(problems: &[AgentProblem]) -> String {
    problems.iter().map(ToString::to_string).collect::<Vec<_>>().join("; ")
}
