//! The hooks of the settings.

use std::path::Path;
use std::sync::Arc;

use toolway_command::Surroundings;
use toolway_core::HookEntry;
use toolway_tools::hooks::{self, HookKit, WebhookClient};
use toolway_tools::web::nobody_trusted;
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
    let client = client(settings, given).map_err(|problem| vec![SettingError::of_tools("hooks", problem)])?;
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

/// Sends webhooks. Whom to trust is looked for only where something is asked over TLS: programs run also where no
/// certificate authorities are known.
fn client(settings: &Settings, given: &ToolSurroundings) -> Result<WebhookClient, String> {
    let mut urls = settings.hooks.iter().filter_map(|hook| hook.url.as_deref());
    let tls = match urls.any(|url| !url.starts_with("http://")) {
        true => given.tls.make()?,
        false => nobody_trusted()?,
    };
    let builder = reqwest::Client::builder().tls_backend_preconfigured(tls);
    WebhookClient::new(builder).map_err(|error| error.to_string())
}
