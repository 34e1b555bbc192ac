//! MCP out: a server that shows a visitor the tools that they may call.
//!
//! Whatever lets callers in makes a [`Visitor`] of each and hands it over with their request ([`HttpServer`]) or their
//! connection ([`Shared::handler`]). What upstreams offer beyond tools passes through; everything else is the engine's.

mod answer;
mod bounds;
mod call;
mod client;
mod consent;
mod era;
mod exchange;
mod fields;
mod following;
mod handler;
mod http;
mod listing;
mod naming;
mod pages;
mod parking;
mod plain;
mod said;
mod sessions;
mod tasks;
mod through;
mod visitor;

use std::sync::Arc;
use std::time::Duration;

use rmcp::model::Implementation;
use toolway_core::Engine;
use toolway_types::Clock;

pub use self::bounds::{BadBounds, Bounds, MAX_PATTERN, MAX_PATTERNS};
pub use self::handler::Handler;
pub use self::http::{HttpServer, ResponseBody};
pub use self::said::Said;
pub use self::sessions::{Held, NoRoom, SessionLimits, Sessions};
pub use self::visitor::{PROMPTS, RESOURCES, Scope, Visitor};
use crate::offering::Offerings;
use crate::verbatim::Verbatim;

/// What all visitors' servers share.
pub struct Shared {
    pub(crate) engine: Arc<Engine>,
    pub(crate) offerings: Arc<dyn Offerings>,
    pub(crate) verbatim: Verbatim,
    pub(crate) parking: Arc<parking::Parking>,
    pub(crate) tasks: Arc<tasks::Tasks>,
    pub(crate) pages: pages::Pages,
    pub(crate) server: Implementation,
    /// The same as JSON.
    pub(crate) server_json: String,
    /// How long a client may take to answer a question.
    pub(crate) patience: Duration,
}

impl std::fmt::Debug for Shared {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Shared").field("parking", &self.parking).finish_non_exhaustive()
    }
}

impl Shared {
    /// Of one gateway, which calls itself by this version. A client may take `patience` to answer a question.
    #[must_use]
    pub fn new(
        engine: Arc<Engine>,
        offerings: Arc<dyn Offerings>,
        version: &'static str,
        patience: Duration,
        clock: Arc<dyn Clock>,
    ) -> Arc<Self> {
        let server = Implementation::new("toolway", version);
        let server_json = serde_json::to_string(&server).unwrap_or_else(|_| "{}".to_owned());
        let verbatim = Verbatim::default();
        Arc::new(Self {
            engine,
            offerings,
            parking: Arc::default(),
            tasks: tasks::Tasks::new(clock, verbatim.clone()),
            verbatim,
            pages: pages::Pages::default(),
            server,
            server_json,
            patience,
        })
    }

    /// What `rmcp` is to drive for a visitor over a connection of its own. What it writes has to pass
    /// [`Shared::verbatim`] before it reaches the client.
    #[must_use]
    pub fn handler(self: &Arc<Self>, visitor: Visitor) -> Handler {
        Handler::new(Arc::clone(self), visitor)
    }

    /// What puts JSON that others wrote in its place.
    #[must_use]
    pub fn verbatim(&self) -> &Verbatim {
        &self.verbatim
    }
}
