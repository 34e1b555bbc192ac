//! REST resources with their handlers and descriptions. Every start needs the handlers; descriptions are
//! created when a client requests them.

use axum::Router;
use axum::routing::MethodRouter;
use utoipa::openapi::OpenApi;
use utoipa_axum::router::{OpenApiRouter, UtoipaMethodRouter};

use crate::state::RouterState;

/// Creates the description of a handler.
type DescribeFn = fn() -> UtoipaMethodRouter<RouterState>;

/// A list of resources.
#[derive(Default)]
pub(super) struct ApiRoutes {
    router: Router<RouterState>,
    descriptions: Vec<DescribeFn>,
}

impl ApiRoutes {
    /// Adds a handler at this path; used by [`resources!`].
    pub(super) fn with(
        mut self,
        path: &str,
        handler: MethodRouter<RouterState>,
        describe: DescribeFn,
    ) -> Self {
        self.router = self.router.route(path, handler);
        self.descriptions.push(describe);
        self
    }

    /// Adds all resources of another list.
    pub(super) fn merge(mut self, other: Self) -> Self {
        self.router = self.router.merge(other.router);
        self.descriptions.extend(other.descriptions);
        self
    }

    /// Returns the router with the handlers.
    pub(super) fn router(self) -> Router<RouterState> {
        self.router
    }

    /// Adds the descriptions of all resources to this document.
    pub(super) fn describe(&self, head: OpenApi) -> OpenApi {
        let described = OpenApiRouter::with_openapi(head);
        let all = self.descriptions.iter().fold(described, |described, one| described.routes(one()));
        all.into_openapi()
    }
}

/// Creates resources from handlers with `#[utoipa::path]`, which has path and method. The handlers must be in
/// scope without a module path.
macro_rules! resources {
    ($($handler:ident),+ $(,)?) => {
        pastey::paste! {
            $crate::http::resources::ApiRoutes::default()
                $(.with(
                    &<[<__path_ $handler>] as utoipa::Path>::path(),
                    <[<__path_ $handler>] as utoipa::Path>::methods().iter().fold(
                        axum::routing::MethodRouter::new(),
                        |router, method| router.on(utoipa_axum::PathItemExt::to_method_filter(method), $handler),
                    ),
                    || utoipa_axum::routes!($handler),
                ))+
        }
    };
}

pub(super) use resources;
