//! Checks the owner's tools, the hooks, and the secrets that both use.

use toolway_secrets::SecretReader as _;

use super::DoctorReport;
use crate::commands::tools::own_tools::own_tools;
use crate::context::CliContext;
use crate::secrets::SystemSecretReader;
use crate::settings::LoadedSettings;

/// Hint about the format of own tools.
const OWN_TOOL_HINT: &str = "correct the definition; see docs/own-tools.md for the format";
/// Hint about the format of hooks.
const HOOK_HINT: &str = "correct the hook in the settings; see docs/hooks.md for the format";

/// Runs the checks.
pub(super) fn check(loaded: &LoadedSettings, context: &CliContext, found: &mut DoctorReport) {
    check_own_tools(loaded, context, found);
    check_hooks(loaded, context, found);
    check_secrets(loaded, context, found);
}

fn check_own_tools(loaded: &LoadedSettings, context: &CliContext, found: &mut DoctorReport) {
    let own = match own_tools(loaded, context) {
        Ok(own) => own.load(),
        Err(failure) => return found.add_failure("own tools", &failure),
    };
    for refused in &own.refused {
        found.add_error("own tools", refused.to_string(), OWN_TOOL_HINT);
    }
    match own.tools.len() {
        0 if own.refused.is_empty() => {}
        0 => found.add_fine("own tools", "no other tool is defined"),
        1 => found.add_fine("own tools", "1 valid tool"),
        count => found.add_fine("own tools", format!("{count} valid tools")),
    }
}

fn check_hooks(loaded: &LoadedSettings, context: &CliContext, found: &mut DoctorReport) {
    let env = crate::tool_env::tool_env(context);
    let made = toolway_gateway::gateway_tools::build_hooks(
        &loaded.settings,
        context.folder.path(),
        &env,
        &context.clock,
    );
    match made {
        Ok(hooks) if hooks.is_empty() => {}
        Ok(hooks) => {
            let names: Vec<_> = hooks.iter().map(|hook| hook.name.to_string()).collect();
            found.add_fine("hooks", format!("{} hooks, in this order: {}", hooks.len(), names.join(", ")));
        }
        Err(problems) => {
            for problem in problems {
                found.add_error("hooks", problem.to_string(), HOOK_HINT);
            }
        }
    }
}

/// Checks the secrets that the settings locate. Secrets in the data folder are checked with its other files.
fn check_secrets(loaded: &LoadedSettings, context: &CliContext, found: &mut DoctorReport) {
    let kept = SystemSecretReader::new(context.environment.variables_map());
    for (name, source) in &loaded.settings.secrets {
        if let Err(error) = kept.read(&source.clone().into()) {
            // The gateway may have been started with other environment variables than this program.
            found.add_warning(
                "secrets",
                format!("{name}: {error}"),
                "store the secret there, or set another location in [secrets] of the settings",
            );
        }
    }
}
