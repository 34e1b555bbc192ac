//! Small requests for titles and summaries, which are not shown to viewers.

use std::sync::Arc;
use std::time::Duration;

use tokio::time::Instant;
use toolway_models::{
    MessagePart, ModelMessage, ModelOptions, ModelRequest, ModelUsage, ToolChoice, ToolSet,
};
use toolway_store::ModelRequestRecord;

use super::broadcast::TurnBroadcast;
use super::deps::TurnDeps;
use super::model_response::{ModelResponseEnd, TurnResponseReader};
use super::request_attribution::RequestAttribution;
use super::stop_signal::StopSignal;
use crate::models::ModelRef;
use crate::prices::Cost;

/// A small request.
pub(super) struct SideRequest<'a> {
    pub(super) deps: &'a TurnDeps,
    pub(super) attribution: &'a RequestAttribution,
    pub(super) model: &'a ModelRef,
    pub(super) stop: &'a StopSignal,
    /// Time limit.
    pub(super) timeout: Duration,
}

/// Result of the request.
pub(super) struct SideResponse {
    /// Text of the answer, if it is complete and not empty.
    pub(super) text: Option<String>,
    pub(super) usage: ModelUsage,
    pub(super) cost: Option<Cost>,
    pub(super) is_complete: bool,
    pub(super) record: ModelRequestRecord,
}

impl SideRequest<'_> {
    /// Sends the request, without tools.
    pub(super) async fn send(
        &self,
        system: String,
        messages: Vec<ModelMessage>,
        options: ModelOptions,
    ) -> SideResponse {
        let request = ModelRequest {
            model: Arc::clone(&self.model.id),
            system,
            messages,
            tools: Arc::new(ToolSet::default()),
            tool_choice: ToolChoice::Auto,
            output: None,
            options,
        };
        let started_ms = self.deps.clock.now_ms();
        let nobody = TurnBroadcast::default();
        let until = Instant::now() + self.timeout;
        let listener =
            TurnResponseReader { broadcast: &nobody, stop: self.stop, deadline: Some(until), draft: &|_| {} };
        let answer = listener.read_response(self.model.provider.stream(Arc::new(request))).await;
        let (record, cost) = self.attribution.request_record(self.deps, self.model, started_ms, &answer);
        let is_whole = matches!(answer.end, ModelResponseEnd::Complete);
        let text: String = answer.collected.parts.iter().filter_map(MessagePart::as_text).collect();
        let text = Some(text).filter(|text| is_whole && !text.trim().is_empty());
        SideResponse { text, usage: answer.collected.usage, cost, is_complete: is_whole, record }
    }
}
