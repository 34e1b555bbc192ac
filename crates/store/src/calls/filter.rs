//! Filters and cursors of the call log.

use std::fmt;
use std::str::FromStr;

use sqlx::{QueryBuilder, Sqlite};
use toolway_types::{Code, ErrorKind};

use crate::call_row::CallStatus;
use crate::error::StoreError;

/// Filter for calls. A call must match all fields that are set. The default matches all calls.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct CallFilter {
    /// Tool of the call.
    pub tool: Option<ToolFilter>,
    /// Source of the tool.
    pub source: Option<String>,
    /// Principal of the call.
    pub principal: Option<String>,
    /// State or outcome of the calls.
    pub status: Option<StatusFilter>,
    /// Earliest start, inclusive, in milliseconds since the Unix epoch.
    pub since_ms: Option<i64>,
    /// Latest start, exclusive, in milliseconds since the Unix epoch.
    pub until_ms: Option<i64>,
    /// Conversation of the call.
    pub session: Option<String>,
    /// Agent of the call.
    pub agent: Option<String>,
    /// Approver of the call: a principal, or `grant:` with a grant's id.
    pub approved_by: Option<String>,
    /// Text in the call. A text search takes time, so its pages may end before they are full; see
    /// [`CallPage`](super::CallPage).
    pub text: Option<TextFilter>,
}

/// Text to find in a call's name, its tool's id, its arguments or its outcome, as they are recorded. Masked
/// and truncated text is not found. Latin letters without accents match in either case.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct TextFilter {
    /// The text. JSON columns are searched for its plain form and its escaped forms.
    pub text: String,
    /// True to search arguments as changed by hooks too.
    pub ran_with: bool,
}

/// Filter for tools. From text: with `*` or `?` it is a pattern, with `/` an id, otherwise a name.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum ToolFilter {
    /// Exactly this id, `source/tool`.
    Id(String),
    /// Pattern for ids: `*` matches any text, `?` any character.
    Glob(String),
    /// Name of the tool in any source, or the name used by the caller.
    Name(String),
}

impl From<&str> for ToolFilter {
    fn from(text: &str) -> Self {
        if text.contains(['*', '?']) {
            Self::Glob(text.to_owned())
        } else if text.contains('/') {
            Self::Id(text.to_owned())
        } else {
            Self::Name(text.to_owned())
        }
    }
}

/// A set of call states, as a filter.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum StatusFilter {
    /// Calls in this state.
    Status(CallStatus),
    /// Failures of this kind.
    Kind(ErrorKind),
    /// Failures with this code.
    Code(Code),
}

/// The text is not a call status.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error(
    "{0:?} is not a call status: running, success, error, timeout, permission_denied, execution_error, \
     validation_error, or an error's code such as device_disconnected"
)]
pub struct UnknownStatus(pub String);

impl FromStr for StatusFilter {
    type Err = UnknownStatus;

    /// A name that is both a kind and a code (`timeout`) is the kind.
    fn from_str(text: &str) -> Result<Self, UnknownStatus> {
        let kinds = [
            ErrorKind::Timeout,
            ErrorKind::PermissionDenied,
            ErrorKind::ExecutionError,
            ErrorKind::ValidationError,
        ];
        match text {
            "running" => Ok(Self::Status(CallStatus::Open)),
            "success" => Ok(Self::Status(CallStatus::Success)),
            "error" => Ok(Self::Status(CallStatus::Error)),
            _ => kinds
                .into_iter()
                .find(|kind| kind.as_str() == text)
                .map(Self::Kind)
                .or_else(|| Code::from_name(text).map(Self::Code))
                .ok_or_else(|| UnknownStatus(text.to_owned())),
        }
    }
}

impl CallFilter {
    /// True if an index finds the matching calls, or all calls match, so that no call is read in vain.
    pub(super) fn is_indexed(&self) -> bool {
        let Self {
            tool,
            source,
            principal,
            status,
            since_ms: _,
            until_ms: _,
            session,
            agent,
            approved_by,
            text,
        } = self;
        let open = *status == Some(StatusFilter::Status(CallStatus::Open));
        let unindexed = [source, principal, session, agent, approved_by].into_iter().any(Option::is_some)
            || tool.is_some();
        text.is_none() && (open || (!unindexed && status.is_none()))
    }

    /// Adds the conditions on time to a statement that already has a `WHERE`.
    pub(super) fn push_times(&self, sql: &mut QueryBuilder<Sqlite>) {
        if let Some(since) = self.since_ms {
            sql.push(" AND started_ms >= ").push_bind(since);
        }
        if let Some(until) = self.until_ms {
            sql.push(" AND started_ms < ").push_bind(until);
        }
    }

    /// Adds all conditions except the text to a statement that already has a `WHERE`.
    pub(super) fn push_to(&self, sql: &mut QueryBuilder<Sqlite>) {
        self.push_times(sql);
        match &self.tool {
            Some(ToolFilter::Id(id)) => {
                let (source, tool) = id.split_once('/').unwrap_or(("", id));
                sql.push(" AND source = ").push_bind(source.to_owned());
                sql.push(" AND tool = ").push_bind(tool.to_owned());
            }
            Some(ToolFilter::Glob(pattern)) => {
                // SQLite's GLOB also gives `[` a meaning; these patterns do not.
                sql.push(" AND (source || '/' || tool) GLOB ").push_bind(pattern.replace('[', "[[]"));
            }
            Some(ToolFilter::Name(name)) => {
                sql.push(" AND (tool = ").push_bind(name.clone());
                sql.push(" OR name = ").push_bind(name.clone()).push(")");
            }
            None => {}
        }
        if let Some(source) = &self.source {
            sql.push(" AND source = ").push_bind(source.clone());
        }
        if let Some(principal) = &self.principal {
            sql.push(" AND principal = ").push_bind(principal.clone());
        }
        for (column, value) in
            [("session", &self.session), ("agent", &self.agent), ("approved_by", &self.approved_by)]
        {
            if let Some(value) = value {
                sql.push(" AND ").push(column).push(" = ").push_bind(value.clone());
            }
        }
        match self.status {
            Some(StatusFilter::Status(status)) => {
                sql.push(" AND status = ").push_bind(status.number());
            }
            Some(StatusFilter::Code(code)) => {
                sql.push(" AND code = ").push_bind(code.as_str());
            }
            Some(StatusFilter::Kind(kind)) => {
                let mut codes = sql.push(" AND code IN (").separated(", ");
                for code in Code::ALL.iter().filter(|code| code.kind() == kind) {
                    codes.push_bind(code.as_str());
                }
                sql.push(")");
            }
            None => {}
        }
    }
}

/// Start of a page. Its text is opaque: clients only send it back.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct CallCursor {
    pub(super) started_ms: i64,
    pub(super) seq: i64,
}

impl CallCursor {
    /// Start time of the last call before the page, in milliseconds since the Unix epoch.
    #[must_use]
    pub fn started_ms(&self) -> i64 {
        self.started_ms
    }
}

impl fmt::Display for CallCursor {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}.{}", self.started_ms, self.seq)
    }
}

impl FromStr for CallCursor {
    type Err = StoreError;
    fn from_str(text: &str) -> Result<Self, StoreError> {
        let (started, seq) = text.split_once('.').ok_or(StoreError::BadCursor)?;
        let number = |text: &str| text.parse().map_err(|_| StoreError::BadCursor);
        Ok(Self { started_ms: number(started)?, seq: number(seq)? })
    }
}
