//! Chooses the tools for the model.

use std::sync::Arc;

use toolway_models::ToolSet;

use super::TurnTask;
use super::progress::TurnProgress;
use crate::event::{NoticeCode, TurnEvent};
use crate::models::ModelRef;
use crate::selection::{SelectedTools, SelectionInput};
use crate::turn::prompt;

/// Maximum number of tools that a notice lists with reasons.
const MAX_LISTED: usize = 8;

/// The tools of one request.
pub(super) struct ChosenTools {
    pub(super) tools: Arc<ToolSet>,
    /// Size of their definitions in bytes.
    pub(super) bytes: usize,
    /// Tells the model about omitted tools.
    pub(super) note: Option<String>,
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
        progress.told_tools = Arc::clone(&selected.tools);
        let note = prompt::omitted_tools_note(&selected);
        ChosenTools { bytes: prompt::tools_bytes(&selected.tools), tools: selected.tools, note }
    }

    fn publish_tools_left_out(&self, progress: &mut TurnProgress, selected: &SelectedTools) {
        if progress.sent_notices.tools_left_out
            || (selected.not_expressible.is_empty() && selected.omitted == 0)
        {
            return;
        }
        progress.sent_notices.tools_left_out = true;
        let mut words = Vec::new();
        if selected.omitted > 0 {
            let (many, all) = (selected.omitted, selected.omitted + selected.tools.tools().len());
            let effect = match selected.can_find {
                true => "it can find them with find_tools",
                false => "it can't find them, because find_tools is not among its tools",
            };
            words.push(format!("{many} of {all} tools are not in the list for the model; {effect}"));
        }
        let listed = selected.not_expressible.iter().take(MAX_LISTED);
        words.extend(
            listed.map(|(name, why)| format!("the tool {name} can't be offered to this model: {why}")),
        );
        if let Some(more) = selected.not_expressible.len().checked_sub(MAX_LISTED).filter(|more| *more > 0) {
            words.push(format!("{more} more tools can't be offered to this model"));
        }
        self.broadcast
            .publish(TurnEvent::Notice { code: NoticeCode::ToolsLeftOut, message: words.join("; ") });
    }
}
