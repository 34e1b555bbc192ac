//! The router of the whole gateway: REST, WebSockets and the page at `/`, behind the middleware that every request
//! passes.

use std::sync::Arc;

use axum::Router;
use axum::extract::DefaultBodyLimit;
use axum::middleware;
use axum::routing::get;

use crate::http::{self, error, guard};
use crate::page;
use crate::socket;
use crate::state::{AppState, RouterState};

/// Creates the router of all HTTP responses, including WebSocket upgrades.
pub(crate) fn router(app: Arc<AppState>) -> Router {
    Router::<RouterState>::new()
        .route("/", get(page::show))
        .merge(http::routes(&app))
        .merge(socket::routes())
        .fallback(error::no_such_path)
        .method_not_allowed_fallback(error::no_such_method)
        // Each resource limits its bodies by its own setting.
        .layer(DefaultBodyLimit::disable())
        .layer(middleware::from_fn_with_state(Arc::clone(&app), guard::guard))
        .with_state(RouterState(app))
}
