//! What the built-in tools cost when a gateway starts: making and registering all of them.
//! `cargo bench -p toolway-tools`

#![allow(clippy::print_stdout, reason = "printing its figures is what it is for")]

use std::error::Error;
use std::sync::Arc;
use std::time::{Duration, Instant};

use jiff::tz::TimeZone;
use toolway_core::{Caller, Registry, SourceRetention, ToolSpec};
use toolway_tools::builtin::files::FileAccess;
use toolway_tools::builtin::find_tools::ToolCatalogue;
use toolway_tools::builtin::time::TimeZones;
use toolway_tools::builtin::{self, BuiltinDeps};
use toolway_tools::web::{GuardedClient, SystemResolver, TlsConfigFactory, WebSettings};
use toolway_types::{Slug, SystemClock, ToolId};

/// Nothing to find.
struct EmptyCatalogue;

impl ToolCatalogue for EmptyCatalogue {
    fn visit(&self, _: &Caller, _: &mut dyn FnMut(&ToolId, &Arc<ToolSpec>)) {}
}

#[expect(clippy::disallowed_methods, reason = "it measures")]
fn now() -> Instant {
    Instant::now()
}

fn main() -> Result<(), Box<dyn Error>> {
    let folder = tempfile::tempdir()?;
    let client = Arc::new(GuardedClient::new(
        WebSettings::default(),
        TlsConfigFactory::new(|| Err("nothing is asked".to_owned())),
        Arc::new(SystemResolver::default()),
    ));
    let mut times = Vec::new();
    for _ in 0..200 {
        let registry = Registry::new();
        let began = now();
        let tools = builtin::tools(BuiltinDeps {
            clock: Arc::new(SystemClock),
            zones: TimeZones::new(|| (TimeZone::UTC, jiff::tz::db().clone())),
            files: Arc::new(FileAccess::new(folder.path(), Vec::new())?),
            catalogue: Arc::new(EmptyCatalogue),
            http: Arc::clone(&client),
        })?;
        let lease = registry.lease(Slug::builtin(), SourceRetention::Nothing);
        lease.replace(tools);
        times.push(began.elapsed());
        if registry.snapshot().tools().count() != builtin::TOOL_NAMES.len() {
            return Err("not all of them were registered".into());
        }
    }
    let first = times.first().copied().unwrap_or_default();
    times.sort_unstable();
    let middle = times.get(times.len() / 2).copied().unwrap_or_default();
    let shown = |name: &str, time: Duration| println!("{name:<34} {:>12.3} ms", time.as_secs_f64() * 1e3);
    shown("register_builtin_tools_first", first);
    shown("register_builtin_tools", middle);
    Ok(())
}
