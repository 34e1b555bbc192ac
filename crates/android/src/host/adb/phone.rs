//! A connected phone: its selection, its properties, and commands in its shell.

use std::io;
use std::time::Duration;

use parking_lot::Mutex;

use super::adb_process::{AdbOutput, AdbProgram, AdbRunError};
use super::phones;
use super::quoting::{ExtraEscaping, quote_word};
use super::remote_file::BlockSource;
use crate::host::HostError;

/// Timeout for listing phones; `adb` may have to start its server first.
const DEVICES_TIMEOUT: Duration = Duration::from_secs(15);
/// Timeout for answers of the phone's system about packages.
pub(super) const SYSTEM_TIMEOUT: Duration = Duration::from_secs(20);
/// Timeout for fetching a piece of a file.
const FETCH_TIMEOUT: Duration = Duration::from_secs(20);
/// Maximum size of such an answer, in bytes. A phone with a thousand packages lists its providers in half a
/// MiB.
pub(super) const MAX_ANSWER: usize = 8 << 20;
/// Returns a random separator that no app on the phone can predict and print.
pub(super) fn random_marker() -> String {
    format!("--{}--", uuid::Uuid::now_v7().simple())
}

/// An authority that can't exist: `.invalid` is reserved.
const NONEXISTENT_AUTHORITY: &str = "toolway.invalid";

/// Properties of the phone, valid while it stays connected.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct PhoneProperties {
    /// API level.
    pub(super) api_level: Option<u32>,
    /// The user in the foreground.
    pub(super) user: u32,
    /// True if the shell is root, which needs no permissions.
    pub(super) is_root: bool,
    /// True if `adb root` can make the shell root, as on emulators and developers' builds of Android.
    pub(super) is_debuggable: bool,
    /// Model name.
    pub(super) model: String,
}

/// Reason why a command failed.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum ShellError {
    /// The phone or the connection failed.
    Host(HostError),
    /// The command exceeded its timeout.
    TimedOut,
    /// The command printed too much.
    OutputTooLarge(usize),
}

/// Output of a command as text; invalid UTF-8 is replaced.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct ShellOutput {
    pub(super) stdout: String,
    pub(super) stderr: String,
}

/// A phone accessed with `adb`. Once it has been selected, it stays the same one.
#[derive(Debug)]
pub(super) struct AdbDevice {
    program: AdbProgram,
    wanted: Option<String>,
    serial: Mutex<Option<String>>,
    facts: Mutex<Option<PhoneProperties>>,
    escaping: Mutex<Option<ExtraEscaping>>,
}

impl AdbDevice {
    pub(super) fn new(program: AdbProgram, wanted: Option<String>) -> Self {
        Self {
            program,
            wanted,
            serial: Mutex::default(),
            facts: Mutex::default(),
            escaping: Mutex::default(),
        }
    }

    /// Returns the serial number.
    pub(super) fn serial(&self) -> Result<String, HostError> {
        if let Some(serial) = self.serial.lock().clone() {
            return Ok(serial);
        }
        let output =
            self.run(&["devices", "-l"], DEVICES_TIMEOUT, MAX_ANSWER).map_err(|error| self.of_run(error))?;
        let stdout = String::from_utf8_lossy(&output.stdout);
        if !output.success {
            return Err(phones::adb_error(&String::from_utf8_lossy(&output.stderr), ""));
        }
        let serial = phones::choose(&stdout, self.wanted.as_deref())?;
        *self.serial.lock() = Some(serial.clone());
        Ok(serial)
    }

    /// Returns the properties.
    pub(super) fn facts(&self) -> Result<PhoneProperties, HostError> {
        if let Some(facts) = self.facts.lock().clone() {
            return Ok(facts);
        }
        let said = self.run_system_command(
            "getprop ro.build.version.sdk; am get-current-user; id -u; getprop ro.debuggable; getprop ro.product.model",
        )?;
        let mut lines = said.lines().map(str::trim);
        let mut number = || lines.next().and_then(|line| line.parse().ok());
        let (api_level, user, uid, debuggable) = (number(), number(), number(), number());
        let facts = PhoneProperties {
            api_level,
            user: user.unwrap_or_default(),
            is_root: uid == Some(0),
            is_debuggable: debuggable == Some(1),
            model: lines.next().unwrap_or_default().to_owned(),
        };
        *self.facts.lock() = Some(facts.clone());
        Ok(facts)
    }

    /// Returns the properties if they have been read already.
    pub(super) fn known_facts(&self) -> Option<PhoneProperties> {
        self.facts.lock().clone()
    }

    /// Determines how the phone's `content` parses values. Sends a value that only the older version accepts
    /// to an authority that does not exist, so that no provider is called.
    pub(super) fn escaping(&self) -> Result<ExtraEscaping, HostError> {
        if let Some(escaping) = *self.escaping.lock() {
            return Ok(escaping);
        }
        let probe =
            format!("content call --uri content://{NONEXISTENT_AUTHORITY} --method m --extra k:s:a:b");
        let said = self.shell(&probe, SYSTEM_TIMEOUT, MAX_ANSWER).map_err(ShellError::into_host)?;
        let escaping = if said.stdout.contains("Binding not well formed") {
            ExtraEscaping::Backslash
        } else if said.stderr.contains(NONEXISTENT_AUTHORITY) {
            ExtraEscaping::Raw
        } else {
            return Err(HostError::new("the phone's `content` program differs from Android's")
                .hint("only phones with Android 8 and newer are supported"));
        };
        *self.escaping.lock() = Some(escaping);
        Ok(escaping)
    }

