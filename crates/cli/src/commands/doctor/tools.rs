//! What the gateway runs or asks of its own: the owner's tools, hooks, and the secrets that both name.

use toolway_tools::secrets::SecretReader as _;

use super::DoctorReport;
use crate::commands::tools::own_tools::own_tools;
use crate::context::CliContext;
use crate::secrets::SystemSecretReader;
use crate::settings::LoadedSettings;

/// Where it is told how they are written.
const FORMAT_HINT: &str = "correct it; docs/tools.md shows how tools and hooks are written";

/// Looks at all of them.
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
        found.add_error("own tools", refused.to_string(), FORMAT_HINT);
    }
    match own.tools.len() {
        0 if own.refused.is_empty() => {}
        0 => found.add_fine("own tools", "no other is defined"),
        1 => found.add_fine("own tools", "one is defined rightly"),
        count => found.add_fine("own tools", format!("{count} are defined rightly")),
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
            found
                .add_fine("hooks", format!("there are {}, in this order: {}", hooks.len(), names.join(", ")));
        }
        Err(problems) => {
            for problem in problems {
                found.add_error("hooks", problem.to_string(), FORMAT_HINT);
            }
        }
    }
}

/// Those whose place the settings name. Those in the data folder are looked at with its other files.
fn check_secrets(loaded: &LoadedSettings, context: &CliContext, found: &mut DoctorReport) {
    let kept = SystemSecretReader::new(context.environment.variables_map());
    for (name, source) in &loaded.settings.secrets {
        if let Err(error) = kept.read(source) {
            // The gateway may have been started with other variables than this program.
            found.add_warning(
                "secrets",
                format!("{name}: {error}"),
                "put it there, or name another place in the settings: [secrets]",
            );
        }
    }
}
