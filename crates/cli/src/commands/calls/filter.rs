//! Filter flags of the `calls` commands.

use clap::Args;

use crate::context::CliContext;
use crate::time_args::TimeArg;

/// Filters that are combined with AND.
#[derive(Debug, Args)]
pub(super) struct CallFilterArgs {
    /// Only calls of this tool: name, id (SOURCE/TOOL), or a pattern of ids such as 'laptop/*'
    #[arg(long, value_name = "TOOL")]
    tool: Option<String>,
    /// Only calls of this source
    #[arg(long, value_name = "SOURCE")]
    source: Option<String>,
    /// Only calls by this caller: id of a token, or owner
    #[arg(long, value_name = "PRINCIPAL")]
    principal: Option<String>,
    /// Only calls by this agent
    #[arg(long, value_name = "AGENT")]
    agent: Option<String>,
    /// Only calls of this chat session
    #[arg(long, value_name = "SESSION")]
    session: Option<String>,
    /// Only calls approved by this principal: id of a token, owner, or grant:ID
    #[arg(long, value_name = "WHO")]
    approved_by: Option<String>,
    /// Only calls with this status: running, success, error, an error kind such as timeout, or an error code
    #[arg(long, value_name = "STATUS")]
    status: Option<String>,
    /// Only calls with this text in name, arguments or result (ASCII case-insensitive)
    #[arg(long, value_name = "TEXT")]
    search: Option<String>,
}

/// Time range of the calls.
#[derive(Debug, Args)]
pub(super) struct TimeRangeArgs {
    /// Only calls that started at or after this time: an age like 2h, or a date like 2026-09-01 or 2026-09-01T14:30
    #[arg(long, value_name = "WHEN")]
    since: Option<TimeArg>,
    /// Only calls that started before this time
    #[arg(long, value_name = "WHEN")]
    until: Option<TimeArg>,
}

impl CallFilterArgs {
    /// Returns the filters as API parameters, for a query or a body.
    pub(super) fn query_pairs(&self) -> Vec<(&'static str, String)> {
        let all = [
            ("tool", &self.tool),
            ("source", &self.source),
            ("principal", &self.principal),
            ("agent", &self.agent),
            ("session_id", &self.session),
            ("approved_by", &self.approved_by),
            ("status", &self.status),
            ("search", &self.search),
        ];
        all.into_iter().filter_map(|(name, value)| Some((name, value.clone()?))).collect()
    }

    /// True if there is a text search. The gateway may then return pages that are not full.
    pub(super) fn has_search(&self) -> bool {
        self.search.is_some()
    }
}

impl TimeRangeArgs {
    /// Returns the range as query parameters.
    pub(super) fn query_pairs(&self, context: &CliContext) -> Vec<(&'static str, String)> {
        [("since_ms", &self.since), ("until_ms", &self.until)]
            .into_iter()
            .filter_map(|(name, when)| {
                let ms = when.as_ref()?.past_ms(context.now_ms(), &context.zone());
                Some((name, ms.to_string()))
            })
            .collect()
    }
}
