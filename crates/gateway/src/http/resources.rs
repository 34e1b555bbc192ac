//! REST resources: their handlers and, apart from those, their descriptions. Every start needs the handlers. The
//! descriptions are made when a client asks for them.

use axum::Router;
use axum::routing::MethodRouter;
use utoipa::openapi::OpenApi;
use utoipa_axum::router::{OpenApiRouter, UtoipaMethodRouter};

use crate::state::RouterState;

/// Describes a handler.
type DescribeFn = fn() -> UtoipaMethodRouter<RouterState>;

/// Resources.
#[derive(Default)]
pub(super) struct ApiRoutes {
    router: Router<RouterState>,
    descriptions: Vec<DescribeFn>,
}

impl ApiRoutes {
    /// With one more handler at this path; for [`resources!`].
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

    /// With all of another's.
    pub(super) fn merge(mut self, other: Self) -> Self {
        self.router = self.router.merge(other.router);
        self.descriptions.extend(other.descriptions);
        self
    }

    /// The router with the handlers.
    pub(super) fn router(self) -> Router<RouterState> {
        self.router
    }

    /// The description of them all, under what stands above the paths.
    pub(super) fn describe(&self, head: OpenApi) -> OpenApi {
        let described = OpenApiRouter::with_openapi(head);
        let all = self.descriptions.iter().fold(described, |described, one| described.routes(one()));
        all.into_openapi()
    }
}

/// The resources of handlers that have a `#[utoipa::path]`, which says path and method. They are named as they
/// are in the module that has them, without a path.
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
