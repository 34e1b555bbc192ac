//! Which calls a query or a body asks for.

use http::StatusCode;
use toolway_store::{CallFilter, StatusFilter, TextFilter, ToolFilter};

use crate::access::TokenState;
use crate::http::ApiError;

/// Longest text that is looked for, in characters.
const MAX_SEARCH: usize = 256;

/// The conditions that a request may give; see [`asks_for_calls`].
#[derive(Debug, Default)]
pub(super) struct CallConditions {
    pub(super) tool: Option<String>,
    pub(super) source: Option<String>,
    pub(super) caller: Option<String>,
    pub(super) status: Option<String>,
    pub(super) session: Option<String>,
    pub(super) agent: Option<String>,
    pub(super) approved_by: Option<String>,
    pub(super) search: Option<String>,
    pub(super) since_ms: Option<i64>,
    pub(super) until_ms: Option<i64>,
}

impl CallConditions {
    /// What the store is asked for with this token.
    pub(super) fn filter(self, token: &TokenState) -> Result<CallFilter, ApiError> {
        let status = self.status.as_deref().map(str::parse::<StatusFilter>).transpose();
        Ok(CallFilter {
            tool: self.tool.as_deref().map(ToolFilter::from),
            source: self.source,
            principal: visible_principal(token, self.caller)?,
            status: status.map_err(|unknown| ApiError::malformed(unknown.to_string()))?,
            since_ms: self.since_ms,
            until_ms: self.until_ms,
            session: self.session,
            agent: self.agent,
            approved_by: self.approved_by,
            text: self.search.map(|text| text_filter(token, text)).transpose()?,
        })
    }
}

/// Whose calls this token may ask for: the owner anybody's, others their own.
fn visible_principal(token: &TokenState, asked: Option<String>) -> Result<Option<String>, ApiError> {
    if token.role().is_owner() {
        return Ok(asked);
    }
    match asked {
        Some(other) if other != token.id() => {
            let words = "only the owner may see the calls of others";
            Err(ApiError::new(StatusCode::FORBIDDEN, "forbidden", words).with_hint("leave `caller` out"))
        }
        _ => Ok(Some(token.id().to_owned())),
    }
}

/// Only what is shown to this token is looked through.
fn text_filter(token: &TokenState, text: String) -> Result<TextFilter, ApiError> {
    let length = text.chars().count();
    if length == 0 || length > MAX_SEARCH {
        let words = format!("search has {length} characters; it may have 1 to {MAX_SEARCH}");
        return Err(ApiError::malformed(words));
    }
    Ok(TextFilter { text, ran_with: token.role().is_owner() })
}

/// Makes a query that takes the conditions, and these fields besides.
macro_rules! asks_for_calls {
    ($(#[$about:meta])* $visible:vis struct $name:ident { $($(#[$on:meta])* $field:ident: $type:ty,)* }) => {
        $(#[$about])*
        #[derive(Debug, Default, serde::Deserialize, utoipa::IntoParams)]
        #[serde(deny_unknown_fields)]
        #[into_params(parameter_in = Query)]
        $visible struct $name {
            /// Of this tool: its id (`source/tool`), a pattern of ids (`pixel/*`) or a name.
            #[param(nullable = false)]
            tool: Option<String>,
            /// Of this source.
            #[param(nullable = false)]
            source: Option<String>,
            /// Of this caller: a token's id.
            #[param(nullable = false)]
            caller: Option<String>,
            /// `open`, `success`, `error`, one of the four kinds of error, or an error's code.
            #[param(inline, nullable = false, value_type = Option<crate::http::call_status::CallStatusWordSchema>)]
            status: Option<String>,
            /// Of this conversation.
            #[param(nullable = false)]
            session: Option<String>,
            /// Of this agent.
            #[param(nullable = false)]
            agent: Option<String>,
            /// Let run by this caller, or by `grant:` and a grant's id.
            #[param(nullable = false)]
            approved_by: Option<String>,
            /// With this text in the name, the tool's id, the arguments or the outcome, as they are recorded.
            /// Latin letters without accents are found in either case.
            #[param(nullable = false, min_length = 1, max_length = 256)]
            search: Option<String>,
            /// Started at this time or later, in milliseconds since the Unix epoch. Also written `since`.
            #[serde(alias = "since")]
            #[param(nullable = false)]
            since_ms: Option<i64>,
            /// Started before this time. Also written `until`.
            #[serde(alias = "until")]
            #[param(nullable = false)]
            until_ms: Option<i64>,
            $($(#[$on])* $field: $type,)*
        }

        impl $name {
            /// Takes the conditions out.
            fn which(&mut self) -> crate::http::calls::query::CallConditions {
                crate::http::calls::query::CallConditions {
                    tool: self.tool.take(),
                    source: self.source.take(),
                    caller: self.caller.take(),
                    status: self.status.take(),
                    session: self.session.take(),
                    agent: self.agent.take(),
                    approved_by: self.approved_by.take(),
                    search: self.search.take(),
                    since_ms: self.since_ms.take(),
                    until_ms: self.until_ms.take(),
                }
            }
        }
    };
}
pub(super) use asks_for_calls;
