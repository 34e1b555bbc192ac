//! Requests of the server to a client of a session that wait for the client's responses.

use std::collections::HashMap;
use std::sync::Arc;

use parking_lot::Mutex;
use rmcp::ErrorData;
use rmcp::model::RequestId;
use serde_json::Value;
use tokio::sync::oneshot;

/// The response of a client.
pub(crate) type ClientAnswer = Result<Value, ErrorData>;

/// The requests to one client that are open. Each belongs to a request of that client, so there are never more of them
/// than requests in flight.
#[derive(Debug, Default)]
pub(crate) struct ServerRequests {
    state: Mutex<OpenRequests>,
}

#[derive(Debug, Default)]
struct OpenRequests {
    last_id: u64,
    waiting: HashMap<u64, oneshot::Sender<ClientAnswer>>,
}

/// One open request. Dropping it gives it up.
#[derive(Debug)]
pub(crate) struct ServerRequest {
    pub(crate) id: u64,
    requests: Arc<ServerRequests>,
    answer: oneshot::Receiver<ClientAnswer>,
}

impl ServerRequests {
    /// Opens a request with a new id.
    pub(crate) fn open(self: &Arc<Self>) -> ServerRequest {
        let (to, answer) = oneshot::channel();
        let mut state = self.state.lock();
        state.last_id += 1;
        let id = state.last_id;
        state.waiting.insert(id, to);
        drop(state);
        ServerRequest { id, requests: Arc::clone(self), answer }
    }

    /// Passes a response to the request that waits for it. Others are ignored: nobody waits any more.
    pub(crate) fn complete(&self, id: &RequestId, answer: ClientAnswer) {
        let id = match id {
            RequestId::Number(id) => u64::try_from(*id).ok(),
            // Some clients return the id as a string.
            RequestId::String(id) => id.parse().ok(),
        };
        let waiting = id.and_then(|id| self.state.lock().waiting.remove(&id));
        if let Some(waiting) = waiting {
            // Fails if nobody waits any more.
            let _ = waiting.send(answer);
        }
    }
}

impl ServerRequest {
    /// Waits for the response. `None` if there will be none.
    pub(crate) async fn answer(&mut self) -> Option<ClientAnswer> {
        (&mut self.answer).await.ok()
    }
}

impl Drop for ServerRequest {
    fn drop(&mut self) {
        self.requests.state.lock().waiting.remove(&self.id);
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[tokio::test]
    async fn a_response_reaches_its_request_by_number_or_text() {
        let requests = Arc::<ServerRequests>::default();
        let (mut first, mut second) = (requests.open(), requests.open());
        requests.complete(&RequestId::String(second.id.to_string().into()), Ok(json!(2)));
        requests.complete(&RequestId::Number(first.id.try_into().unwrap()), Ok(json!(1)));
        requests.complete(&RequestId::Number(99), Ok(json!(3)));
        assert_eq!(first.answer().await, Some(Ok(json!(1))));
        assert_eq!(second.answer().await, Some(Ok(json!(2))));
    }

    #[test]
    fn a_request_that_is_given_up_leaves_nothing_behind() {
        let requests = Arc::<ServerRequests>::default();
        drop(requests.open());
        assert!(requests.state.lock().waiting.is_empty());
    }
}
