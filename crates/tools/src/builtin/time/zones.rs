//! Finding a zone by its name, and names close to one that is not there.

use std::cmp::Reverse;

use jiff::tz::{Offset, TimeZone, TimeZoneDatabase};
use toolway_types::{Code, ToolError};

/// How many close names are told.
const CLOSE_NAMES: usize = 3;
/// Maximum length of an unknown name in a message, in bytes.
const MAX_SHOWN: usize = 100;
/// How alike names must be, from 0 to 1000, to count as close.
const CLOSE_ENOUGH: u32 = 650;

/// Returns the time zone with this name: a zone of the database, in any case, or an offset such as `+05:30` or `UTC+2`.
///
/// # Errors
/// `invalid_arguments` with similar names, if there is no such zone.
pub(super) fn find_zone(zones: &TimeZoneDatabase, name: &str) -> Result<TimeZone, ToolError> {
    if let Ok(zone) = zones.get(name) {
        return Ok(zone);
    }
    if let Some(zone) = offset(name) {
        return Ok(zone);
    }
    let hint = "Timezones have their names in the IANA database, such as Europe/Berlin or UTC; an offset \
                such as +02:00 is understood too";
    Err(ToolError::new(Code::InvalidArguments, unknown_zone_message(zones, name)).with_hint(hint))
}

/// Describes a name that is not a time zone, with similar names.
pub(super) fn unknown_zone_message(zones: &TimeZoneDatabase, name: &str) -> String {
    let name = name.get(..name.floor_char_boundary(MAX_SHOWN)).unwrap_or_default();
    let mut message = format!("Unknown timezone {name:?}.");
    if let Some((last, others)) = similar_names(zones, name).split_last() {
        let others = if others.is_empty() { String::new() } else { format!("{} or ", others.join(", ")) };
        message.push_str(&format!(" Did you mean {others}{last}?"));
    }
    message
}

/// `+05:30`, `-3`, `+0530`, `UTC+2`, `GMT-03:30`, `Z`.
fn offset(text: &str) -> Option<TimeZone> {
    let upper = text.to_ascii_uppercase();
    if upper == "Z" {
        return Some(TimeZone::UTC);
    }
    let signed = upper.strip_prefix("UTC").or_else(|| upper.strip_prefix("GMT")).unwrap_or(&upper).trim();
    let (sign, digits) = match signed.strip_prefix('+') {
        Some(digits) => (1, digits),
        None => (-1, signed.strip_prefix('-').or_else(|| signed.strip_prefix('−'))?),
    };
    let (hours, minutes) = match digits.split_once(':') {
        Some((hours, minutes)) if minutes.len() == 2 => (hours, minutes),
        Some(_) => return None,
        None if digits.len() == 4 => digits.split_at_checked(2)?,
        None => (digits, "0"),
    };
    let number = |text: &str, most: i32| {
        let fits = (1..=2).contains(&text.len()) && text.bytes().all(|byte| byte.is_ascii_digit());
        text.parse::<i32>().ok().filter(|number| fits && *number <= most)
    };
    let seconds = sign * (number(hours, 14)? * 3600 + number(minutes, 59)? * 60);
    Offset::from_seconds(seconds).ok().map(TimeZone::fixed)
}

/// Names close to `name`, the closest first.
fn similar_names(zones: &TimeZoneDatabase, name: &str) -> Vec<String> {
    let wanted = normalize_name(name);
    let mut found: Vec<_> = zones
        .available()
        .map(|zone| zone.as_str().to_owned())
        // Some computers have copies of all zones in these folders.
        .filter(|zone| !zone.starts_with("posix/") && !zone.starts_with("right/"))
        .map(|zone| (similarity(&wanted, &normalize_name(&zone)), zone))
        .filter(|(likeness, _)| *likeness >= CLOSE_ENOUGH)
        .collect();
    found.sort_by(|(a, name_a), (b, name_b)| (Reverse(a), name_a).cmp(&(Reverse(b), name_b)));
    found.truncate(CLOSE_NAMES);
    found.into_iter().map(|(_, zone)| zone).collect()
}

/// In lower case, words joined by `_`.
fn normalize_name(name: &str) -> String {
    name.trim().to_lowercase().replace([' ', '-'], "_")
}

/// How much a wanted name is like a zone's, from 0 to 1000.
fn similarity(wanted: &str, zone: &str) -> u32 {
    let city = |name: &str| name.rsplit('/').next().unwrap_or_default().to_owned();
    let (wanted_city, zone_city) = (city(wanted), city(zone));
    if wanted == zone || wanted_city == zone_city {
        return 1000;
    }
    // Three letters are like too many others.
    if wanted_city.chars().count() < 4 {
        return if zone_city.starts_with(wanted) { 800 } else { 0 };
    }
    if zone_city.starts_with(&wanted_city) {
        return 900;
    }
    let whole = strsim::normalized_damerau_levenshtein(wanted, zone);
    let cities = strsim::normalized_damerau_levenshtein(&wanted_city, &zone_city);
    (whole.max(cities) * 1000.0) as u32
}
