//! Turns one after the other, each in a session of its own: first with a single call, then of three rounds with two
//! calls each.

use std::time::Duration;

use tokio::time::Instant;
use toolway_fake_models::{Answer, Said, Step};

use super::client::{ChatClient, Happened};
use super::lamp::{Held, Lamp};
use super::setup::Stage;
use crate::error::{Result, unexpected, within};
use crate::gateway::Settings;
use crate::stats::{Latencies, Summary};

const WARM_UP: usize = 20;
const TURN_LIMIT: Duration = Duration::from_secs(20);
const ROUNDS: usize = 3;
const CALLS: usize = 2;

/// When the last byte of an answer had been handed over.
const MARK: &str = "said";

/// What the turns took.
pub(crate) struct Turns {
    pub(crate) call_to_frame: Summary,
    pub(crate) own: Summary,
    pub(crate) whole: Summary,
    pub(crate) errors: Vec<String>,
}

/// Times so many turns of each kind.
pub(crate) async fn measure(settings: &Settings, count: usize) -> Result<Turns> {
    let stage = Stage::start(settings, 8).await?;
    let lamp = Lamp::join(&stage.gateway).await?;
    let tools = lamp.tools.clone();
    stage.model.respond(move |request| Some(answer(&request.said, &tools)));
    let mut errors = Vec::new();

    let mut call_to_frame = Latencies::default();
    for number in 0..WARM_UP + count {
        let turn = turn(&stage, &lamp, "1 × 1", &mut errors).await?;
        if let ([held], Some(said), true) = (turn.held.as_slice(), turn.said.first(), number >= WARM_UP) {
            call_to_frame.record(held.asked.saturating_duration_since(*said));
        }
    }

    let (mut own, mut whole) = (Latencies::default(), Latencies::default());
    for number in 0..WARM_UP + count {
        let turn = turn(&stage, &lamp, &format!("{ROUNDS} × {CALLS}"), &mut errors).await?;
        if turn.held.len() != ROUNDS * CALLS || turn.said.len() != ROUNDS + 1 {
            return unexpected(format!(
                "a turn had {} calls and {} answers, not {} and {}",
                turn.held.len(),
                turn.said.len(),
                ROUNDS * CALLS,
                ROUNDS + 1
            ));
        }
        if number >= WARM_UP {
            own.record(turn.took.saturating_sub(turn.elsewhere()));
            whole.record(turn.took);
        }
    }
    stage.gateway.kill().await?;
    Ok(Turns { call_to_frame: call_to_frame.summary(), own: own.summary(), whole: whole.summary(), errors })
}

/// What the model answers: as many rounds and calls as the person's message says, then a text.
fn answer(said: &Said, tools: &[String]) -> Answer {
    let (rounds, calls) = said.last_user_text().split_once(" × ").unwrap_or_default();
    let [rounds, calls] = [rounds, calls].map(|number| number.parse().unwrap_or(0));
    let round = said.rounds();
    let answer = if round < rounds {
        let called = tools.iter().cycle().skip(round).take(calls);
        called.fold(Answer::new(), |answer, tool| {
            answer.call_in(tool, ["{\"text\": \"what was ", "asked for\"}"])
        })
    } else {
        Answer::new().says(["It ", "is ", "done."])
    };
    answer.then(Step::Mark(MARK.to_owned()))
}

/// One turn, as it was seen from outside the gateway.
struct Turn {
    took: Duration,
    /// When each request had come to the model.
    asked: Vec<Instant>,
    /// When each of its answers had been handed over.
    said: Vec<Instant>,
    held: Vec<Held>,
}

async fn turn(stage: &Stage, lamp: &Lamp, message: &str, errors: &mut Vec<String>) -> Result<Turn> {
    let mut client = ChatClient::open(&stage.gateway).await?;
    stage.model.forget_requests();
    drop((stage.model.take_marks(), lamp.take()));
    let started = Instant::now();
    client.say(message).await?;
    within(TURN_LIMIT, "waiting for the end of a turn", async {
        loop {
            match client.next().await? {
                Happened::Chunk(_) => {}
                Happened::ToolFailed(why) => errors.push(format!("a tool failed: {why}")),
                Happened::Done => return Ok(()),
            }
        }
    })
    .await?;
    let took = started.elapsed();
    let at = |micros| stage.model.epoch() + Duration::from_micros(micros);
    Ok(Turn {
        took,
        asked: stage.model.requests().iter().map(|request| at(request.at_micros)).collect(),
        said: stage.model.take_marks().into_iter().map(|(_, at)| at).collect(),
        held: lamp.take(),
    })
}

impl Turn {
    /// How long the model and the device held it: neither runs while the other does.
    fn elsewhere(&self) -> Duration {
        let model =
            self.asked.iter().zip(&self.said).map(|(asked, said)| said.saturating_duration_since(*asked));
        let device = self.held.iter().map(|held| held.answered.saturating_duration_since(held.asked));
        model.chain(device).sum()
    }
}

#[cfg(test)]
mod tests {
    use toolway_fake_models::{SaidMessage, SaidResult};

    use super::*;

    #[test]
    fn the_model_and_the_device_are_taken_off() {
        let start = Instant::now();
        let at = |millis| start + Duration::from_millis(millis);
        let turn = Turn {
            took: Duration::from_millis(20),
            asked: vec![at(1), at(10)],
            said: vec![at(3), at(11)],
            held: vec![Held { asked: at(5), answered: at(6) }, Held { asked: at(6), answered: at(8) }],
        };
        assert_eq!(turn.elsewhere(), Duration::from_millis(2 + 1 + 1 + 2));
    }

    #[test]
    fn the_model_calls_as_often_as_it_is_told() {
        let tools = ["a".to_owned(), "b".to_owned()];
        let mut said = Said::default();
        said.messages.push(SaidMessage {
            role: "user".to_owned(),
            text: "1 × 2".to_owned(),
            ..SaidMessage::default()
        });
        let calls: Vec<_> = answer(&said, &tools).tool_calls().map(|call| call.name.clone()).collect();
        assert_eq!(calls, ["a", "b"]);
        let arguments = answer(&said, &tools).tool_calls().next().map(|call| call.text());
        assert_eq!(arguments.as_deref(), Some(r#"{"text": "what was asked for"}"#));
        said.messages.push(SaidMessage {
            role: "tool".to_owned(),
            results: vec![SaidResult {
                id: String::new(),
                name: "a".to_owned(),
                text: String::new(),
                images: 0,
                is_error: None,
            }],
            ..SaidMessage::default()
        });
        assert_eq!(answer(&said, &tools).tool_calls().count(), 0);
    }
}
