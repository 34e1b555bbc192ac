//! The built-in tool `get_current_time` (docs/tools.md).

mod zones;

use std::fmt;
use std::sync::{Arc, LazyLock};
use std::time::Duration;

use jiff::ZonedDateTime;
use jiff::tz::{TimeZone, TimeZoneDatabase};
use schemars::JsonSchema;
use serde::Deserialize;
use toolway_core::{SpecError, Tool, ToolBuilder};
use toolway_types::{Clock, Code, ToolError, ToolOutput};

use super::READ_ONLY;

#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
struct CurrentTimeRequest {
    /// Timezone identifier (e.g., "America/New_York"). Defaults to device timezone.
    #[schemars(length(max = 100))]
    timezone: Option<String>,
    /// Output format (e.g., "ISO8601", "human_readable"). Defaults to ISO8601.
    #[schemars(length(max = 100))]
    format: Option<String>,
}

/// The computer's own zone, and which zones there are. They are looked for when the time is first asked for:
/// finding them means reading a folder of several hundred files.
#[derive(Clone)]
pub struct TimeZones(Arc<LazyLock<SystemTimeZones, Box<dyn FnOnce() -> SystemTimeZones + Send>>>);

/// The computer's own zone, and all zones.
type SystemTimeZones = (TimeZone, TimeZoneDatabase);

impl TimeZones {
    /// Creates the zones from a function, which runs at the first use. `jiff::tz::db()` returns the computer's zones
    /// or, if it has none, the bundled ones.
    #[must_use]
    pub fn new(find: impl FnOnce() -> SystemTimeZones + Send + 'static) -> Self {
        Self(Arc::new(LazyLock::new(Box::new(find))))
    }

    /// The computer's own zone. Reads files where nobody has asked before.
    #[must_use]
    pub fn local(&self) -> TimeZone {
        self.get().0.clone()
    }

    /// Checks that the IANA database has a time zone of this name. Reads files.
    ///
    /// # Errors
    /// A description of the problem, with similar names.
    pub fn check(&self, name: &str) -> Result<(), String> {
        let (_, all) = self.get();
        match all.get(name) {
            Ok(_) => Ok(()),
            Err(_) => Err(zones::unknown_zone_message(all, name)),
        }
    }

    /// Returns the same zones with another one as the computer's own. Reads files.
    ///
    /// # Errors
    /// As [`TimeZones::check`].
    pub fn with_local(&self, name: &str) -> Result<Self, String> {
        let (_, all) = self.get();
        let zone = all.get(name).map_err(|_| zones::unknown_zone_message(all, name))?;
        let all = all.clone();
        Ok(Self::new(move || (zone, all)))
    }

    fn get(&self) -> &SystemTimeZones {
        &self.0
    }
}

impl fmt::Debug for TimeZones {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Zones")
    }
}

/// The tool.
pub(super) fn tool(clock: Arc<dyn Clock>, zones: TimeZones) -> Result<Arc<dyn Tool>, SpecError> {
    ToolBuilder::new("get_current_time", "Get the current date and time")
        .title("Current time")
        .annotations(&READ_ONLY)
        .timeout(Duration::from_secs(5))
        .build(move |request: CurrentTimeRequest, cx| {
            let (clock, zones) = (Arc::clone(&clock), zones.clone());
            let callers = cx.caller().time_zone.clone();
            // The first one reads files.
            let told = tokio::task::spawn_blocking(move || {
                let (own, all) = zones.get();
                let local = match &callers {
                    Some(name) => zones::find_zone(all, name)?,
                    None => own.clone(),
                };
                format_current_time(&*clock, local, all, &request).map(ToolOutput::text)
            });
            async move {
                told.await.unwrap_or_else(|error| Err(ToolError::new(Code::ToolPanicked, error.to_string())))
            }
        })
}

fn format_current_time(
    clock: &dyn Clock,
    local: TimeZone,
    zones: &TimeZoneDatabase,
    request: &CurrentTimeRequest,
) -> Result<String, ToolError> {
    let format = TimeFormat::parse(request.format.as_deref())?;
    let zone = match request.timezone.as_deref().map(str::trim) {
        None | Some("") => local,
        Some(name) => zones::find_zone(zones, name)?,
    };
    Ok(format.write(&clock.now().to_zoned_datetime(zone)))
}

/// How the time is written.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum TimeFormat {
    /// `2026-11-28T03:14:15+01:00`.
    Iso8601,
    /// `Saturday, 28 November 2026, 03:14:15 CET (UTC+01:00)`.
    HumanReadable,
}

impl TimeFormat {
    /// Parses the name of a format. It ignores case and the separators `_`, `-` and space. Without a name, it returns
    /// the default.
    fn parse(name: Option<&str>) -> Result<Self, ToolError> {
        let name = name.unwrap_or_default();
        let plain: String = name.chars().filter(|c| !matches!(c, '_' | '-' | ' ')).collect();
        match plain.to_ascii_lowercase().as_str() {
            "" | "iso8601" | "iso" => Ok(Self::Iso8601),
            "humanreadable" | "human" => Ok(Self::HumanReadable),
            _ => {
                let message = format!("Unknown format {name:?}. The formats are ISO8601 and human_readable");
                Err(ToolError::new(Code::InvalidArguments, message))
            }
        }
    }

    fn write(self, time: &ZonedDateTime) -> String {
        match self {
            Self::Iso8601 => time.strftime("%Y-%m-%dT%H:%M:%S%:z").to_string(),
            Self::HumanReadable => {
                let abbreviation = time.strftime("%Z").to_string();
                // Many zones have no letters of their own and give their offset instead, which stands there
                // anyway.
                let named = abbreviation.starts_with(|c: char| c.is_ascii_alphabetic());
                let form = if named {
                    "%A, %-d %B %Y, %H:%M:%S %Z (UTC%:z)"
                } else {
                    "%A, %-d %B %Y, %H:%M:%S (UTC%:z)"
                };
                time.strftime(form).to_string()
            }
        }
    }
}

#[cfg(test)]
mod tests;
