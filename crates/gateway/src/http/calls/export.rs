//! `/api/calls/export`: all calls that fit, in one answer that is read from the database as fast as it is taken.

use std::pin::Pin;
use std::sync::Arc;

use axum::body::Body;
use axum::extract::State;
use axum::response::{IntoResponse, Response};
use futures_util::{Stream, TryStreamExt, stream};
use http::HeaderValue;
use http::header::{CONTENT_DISPOSITION, CONTENT_TYPE};
use serde::Deserialize;
use tokio::sync::OwnedSemaphorePermit;
use toolway_store::{CallOrder, CallRow, StoreError};
use utoipa::ToSchema;

use super::csv;
use super::query::asks_for_calls;
use super::view::CallDetail;
use crate::access::{AuthenticatedCaller, TokenState};
use crate::http::error::ErrorResponse;
use crate::http::resources::{ApiRoutes, resources};
use crate::http::{ApiError, QueryParams};
use crate::state::AppState;

pub(super) fn routes() -> ApiRoutes {
    resources!(export)
}

/// In which form.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Deserialize, ToSchema)]
#[serde(rename_all = "lowercase")]
pub(super) enum CallExportFormat {
    /// A JSON object on each line.
    #[default]
    Jsonl,
    /// Comma-separated values.
    Csv,
}

/// In which order, by the time they started.
#[derive(Debug, Clone, Copy, Default, Deserialize, ToSchema)]
#[serde(rename_all = "lowercase")]
pub(super) enum CallExportOrder {
    /// The oldest first.
    #[default]
    Oldest,
    /// The newest first.
    Newest,
}

impl CallExportFormat {
    fn content_type(self) -> HeaderValue {
        HeaderValue::from_static(match self {
            Self::Jsonl => "application/x-ndjson",
            Self::Csv => "text/csv; charset=utf-8; header=present",
        })
    }

    fn disposition(self) -> HeaderValue {
        HeaderValue::from_static(match self {
            Self::Jsonl => "attachment; filename=\"toolway-calls.jsonl\"",
            Self::Csv => "attachment; filename=\"toolway-calls.csv\"",
        })
    }

    /// What comes before the first call.
    fn head(self) -> Result<Vec<u8>, CallExportError> {
        match self {
            Self::Jsonl => Ok(Vec::new()),
            Self::Csv => Ok(csv::head()?),
        }
    }

    fn lines(self, calls: &[CallDetail]) -> Result<Vec<u8>, CallExportError> {
        if self == Self::Csv {
            return Ok(csv::lines(calls)?);
        }
        let mut lines = Vec::new();
        for call in calls {
            serde_json::to_writer(&mut lines, call)?;
            lines.push(b'\n');
        }
        Ok(lines)
    }
}

asks_for_calls! {
    /// Which calls, and how.
    pub(super) struct ExportCallsQuery {
        /// In which form.
        #[serde(default)]
        #[param(inline)]
        format: CallExportFormat,
        /// In which order, by the time they started.
        #[serde(default)]
        #[param(inline)]
        order: CallExportOrder,
    }
}

/// Why an export broke off.
#[derive(Debug, thiserror::Error)]
enum CallExportError {
    #[error(transparent)]
    Store(#[from] StoreError),
    #[error(transparent)]
    Json(#[from] serde_json::Error),
    #[error(transparent)]
    Csv(#[from] ::csv::Error),
    #[error("the token no longer counts")]
    Token,
    #[error("the gateway is shutting down")]
    Closing,
}

type CallPageStream = Pin<Box<dyn Stream<Item = Result<Vec<CallRow>, StoreError>> + Send>>;

/// An export under way.
struct CallExport {
    pages: CallPageStream,
    format: CallExportFormat,
    token: Arc<TokenState>,
    app: Arc<AppState>,
    _permit: OwnedSemaphorePermit,
}

/// Export calls
///
/// All that fit, of those that are recorded when this is asked for, each as `GET /api/calls/{id}` shows it, on a line
/// of its own. An export that can't be finished breaks off without the proper end of an answer.
#[utoipa::path(
    get,
    path = "/api/calls/export",
    tag = "calls",
    params(ExportCallsQuery),
    responses(
        (
            status = 200,
            description = "The calls. Texts that a spreadsheet would take for formulas start with `'` in CSV.",
            content((String = "application/x-ndjson"), (String = "text/csv"))
        ),
        (status = 429, description = "Too many exports and event streams are open.", body = ErrorResponse),
        (status = 503, description = "They could not be read.", body = ErrorResponse),
    )
)]
pub(super) async fn export(
    AuthenticatedCaller(token): AuthenticatedCaller,
    State(app): State<Arc<AppState>>,
    QueryParams(mut query): QueryParams<ExportCallsQuery>,
) -> Result<Response, ApiError> {
    let filter = query.which().filter(&token)?;
    let order = match query.order {
        CallExportOrder::Oldest => CallOrder::OldestFirst,
        CallExportOrder::Newest => CallOrder::NewestFirst,
    };
    let room = app.reserve_event_stream()?;
    let format = query.format;
    let mut pages: CallPageStream = Box::pin(app.store.calls().export(filter, order));
    // What fails at once is refused in words, which a broken answer has none of.
    let first = pages.try_next().await?.unwrap_or_default();
    tracing::info!(by = token.id(), ?format, "calls exported");
    let export = CallExport { pages, format, token, app, _permit: room };
    let first = export.format.head().and_then(|head| Ok([head, export.lines(first)?].concat()));
    let rest = stream::try_unfold(export, async |mut export| {
        let next = export.next().await;
        let next = next.inspect_err(|error| tracing::warn!(%error, "an export of calls broke off"))?;
        Ok(next.map(|lines| (lines, export)))
    });
    let body = Body::from_stream(futures_util::StreamExt::chain(stream::iter([first]), rest));
    let headers = [(CONTENT_TYPE, format.content_type()), (CONTENT_DISPOSITION, format.disposition())];
    Ok((headers, body).into_response())
}

impl CallExport {
    async fn next(&mut self) -> Result<Option<Vec<u8>>, CallExportError> {
        if self.token.end_reason().is_some() {
            return Err(CallExportError::Token);
        }
        let page = tokio::select! {
            page = self.pages.try_next() => page?,
            () = self.app.closing.cancelled() => return Err(CallExportError::Closing),
        };
        page.map(|page| self.lines(page)).transpose()
    }

    fn lines(&self, page: Vec<CallRow>) -> Result<Vec<u8>, CallExportError> {
        let calls: Vec<CallDetail> = page.into_iter().map(|row| CallDetail::of(row, &self.token)).collect();
        self.format.lines(&calls)
    }
}
