//! Creates the hooks of the settings.

use std::path::Path;
use std::sync::Arc;

use toolway_command::CommandEnv;
use toolway_core::HookEntry;
use toolway_tools::hooks::{self, HookDeps, WebhookClient};
use toolway_tools::web::empty_tls_config;
use toolway_types::Clock;

use super::ToolEnv;
use crate::settings::{SettingError, Settings};

/// Creates the hooks of these settings, in order. Looks for programs and reads secrets, so it may block for
/// some milliseconds.
///
/// # Errors
/// All problems of the hooks.
pub fn build_hooks(
    settings: &Settings,
    data_dir: &Path,
    given: &ToolEnv,
    clock: &Arc<dyn Clock>,
) -> Result<Vec<HookEntry>, Vec<SettingError>> {
    if settings.hooks.is_empty() {
        return Ok(Vec::new());
    }
    let client = build_webhook_client(settings, given)
        .map_err(|problem| vec![SettingError::without_hint("hooks", problem)])?;
    let env = CommandEnv { environment: given.environment.clone(), base_dir: data_dir.to_owned() };
    let kit = HookDeps {
        command_env: &env,
        client: &client,
        clock: Arc::clone(clock),
        secrets: given.secrets.as_ref(),
    };
    hooks::build(&settings.hooks, &kit).map_err(|problems| {
        problems.into_iter().map(|it| SettingError::without_hint(it.key, it.problem)).collect()
    })
}

/// Creates the client for webhooks. It loads certificate authorities only for a request over TLS, so command
/// hooks also work without any.
fn build_webhook_client(settings: &Settings, given: &ToolEnv) -> Result<WebhookClient, String> {
    let mut urls = settings.hooks.iter().filter_map(|hook| hook.url.as_deref());
    let tls = match urls.any(|url| !url.starts_with("http://")) {
        true => given.tls.make()?,
        false => empty_tls_config()?,
    };
    let builder = reqwest::Client::builder().tls_backend_preconfigured(tls);
    WebhookClient::new(builder).map_err(|error| error.to_string())
}
