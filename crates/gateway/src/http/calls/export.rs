//! `/api/calls/export`: all matching calls in one response. It reads the database as fast as the client reads it.

use std::pin::Pin;
use std::sync::Arc;

use axum::body::Body;
use axum::extract::State;
use axum::response::{IntoResponse, Response};
use futures_util::{Stream, TryStreamExt, stream};
use http::HeaderValue;
use http::header::{CONTENT_DISPOSITION, CONTENT_TYPE};
use toolway_api::ErrorResponse;
use toolway_api::calls::{CallDetail, CallExportFormat, CallExportOrder, ExportCallsQuery};
use toolway_store::{CallOrder, CallRow, StoreError};

use super::csv;
use super::query::call_filter;
use super::view::call_detail;
use crate::access::TokenState;
use crate::http::AuthenticatedCaller;
use crate::http::resources::{ApiRoutes, resources};
use crate::http::{ApiError, QueryParams};
use crate::principal_shares::SharedPlace;
use crate::state::AppState;

pub(super) fn routes() -> ApiRoutes {
    resources!(export)
}

fn content_type(format: CallExportFormat) -> HeaderValue {
    HeaderValue::from_static(match format {
        CallExportFormat::Jsonl => "application/x-ndjson",
        CallExportFormat::Csv => "text/csv; charset=utf-8; header=present",
    })
}

fn disposition(format: CallExportFormat) -> HeaderValue {
    HeaderValue::from_static(match format {
        CallExportFormat::Jsonl => "attachment; filename=\"toolway-calls.jsonl\"",
        CallExportFormat::Csv => "attachment; filename=\"toolway-calls.csv\"",
    })
}

/// Bytes before the first call.
fn head(format: CallExportFormat) -> Result<Vec<u8>, CallExportError> {
    match format {
        CallExportFormat::Jsonl => Ok(Vec::new()),
        CallExportFormat::Csv => Ok(csv::head()?),
    }
}

fn lines(format: CallExportFormat, calls: &[CallDetail]) -> Result<Vec<u8>, CallExportError> {
    if format == CallExportFormat::Csv {
        return Ok(csv::lines(calls)?);
    }
    let mut lines = Vec::new();
    for call in calls {
        serde_json::to_writer(&mut lines, call)?;
        lines.push(b'\n');
    }
    Ok(lines)
}

/// The reason why an export ended early.
#[derive(Debug, thiserror::Error)]
enum CallExportError {
    #[error(transparent)]
    Store(#[from] StoreError),
    #[error(transparent)]
    Json(#[from] serde_json::Error),
    #[error(transparent)]
    Csv(#[from] ::csv::Error),
    #[error("the token is no longer valid")]
    Token,
    #[error("the gateway is shutting down")]
    Closing,
}

type CallPageStream = Pin<Box<dyn Stream<Item = Result<Vec<CallRow>, StoreError>> + Send>>;

/// A running export.
struct CallExport {
    pages: CallPageStream,
    format: CallExportFormat,
    token: Arc<TokenState>,
    app: Arc<AppState>,
    _permit: SharedPlace,
}

/// Export calls
///
/// All matching calls that are recorded at the time of the request, each like `GET /api/calls/{id}`, on a line of its
/// own. A failed export ends without the regular end of an HTTP response.
#[utoipa::path(
    get,
    path = "/api/calls/export",
    tag = "calls",
    operation_id = "export_calls",
    params(ExportCallsQuery),
    responses(
        (
            status = 200,
            description = "The calls. In CSV, texts that a spreadsheet would read as formulas start with `'`.",
            content((String = "application/x-ndjson"), (String = "text/csv"))
        ),
        (status = 429, description = "Too many exports and event streams are open.", body = ErrorResponse),
        (status = 503, description = "The database failed.", body = ErrorResponse),
    )
)]
pub(super) async fn export(
    AuthenticatedCaller(token): AuthenticatedCaller,
    State(app): State<Arc<AppState>>,
    QueryParams(mut query): QueryParams<ExportCallsQuery>,
) -> Result<Response, ApiError> {
    let filter = call_filter(query.take_conditions(), &token)?;
    let order = match query.order {
        CallExportOrder::Oldest => CallOrder::OldestFirst,
        CallExportOrder::Newest => CallOrder::NewestFirst,
    };
    let room = app.reserve_event_stream(&token.principal)?;
    let format = query.format;
    let mut pages: CallPageStream = Box::pin(app.store.calls().export(filter, order));
    // Read the first page before the response starts: a failure is still a regular error then.
    let first = pages.try_next().await?.unwrap_or_default();
    tracing::info!(by = token.id(), ?format, "calls exported");
    let export = CallExport { pages, format, token, app, _permit: room };
    let first = head(format).and_then(|head| Ok([head, export.lines(first)?].concat()));
    let rest = stream::try_unfold(export, async |mut export| {
        let next = export.next().await;
        let next = next.inspect_err(|error| tracing::warn!(%error, "an export of calls failed"))?;
        Ok(next.map(|lines| (lines, export)))
    });
    let body = Body::from_stream(futures_util::StreamExt::chain(stream::iter([first]), rest));
    let headers = [(CONTENT_TYPE, content_type(format)), (CONTENT_DISPOSITION, disposition(format))];
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
        let calls: Vec<CallDetail> = page.into_iter().map(|row| call_detail(row, &self.token)).collect();
        lines(self.format, &calls)
    }
}
