//! Small requests beside a conversation, of which nobody is shown anything: for a title, for a summary.

use std::sync::Arc;
use std::time::Duration;

use tokio::time::Instant;
use toolway_models::{Message, ModelOptions, ModelRequest, Part, ToolChoice, ToolSet, Usage};
use toolway_store::ModelRequestRecord;

use super::account::Whose;
use super::answer::{AnswerEnd, Listener};
use super::audience::Audience;
use super::stop::Stop;
use super::surroundings::Surroundings;
use crate::models::ModelRef;
use crate::prices::Cost;

/// A small request.
pub(super) struct Aside<'a> {
    pub(super) around: &'a Surroundings,
    pub(super) whose: &'a Whose,
    pub(super) model: &'a ModelRef,
    pub(super) stop: &'a Stop,
    /// How long it may take.
    pub(super) patience: Duration,
}

/// What came of it.
pub(super) struct Said {
    /// The answer's text, where it is whole and there is any.
    pub(super) text: Option<String>,
    pub(super) usage: Usage,
    pub(super) cost: Option<Cost>,
    pub(super) is_whole: bool,
    pub(super) record: ModelRequestRecord,
}

impl Aside<'_> {
    /// Asks the model, without tools.
    pub(super) async fn ask(&self, system: String, messages: Vec<Message>, options: ModelOptions) -> Said {
        let request = ModelRequest {
            model: Arc::clone(&self.model.id),
            system,
            messages,
            tools: Arc::new(ToolSet::default()),
            tool_choice: ToolChoice::Auto,
            output: None,
            options,
        };
        let started_ms = self.around.clock.now_ms();
        let nobody = Audience::default();
        let until = Instant::now() + self.patience;
        let listener = Listener { audience: &nobody, stop: self.stop, until: Some(until), draft: &|_| {} };
        let answer = listener.listen(self.model.provider.stream(Arc::new(request))).await;
        let (record, cost) = self.whose.account(self.around, self.model, started_ms, &answer);
        let is_whole = matches!(answer.ended, AnswerEnd::Whole);
        let text: String = answer.collected.parts.iter().filter_map(Part::as_text).collect();
        let text = Some(text).filter(|text| is_whole && !text.trim().is_empty());
        Said { text, usage: answer.collected.usage, cost, is_whole, record }
    }
}
