//! The hooks of the settings.

use std::path::Path;
use std::sync::Arc;

use toolway_command::Surroundings;
use toolway_core::HookEntry;
use toolway_tools::hooks::{self, HookKit, WebhookClient};
use toolway_types::Clock;

use super::ToolSurroundings;
use crate::settings::{SettingError, Settings};

/// Makes the hooks of these settings, in their order. Looks for programs and reads secrets, so it may block for
/// some milliseconds.
///
/// # Errors
/// Everything that is wrong with them.
pub fn hooks(
    settings: &Settings,
    data_dir: &Path,
    given: &ToolSurroundings,
    clock: &Arc<dyn Clock>,
) -> Result<Vec<HookEntry>, Vec<SettingError>> {
    if settings.hooks.is_empty() {
        return Ok(Vec::new());
    }
    let wrong = |problem: String| vec![SettingError::of_tools("hooks", problem)];
    let tls = given.tls.make().map_err(wrong)?;
    let builder = reqwest::Client::builder().tls_backend_preconfigured(tls);
    let client = WebhookClient::new(builder).map_err(|error| wrong(error.to_string()))?;
    let surroundings = Surroundings { environment: given.environment.clone(), folder: data_dir.to_owned() };
    let kit = HookKit {
        surroundings: &surroundings,
        client: &client,
        clock: Arc::clone(clock),
        secrets: given.secrets.as_ref(),
    };
    hooks::build(&settings.hooks, &kit).map_err(|problems| {
        problems.into_iter().map(|it| SettingError::of_tools(it.key, it.problem)).collect()
    })
}
