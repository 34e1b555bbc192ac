//! The principal of a request, for the middleware around its handler.

use std::sync::{Arc, OnceLock};

use toolway_types::Principal;

/// The principal of a request, as soon as it is known. It is added to the extensions of each request.
#[derive(Debug, Clone, Default)]
pub(crate) struct RequestPrincipal(Arc<OnceLock<Arc<Principal>>>);

impl RequestPrincipal {
    /// The principal, if the request has shown a valid token.
    pub(crate) fn get(&self) -> Option<&Arc<Principal>> {
        self.0.get()
    }

    /// Records the principal.
    pub(super) fn set(&self, principal: &Arc<Principal>) {
        // A request has one token.
        let _ = self.0.set(Arc::clone(principal));
    }
}
