//! Lists the phones that `adb` knows, and selects one.

use crate::host::HostError;

/// A row of `adb devices -l`.
#[derive(Debug, Clone, PartialEq, Eq)]
struct AdbDeviceRow<'a> {
    serial: &'a str,
    state: &'a str,
    model: Option<&'a str>,
}

fn rows(text: &str) -> Vec<AdbDeviceRow<'_>> {
    let row = |line| {
        // The state may have several words: `no permissions (…); see […]`.
        let line: &str = str::trim(line);
        let (serial, rest) = line.split_once(char::is_whitespace)?;
        let rest = rest.trim_start();
        let state = if rest.starts_with("no permissions") {
            "no permissions"
        } else {
            rest.split_whitespace().next()?
        };
        let model = rest.split_whitespace().find_map(|word| word.strip_prefix("model:"));
        Some(AdbDeviceRow { serial, state, model })
    };
    text.lines().skip_while(|line| !line.starts_with("List of devices")).skip(1).filter_map(row).collect()
}

fn titles(rows: &[AdbDeviceRow<'_>]) -> String {
    let title = |row: &AdbDeviceRow<'_>| match (row.model, row.state) {
        (Some(model), "device") => format!("{} ({})", row.serial, model.replace('_', " ")),
        (None, "device") => row.serial.to_owned(),
        (_, state) => format!("{} ({state})", row.serial),
    };
    rows.iter().map(title).collect::<Vec<_>>().join(", ")
}

/// Returns the serial number of the wanted phone: the named one, or the only one.
pub(super) fn choose(devices: &str, wanted: Option<&str>) -> Result<String, HostError> {
    let rows = rows(devices);
    if let Some(wanted) = wanted {
        return match rows.iter().find(|row| row.serial == wanted) {
            Some(row) => check_ready(row),
            None if rows.is_empty() => Err(HostError::new(format!("the phone {wanted} is not connected"))
                .hint("connect it by USB with USB debugging enabled, or with `adb connect HOST:PORT`")),
            None => Err(HostError::new(format!(
                "the phone {wanted} is not connected; connected: {}",
                titles(&rows)
            ))
            .hint("select one of these with --serial, or connect the other one")),
        };
    }
    let usable: Vec<&AdbDeviceRow<'_>> = rows.iter().filter(|row| row.state == "device").collect();
    match (usable.as_slice(), rows.as_slice()) {
        ([only], _) => check_ready(only),
        ([], []) => Err(HostError::new("no phone is connected")
            .hint("connect one by USB with USB debugging enabled (in its developer options), or with `adb connect HOST:PORT`")),
        ([], [only]) => check_ready(only),
        ([], _) => Err(HostError::new(format!("no phone can be used: {}", titles(&rows)))
            .hint("unlock one and allow USB debugging in the dialog")),
        _ => Err(HostError::new(format!("several phones are connected: {}", titles(&rows)))
            .hint("select one with --serial SERIAL")),
    }
}

fn check_ready(row: &AdbDeviceRow<'_>) -> Result<String, HostError> {
    match row.state {
        "device" => Ok(row.serial.to_owned()),
        state => Err(error_for_state(row.serial, state)),
    }
}

/// Returns the reason why a phone in this state can't be used.
fn error_for_state(serial: &str, state: &str) -> HostError {
    match state {
        "unauthorized" | "authorizing" => {
            HostError::new(format!("the phone {serial} has not allowed this computer yet ({state})"))
                .hint("unlock the phone and allow USB debugging in the dialog")
        }
        "offline" | "connecting" => HostError::new(format!("the phone {serial} does not answer ({state})"))
            .hint("unplug it and plug it in again, or try `adb reconnect`"),
        "no permissions" => HostError::new(format!("no permission for the USB device {serial}")).hint(
            "on Linux install the udev rules for Android phones (Debian: android-sdk-platform-tools-common)",
        ),
        state => HostError::new(format!("the phone {serial} is in the state {state}; apps do not run in it"))
            .hint("restart the phone normally"),
    }
}

/// Converts an error of `adb` itself on standard error, as opposed to one of a command on the phone.
pub(super) fn adb_error(stderr: &str, serial: &str) -> HostError {
    let lines = || stderr.lines().map(str::trim).filter(|line| !line.is_empty() && !line.starts_with('*'));
    let is_error = |line: &&str| line.starts_with("error: ") || line.starts_with("adb: ");
    let line = lines().find(is_error).or_else(|| lines().next_back()).unwrap_or("no output");
    let line = line.strip_prefix("adb: ").unwrap_or(line);
    let said = line.strip_prefix("error: ").unwrap_or(line);
    for state in ["unauthorized", "authorizing", "offline"] {
        if said.starts_with(&format!("device {state}")) || said.starts_with(&format!("device still {state}"))
        {
            return error_for_state(serial, state);
        }
    }
    if said.contains("not found") && said.contains("device") || said.starts_with("no devices") {
        return disconnected_error(serial);
    }
    HostError::new(format!("adb: {said}"))
        .hint("run `adb devices -l`; to restart the server, run `adb kill-server`")
}

/// Creates the error for a phone that was disconnected.
pub(super) fn disconnected_error(serial: &str) -> HostError {
    HostError::new(format!("the phone {serial} is no longer connected"))
        .hint("reconnect the USB cable, or run `adb connect` again")
}

#[cfg(test)]
mod tests;
