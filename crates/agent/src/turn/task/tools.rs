//! Chooses the tools for the model.

use std::sync::Arc;

use toolway_models::ToolSet;

use super::TurnTask;
use super::progress::TurnProgress;
use crate::event::{NoticeCode, TurnEvent};
use crate::models::ModelRef;
use crate::selection::{SelectedTools, SelectionInput};
use crate::turn::prompt;

/// The tools of one request.
pub(super) struct ChosenTools {
    pub(super) tools: Arc<ToolSet>,
    /// Size of their definitions in bytes.
    pub(super) bytes: usize,
}

impl TurnTask {
    /// Chooses from the tools that are usable now.
    pub(super) fn choose_tools(&self, progress: &mut TurnProgress, model: &ModelRef) -> ChosenTools {
        let selected = progress.selector.select(&SelectionInput {
            engine: &self.deps.engine,
            caller: &self.caller(),
            agent: &self.agent,
            model,
            max_tools: self.settings.max_tools,
            client_tools: &self.overrides.tools,
        });
        self.publish_tools_left_out(progress, &selected);
        ChosenTools { bytes: prompt::tools_bytes(&selected.tools), tools: selected.tools }
    }

    fn publish_tools_left_out(&self, progress: &mut TurnProgress, selected: &SelectedTools) {
        let is_lost = selected.omitted > 0 && !selected.can_find;
        if progress.sent_notices.tools_left_out || (selected.not_expressible.is_empty() && !is_lost) {
            return;
        }
        progress.sent_notices.tools_left_out = true;
        let mut words = Vec::new();
        for (name, why) in selected.not_expressible.iter() {
            words.push(format!("the tool {name} can't be offered to this model: {why}"));
        }
        if is_lost {
            let many = selected.omitted;
            words.push(format!(
                "{many} tools exceed the limit of this request and were left out; set a higher max_tools, or allow find_tools"
            ));
        }
        self.broadcast
            .publish(TurnEvent::Notice { code: NoticeCode::ToolsLeftOut, message: words.join("; ") });
    }
}
