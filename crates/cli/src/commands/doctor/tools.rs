//! What the gateway runs or asks of its own: the owner's tools, hooks, and the secrets that both name.

use toolway_tools::secrets::SecretReader as _;

use super::Findings;
use crate::commands::tools::own::definitions;
use crate::context::Context;
use crate::secrets::Kept;
use crate::settings::Loaded;

/// Where it is told how they are written.
const FORM: &str = "correct it; docs/tools.md shows how tools and hooks are written";

/// Looks at all of them.
pub(super) fn look(loaded: &Loaded, context: &Context, found: &mut Findings) {
    own(loaded, context, found);
    hooks(loaded, context, found);
    secrets(loaded, context, found);
}

fn own(loaded: &Loaded, context: &Context, found: &mut Findings) {
    let own = match definitions(loaded, context) {
        Ok(own) => own.load(),
        Err(failure) => return found.failure("own tools", &failure),
    };
    for refused in &own.refused {
        found.wrong("own tools", refused.to_string(), FORM);
    }
    match own.tools.len() {
        0 if own.refused.is_empty() => {}
        0 => found.fine("own tools", "no other is defined"),
        1 => found.fine("own tools", "one is defined rightly"),
        count => found.fine("own tools", format!("{count} are defined rightly")),
    }
}

fn hooks(loaded: &Loaded, context: &Context, found: &mut Findings) {
    let surroundings = crate::surroundings::of(context);
    let made = toolway_gateway::toolbox::hooks(
        &loaded.settings,
        context.folder.path(),
        &surroundings,
        &context.clock,
    );
    match made {
        Ok(hooks) if hooks.is_empty() => {}
        Ok(hooks) => {
            let names: Vec<_> = hooks.iter().map(|hook| hook.name.to_string()).collect();
            found.fine("hooks", format!("there are {}, in this order: {}", hooks.len(), names.join(", ")));
        }
        Err(problems) => {
            for problem in problems {
                found.wrong("hooks", problem.to_string(), FORM);
            }
        }
    }
}

/// Those whose place the settings name. Those in the data folder are looked at with its other files.
fn secrets(loaded: &Loaded, context: &Context, found: &mut Findings) {
    let kept = Kept::new(context.environment.all());
    for (name, source) in &loaded.settings.secrets {
        if let Err(error) = kept.read(source) {
            // The gateway may have been started with other variables than this program.
            found.warning(
                "secrets",
                format!("{name}: {error}"),
                "put it there, or name another place in the settings: [secrets]",
            );
        }
    }
}
