//! Sequential turns, each in its own session: first with a single call, then of three rounds with two calls
//! each.

use std::time::Duration;

use tokio::time::Instant;
use toolway_fake_models::{ParsedRequest, ResponseStep, ScriptedResponse};

use super::client::{ChatBenchClient, ChatTurnEvent};
use super::lamp_device::{LampDevice, ToolCallTiming};
use super::testbed::ChatTestbed;
use crate::error::{Result, unexpected, with_timeout};
use crate::gateway::GatewayLaunchOptions;
use crate::stats::{LatencySamples, LatencySummary};

const WARM_UP: usize = 20;
const TURN_LIMIT: Duration = Duration::from_secs(20);
const ROUNDS: usize = 3;
const CALLS: usize = 2;

/// Marks the time when the last byte of an answer was sent.
const MARK: &str = "said";

/// Durations of the turns.
pub(crate) struct TurnTimings {
    pub(crate) call_to_frame: LatencySummary,
    pub(crate) gateway_time: LatencySummary,
    pub(crate) total_time: LatencySummary,
    pub(crate) errors: Vec<String>,
}

/// Measures `count` turns of each kind.
pub(crate) async fn measure(settings: &GatewayLaunchOptions, count: usize) -> Result<TurnTimings> {
    let stage = ChatTestbed::start(settings, 8).await?;
    let lamp = LampDevice::join(&stage.gateway).await?;
    let tools = lamp.tools.clone();
    stage.model.respond(move |request| Some(scripted_answer(&request.said, &tools)));
    let mut errors = Vec::new();

    let mut call_to_frame = LatencySamples::default();
    for number in 0..WARM_UP + count {
        let turn = time_turn(&stage, &lamp, "1 × 1", &mut errors).await?;
        if let ([held], Some(said), true) =
            (turn.tool_calls.as_slice(), turn.sent_at.first(), number >= WARM_UP)
        {
            call_to_frame.record(held.requested_at.saturating_duration_since(*said));
        }
    }

    let (mut own, mut whole) = (LatencySamples::default(), LatencySamples::default());
    for number in 0..WARM_UP + count {
        let turn = time_turn(&stage, &lamp, &format!("{ROUNDS} × {CALLS}"), &mut errors).await?;
        if turn.tool_calls.len() != ROUNDS * CALLS || turn.sent_at.len() != ROUNDS + 1 {
            return unexpected(format!(
                "a turn had {} calls and {} answers, not {} and {}",
                turn.tool_calls.len(),
                turn.sent_at.len(),
                ROUNDS * CALLS,
                ROUNDS + 1
            ));
        }
        if number >= WARM_UP {
            own.record(turn.duration.saturating_sub(turn.external_time()));
            whole.record(turn.duration);
        }
    }
    stage.gateway.kill().await?;
    Ok(TurnTimings {
        call_to_frame: call_to_frame.summary(),
        gateway_time: own.summary(),
        total_time: whole.summary(),
        errors,
    })
}

/// Returns the answer of the model: the rounds and calls that the person's message requests, then a text.
fn scripted_answer(said: &ParsedRequest, tools: &[String]) -> ScriptedResponse {
    let (rounds, calls) = said.last_user_text().split_once(" × ").unwrap_or_default();
    let [rounds, calls] = [rounds, calls].map(|number| number.parse().unwrap_or(0));
    let round = said.rounds();
    let answer = if round < rounds {
        let called = tools.iter().cycle().skip(round).take(calls);
        called.fold(ScriptedResponse::new(), |answer, tool| {
            answer.tool_call_in_fragments(tool, ["{\"text\": \"what was ", "asked for\"}"])
        })
    } else {
        ScriptedResponse::new().text_deltas(["It ", "is ", "done."])
    };
    answer.then(ResponseStep::Mark(MARK.to_owned()))
}

/// One turn as seen from outside of the gateway.
struct TurnTrace {
    duration: Duration,
    /// Arrival of each request at the model.
    requested_at: Vec<Instant>,
    /// Time when each answer was sent.
    sent_at: Vec<Instant>,
    tool_calls: Vec<ToolCallTiming>,
}

async fn time_turn(
    stage: &ChatTestbed,
    lamp: &LampDevice,
    message: &str,
    errors: &mut Vec<String>,
) -> Result<TurnTrace> {
    let mut client = ChatBenchClient::open(&stage.gateway).await?;
    stage.model.forget_requests();
    drop((stage.model.take_marks(), lamp.take_timings()));
    let started = Instant::now();
    client.send_message(message).await?;
    with_timeout(TURN_LIMIT, "waiting for the end of a turn", async {
        loop {
            match client.next_event().await? {
                ChatTurnEvent::Chunk(_) => {}
                ChatTurnEvent::ToolFailed(why) => errors.push(format!("a tool failed: {why}")),
                ChatTurnEvent::Done => return Ok(()),
            }
        }
    })
    .await?;
    let took = started.elapsed();
    let at = |micros| stage.model.epoch() + Duration::from_micros(micros);
    Ok(TurnTrace {
        duration: took,
        requested_at: stage.model.requests().iter().map(|request| at(request.at_micros)).collect(),
        sent_at: stage.model.take_marks().into_iter().map(|(_, at)| at).collect(),
        tool_calls: lamp.take_timings(),
    })
}

impl TurnTrace {
    /// Returns the time spent in the model and the device, which never run at the same time.
    fn external_time(&self) -> Duration {
        let model = self
            .requested_at
            .iter()
            .zip(&self.sent_at)
            .map(|(asked, said)| said.saturating_duration_since(*asked));
        let device =
            self.tool_calls.iter().map(|held| held.answered_at.saturating_duration_since(held.requested_at));
        model.chain(device).sum()
    }
}

#[cfg(test)]
mod tests {
    use toolway_fake_models::{ParsedMessage, ParsedToolResult};

    use super::*;

    #[test]
    fn the_model_and_the_device_are_taken_off() {
        let start = Instant::now();
        let at = |millis| start + Duration::from_millis(millis);
        let turn = TurnTrace {
            duration: Duration::from_millis(20),
            requested_at: vec![at(1), at(10)],
            sent_at: vec![at(3), at(11)],
            tool_calls: vec![
                ToolCallTiming { requested_at: at(5), answered_at: at(6) },
                ToolCallTiming { requested_at: at(6), answered_at: at(8) },
            ],
        };
        assert_eq!(turn.external_time(), Duration::from_millis(2 + 1 + 1 + 2));
    }

    #[test]
    fn the_model_calls_as_often_as_it_is_told() {
        let tools = ["a".to_owned(), "b".to_owned()];
        let mut said = ParsedRequest::default();
        said.messages.push(ParsedMessage {
            role: "user".to_owned(),
            text: "1 × 2".to_owned(),
            ..ParsedMessage::default()
        });
        let calls: Vec<_> =
            scripted_answer(&said, &tools).tool_calls().map(|call| call.name.clone()).collect();
        assert_eq!(calls, ["a", "b"]);
        let arguments = scripted_answer(&said, &tools).tool_calls().next().map(|call| call.text());
        assert_eq!(arguments.as_deref(), Some(r#"{"text": "what was asked for"}"#));
        said.messages.push(ParsedMessage {
            role: "tool".to_owned(),
            results: vec![ParsedToolResult {
                id: String::new(),
                name: "a".to_owned(),
                text: String::new(),
                images: 0,
                is_error: None,
            }],
            ..ParsedMessage::default()
        });
        assert_eq!(scripted_answer(&said, &tools).tool_calls().count(), 0);
    }
}
