//! Questions of a server to the client of a request.

use std::collections::BTreeSet;
use std::sync::Arc;

use rmcp::model::{InputRequest, InputRequests, InputResponses};

use super::RoundTripError;
use crate::client_link::InputRequestError;
use crate::upstream::capabilities;
use crate::upstream::exchange::UpstreamExchange;
use crate::upstream::server::Upstream;

/// Asks the client of an exchange for all requested input. The clock of the call stands still meanwhile.
pub(super) async fn ask_client(
    upstream: &Upstream,
    exchange: &Arc<UpstreamExchange>,
    requests: InputRequests,
) -> Result<InputResponses, RoundTripError> {
    let unanswered = |why| {
        let what = requests.values().map(request_noun).collect::<BTreeSet<_>>();
        let what = what.into_iter().collect::<Vec<_>>().join(" and ");
        RoundTripError::Unanswered { what, why }
    };
    let may = |request| capabilities::can_ask(upstream.definition(), exchange, request);
    let Some(client) = exchange.client.as_ref().filter(|_| requests.values().all(may)) else {
        return Err(unanswered(InputRequestError::NotSupported));
    };
    let waiting = exchange.wait_for_person();
    let answers = client.request_input(requests.clone()).await;
    drop(waiting);
    answers.map_err(unanswered)
}

fn request_noun(request: &InputRequest) -> &'static str {
    match request {
        InputRequest::Elicitation(_) => "a person's answer",
        InputRequest::CreateMessage(_) => "a model's answer",
        InputRequest::ListRoots(_) => "the client's folders",
        _ => "something",
    }
}
