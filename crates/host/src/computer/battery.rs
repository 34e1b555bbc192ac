//! Battery state from `/sys/class/power_supply` on Linux. Other systems report none.

use std::fs;
use std::path::Path;

use schemars::JsonSchema;
use serde::Serialize;

/// Folder where Linux lists power supplies.
pub(super) const POWER_SUPPLIES: &str = "/sys/class/power_supply";

/// Charge and state of a battery.
#[derive(Debug, PartialEq, Serialize, JsonSchema)]
pub(super) struct BatteryStatus {
    /// Charge in percent.
    percent: u8,
    /// `Charging`, `Discharging`, `Full`, `Not charging` or `Unknown`.
    state: String,
}

/// Reads the computer's first battery. Batteries of mice and headsets (`scope` is `Device`) do not count.
pub(super) fn read(supplies: &Path) -> Option<BatteryStatus> {
    let mut supplies: Vec<_> = fs::read_dir(supplies).ok()?.flatten().map(|entry| entry.path()).collect();
    supplies.sort();
    supplies.iter().find_map(|supply| {
        let told = |what: &str| fs::read_to_string(supply.join(what)).ok().map(|text| text.trim().to_owned());
        let own = told("type")? == "Battery" && told("scope").as_deref() != Some("Device");
        let percent = told("capacity")?.parse().ok()?;
        own.then(|| BatteryStatus { percent, state: told("status").unwrap_or_else(|| "Unknown".to_owned()) })
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn supply(at: &Path, name: &str, files: &[(&str, &str)]) {
        let folder = at.join(name);
        fs::create_dir(&folder).unwrap();
        files.iter().for_each(|(file, text)| fs::write(folder.join(file), format!("{text}\n")).unwrap());
    }

    #[test]
    fn the_computers_own_battery_is_found_among_others() {
        let folder = tempfile::tempdir().unwrap();
        assert_eq!(read(folder.path()), None);
        supply(folder.path(), "AC", &[("type", "Mains"), ("online", "1")]);
        supply(
            folder.path(),
            "A-mouse",
            &[("type", "Battery"), ("scope", "Device"), ("capacity", "5"), ("status", "Full")],
        );
        assert_eq!(read(folder.path()), None);
        supply(folder.path(), "BAT0", &[("type", "Battery"), ("capacity", "87"), ("status", "Discharging")]);
        assert_eq!(read(folder.path()), Some(BatteryStatus { percent: 87, state: "Discharging".into() }));
    }

    #[test]
    fn no_power_supplies_mean_no_battery() {
        assert_eq!(read(Path::new("/nowhere/at/all")), None);
    }
}
