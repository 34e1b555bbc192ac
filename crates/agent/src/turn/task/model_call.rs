//! Asks the model and reads its response stream.

use std::sync::Arc;

use tokio::time::Instant;
use toolway_models::{ModelRequest, ToolChoice};

use super::history::PreparedHistory;
use super::progress::TurnProgress;
use super::tools::ChosenTools;
use super::{HistoryTarget, TurnTask};
use crate::models::ModelRef;
use crate::turn::model_response::{ModelResponse, ModelResponseEnd, TurnResponseReader};

impl TurnTask {
    /// Creates the request.
    pub(super) fn build_request(
        &self,
        progress: &TurnProgress,
        model: &ModelRef,
        tools: ChosenTools,
        history: PreparedHistory,
    ) -> ModelRequest {
        let is_first = progress.meter.rounds == 0;
        let tool_choice = match &self.overrides.tool_choice {
            // A required tool call has been made once there are results.
            ToolChoice::Required | ToolChoice::Tool(_) if !is_first => ToolChoice::Auto,
            choice => choice.clone(),
        };
        ModelRequest {
            model: Arc::clone(&model.id),
            system: history.system,
            messages: history.messages,
            tools: tools.tools,
            tool_choice,
            output: self.overrides.output.clone(),
            options: history.options,
        }
    }

    /// Sends the request and reads the response to its end.
    pub(super) async fn ask_model(
        &self,
        progress: &mut TurnProgress,
        model: &ModelRef,
        request: Arc<ModelRequest>,
    ) -> ModelResponse {
        let started_ms = self.deps.clock.now_ms();
        let draft = |text: String| {
            if let HistoryTarget::Session { next, .. } = &self.target {
                self.deps.store.draft(&self.id, *next, text);
            }
        };
        let until = progress.meter.time_left().map(|left| Instant::now() + left);
        let listener = TurnResponseReader {
            broadcast: &self.broadcast,
            stop: &self.stop,
            deadline: until,
            draft: &draft,
        };
        let answer = listener.read_response(model.provider.stream(request)).await;
        let (record, cost) = self.attribution().request_record(&self.deps, model, started_ms, &answer);
        let usage = answer.collected.usage;
        progress.meter.rounds += 1;
        progress.meter.add(usage, cost.as_ref(), matches!(answer.end, ModelResponseEnd::Complete));
        if let Some(input) = usage.input {
            progress.context.counter.calibrate(progress.context.estimated, input);
            self.deps.counters.update(model.name(), &progress.context.counter);
        }
        progress.unsaved.requests.push(record);
        answer
    }
}