    /// Runs a command that queries the system, and returns its output.
    pub(super) fn run_system_command(&self, command: &str) -> Result<String, HostError> {
        self.shell(command, SYSTEM_TIMEOUT, MAX_ANSWER).map(|said| said.stdout).map_err(ShellError::into_host)
    }

    /// Runs a command line in the phone's shell to its end.
    pub(super) fn shell(
        &self,
        command: &str,
        timeout: Duration,
        most: usize,
    ) -> Result<ShellOutput, ShellError> {
        let serial = self.serial().map_err(ShellError::Host)?;
        // Printed after the output, to detect that the command ended: if the cable is pulled, `adb` exits
        // normally. The exit code follows.
        let mark = random_marker();
        let line = format!("{command}; echo {mark}$?");
        // No terminal and no input: bytes are unchanged, and standard error is separate.
        let output = self
            .run(&["-s", &serial, "shell", "-n", "-T", &line], timeout, most)
            .map_err(|error| self.of_shell(error, most))?;
        let stdout = String::from_utf8_lossy(&output.stdout);
        let stderr = String::from_utf8_lossy(&output.stderr).into_owned();
        let end = stdout.rfind(&mark).filter(|end| {
            let code = stdout.get(end + mark.len()..).unwrap_or_default().trim_end();
            !code.is_empty() && code.bytes().all(|byte| byte.is_ascii_digit())
        });
        match end {
            Some(end) => Ok(ShellOutput { stdout: stdout.get(..end).unwrap_or_default().to_owned(), stderr }),
            None => Err(ShellError::Host(self.lost_error(&stderr))),
        }
    }

    /// Creates the error for a command that did not run to its end.
    fn lost_error(&self, stderr: &str) -> HostError {
        // The next phone with this serial number may be another one, or the same with another system.
        *self.facts.lock() = None;
        *self.escaping.lock() = None;
        let serial = self.serial.lock().clone().unwrap_or_default();
        let is_said = stderr.lines().any(|line| line.starts_with("error: ") || line.starts_with("adb: "));
        if is_said { phones::adb_error(stderr, &serial) } else { phones::disconnected_error(&serial) }
    }

    fn run(&self, arguments: &[&str], timeout: Duration, most: usize) -> Result<AdbOutput, AdbRunError> {
        self.program.run(arguments, timeout, most)
    }

    fn of_run(&self, error: AdbRunError) -> HostError {
        match error {
            AdbRunError::Start(error) if error.kind() == io::ErrorKind::NotFound => {
                HostError::new(format!("program not found: {}", self.program.path.display())).hint(
                    "install Android's platform tools (Debian: apt-get install adb) and add adb to PATH",
                )
            }
            AdbRunError::Start(error) => {
                HostError::new(format!("can't start {}: {error}", self.program.path.display()))
            }
            AdbRunError::TimedOut => HostError::new("adb did not answer in time")
                .hint("restart adb: run `adb kill-server`, then `adb devices`"),
            AdbRunError::OutputTooLarge(most) => {
                HostError::new(format!("adb printed more than {most} bytes"))
            }
        }
    }

    fn of_shell(&self, error: AdbRunError, most: usize) -> ShellError {
        match error {
            AdbRunError::TimedOut => ShellError::TimedOut,
            AdbRunError::OutputTooLarge(_) => ShellError::OutputTooLarge(most),
            error @ AdbRunError::Start(_) => ShellError::Host(self.of_run(error)),
        }
    }
}

impl ShellError {
    /// Converts the error of a system query.
    pub(super) fn into_host(self) -> HostError {
        match self {
            Self::Host(error) => error,
            Self::TimedOut => HostError::new("the phone did not answer in time")
                .hint("the phone may be busy; retry, or restart it"),
            Self::OutputTooLarge(most) => HostError::new(format!("the phone printed more than {most} bytes")),
        }
    }
}

/// A file on the phone.
pub(super) struct PhoneFile<'a> {
    pub(super) phone: &'a AdbDevice,
    pub(super) path: &'a str,
}

impl BlockSource for PhoneFile<'_> {
    fn fetch(&self, offset: u64, length: u64) -> io::Result<Vec<u8>> {
        const UNIT: u64 = 64 << 10;
        let line = format!(
            "dd if={} bs={UNIT} skip={} count={} 2>/dev/null",
            quote_word(self.path),
            offset / UNIT,
            length.div_ceil(UNIT)
        );
        let serial = self.phone.serial().map_err(io::Error::other)?;
        let most = usize::try_from(length).unwrap_or(usize::MAX);
        // `exec-out` passes bytes on unchanged.
        let output = self
            .phone
            .run(&["-s", &serial, "exec-out", &line], FETCH_TIMEOUT, most)
            .map_err(io::Error::other)?;
        Ok(output.stdout)
    }
}
