//! Errors about agents.

use std::path::PathBuf;

use toolway_store::StoreError;

/// The agent does not exist.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("there is no agent {name:?}")]
pub struct NoSuchAgent {
    /// The requested name.
    pub name: String,
    /// Similar names that exist.
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

/// Reason why an agent was not changed.
#[derive(Debug, thiserror::Error)]
pub enum AgentError {
    /// The definition is invalid; has all its problems.
    #[error("the agent is invalid: {}", join_problems(.0))]
    Invalid(Vec<AgentProblem>),
    /// The agent is in a file and can be changed only there.
    #[error("the agent {name:?} is defined in {}, line {line}; change it there", path.display())]
    InFile {
        /// Name of the agent.
        name: String,
        /// Path of the file.
        path: PathBuf,
        /// Line in the file, from 1.
        line: usize,
    },
    /// `default` can't be removed.
    #[error("the agent \"default\" can be changed but not removed")]
    CannotRemoveDefault,
    /// The maximum number of agents is reached.
    #[error("there are {0} agents, the maximum")]
    TooMany(usize),
    /// The agent does not exist.
    #[error(transparent)]
    Unknown(#[from] NoSuchAgent),
    /// The store failed.
    #[error(transparent)]
    Store(#[from] StoreError),
}

pub(super) fn join_problems(problems: &[AgentProblem]) -> String {
    problems.iter().map(ToString::to_string).collect::<Vec<_>>().join("; ")
}
