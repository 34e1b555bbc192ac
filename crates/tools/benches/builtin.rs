//! What the built-in tools cost when a gateway starts: making and registering all of them.
//! `cargo bench -p toolway-tools`

#![allow(clippy::print_stdout, reason = "printing its figures is what it is for")]

use std::error::Error;
use std::sync::Arc;
use std::time::{Duration, Instant};

use jiff::tz::TimeZone;
use toolway_core::{Caller, Keep, Registry, ToolSpec};
use toolway_tools::builtin::files::FileAccess;
use toolway_tools::builtin::find::Catalogue;
use toolway_tools::builtin::time::Zones;
use toolway_tools::builtin::{self, BuiltinSettings};
use toolway_tools::web::{GuardedClient, SystemResolver, TlsMaker, WebSettings};
use toolway_types::{Slug, SystemClock, ToolId};

/// Nothing to find.
struct Nothing;

impl Catalogue for Nothing {
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
        TlsMaker::new(|| Err("nothing is asked".to_owned())),
        Arc::new(SystemResolver::default()),
    ));
    let mut times = Vec::new();
    for _ in 0..200 {
        let registry = Registry::new();
        let began = now();
        let tools = builtin::tools(BuiltinSettings {
            clock: Arc::new(SystemClock),
            zones: Zones::new(|| (TimeZone::UTC, jiff::tz::db().clone())),
            files: Arc::new(FileAccess::new(folder.path(), Vec::new())?),
            catalogue: Arc::new(Nothing),
            http: Arc::clone(&client),
        })?;
        let lease = registry.lease(Slug::builtin(), Keep::Nothing);
        lease.replace(tools);
        times.push(began.elapsed());
        if registry.snapshot().tools().count() != builtin::NAMES.len() {
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
