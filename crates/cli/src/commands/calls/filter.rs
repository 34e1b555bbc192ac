//! Flags that say which calls.

use clap::Args;

use crate::context::CliContext;
use crate::time_args::TimeArg;

/// Which calls: those that fit everything that is said.
#[derive(Debug, Args)]
pub(super) struct CallFilterArgs {
    /// Only calls of this tool: its name, its id source/tool, or a pattern of ids like laptop/*
    #[arg(long, value_name = "TOOL")]
    tool: Option<String>,
    /// Only calls of this source's tools
    #[arg(long, value_name = "SOURCE")]
    source: Option<String>,
    /// Only calls by this caller: the id of a token, or owner
    #[arg(long, value_name = "PRINCIPAL")]
    principal: Option<String>,
    /// Only calls in this agent's name
    #[arg(long, value_name = "AGENT")]
    agent: Option<String>,
    /// Only calls of this conversation
    #[arg(long, value_name = "SESSION")]
    session: Option<String>,
    /// Only calls that this person let run: the id of a token, owner, or grant:ID
    #[arg(long, value_name = "WHO")]
    approved_by: Option<String>,
    /// Only calls like this: running, success, error, a kind of error (as timeout), or an error's code
    #[arg(long, value_name = "STATUS")]
    status: Option<String>,
    /// Only calls with this text in their name, arguments or outcome; A to Z are found in either case
    #[arg(long, value_name = "TEXT")]
    search: Option<String>,
}

/// From when on and until when.
#[derive(Debug, Args)]
pub(super) struct TimeRangeArgs {
    /// Only calls that started since then: 2h ago as 2h, or a date like 2026-09-01 or 2026-09-01T14:30
    #[arg(long, value_name = "WHEN")]
    since: Option<TimeArg>,
    /// Only calls that started before then
    #[arg(long, value_name = "WHEN")]
    until: Option<TimeArg>,
}

impl CallFilterArgs {
    /// As the gateway takes it, in a query and in a body.
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

    /// Whether a text is looked for, so that pages may end before they are full.
    pub(super) fn has_search(&self) -> bool {
        self.search.is_some()
    }
}

impl TimeRangeArgs {
    /// As the gateway takes it in a query.
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
