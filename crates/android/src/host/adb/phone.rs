//! The phone at the other end: which one it is, what it is, and how a command is run in its shell.

use std::io;
use std::time::Duration;

use parking_lot::Mutex;

use super::adb_process::{AdbOutput, AdbProgram, AdbRunError};
use super::phones;
use super::quoting::{ExtraEscaping, quote_word};
use super::remote_file::BlockSource;
use crate::host::HostError;

/// How long the computer's own `adb` may take to say which phones there are; it may have to start its server first.
const DEVICES_TIMEOUT: Duration = Duration::from_secs(15);
/// How long the phone's system may take for an answer about packages.
pub(super) const SYSTEM_TIMEOUT: Duration = Duration::from_secs(20);
/// How long fetching a piece of a file may take.
const FETCH_TIMEOUT: Duration = Duration::from_secs(20);
/// Most that is taken of such an answer. A phone with a thousand packages lists its providers in half of one MiB.
pub(super) const MAX_ANSWER: usize = 8 << 20;
/// A word that nobody on the phone can know before it is printed, and so not print in its place.
pub(super) fn random_marker() -> String {
    format!("--{}--", uuid::Uuid::now_v7().simple())
}

/// An authority that nobody has: `.invalid` is reserved for that.
const NONEXISTENT_AUTHORITY: &str = "toolway.invalid";

/// What is known of the phone while it stays connected.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct PhoneProperties {
    /// API level.
    pub(super) api_level: Option<u32>,
    /// Whose apps are in front.
    pub(super) user: u32,
    /// Whether its shell is root's, who needs no permissions.
    pub(super) is_root: bool,
    /// What it is sold as.
    pub(super) model: String,
}

/// Why a command came to nothing.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum ShellError {
    /// The phone, or the way to it.
    Host(HostError),
    /// It took longer than it was given.
    TimedOut,
    /// It printed more than is taken.
    OutputTooLarge(usize),
}

/// What a command printed, as text; what is no UTF-8 is replaced.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct ShellOutput {
    pub(super) stdout: String,
    pub(super) stderr: String,
}

/// One phone by way of `adb`. Once it is known which one, it stays that one.
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

    /// Its serial number.
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

    /// What it is.
    pub(super) fn facts(&self) -> Result<PhoneProperties, HostError> {
        if let Some(facts) = self.facts.lock().clone() {
            return Ok(facts);
        }
        let said = self.run_system_command(
            "getprop ro.build.version.sdk; am get-current-user; id -u; getprop ro.product.model",
        )?;
        let mut lines = said.lines().map(str::trim);
        let mut number = || lines.next().and_then(|line| line.parse().ok());
        let (api_level, user, uid) = (number(), number(), number());
        let facts = PhoneProperties {
            api_level,
            user: user.unwrap_or_default(),
            is_root: uid == Some(0),
            model: lines.next().unwrap_or_default().to_owned(),
        };
        *self.facts.lock() = Some(facts.clone());
        Ok(facts)
    }

    /// How its `content` reads values. It is asked with a value that only the older way takes, for a provider that
    /// nobody has, so that nothing is called.
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
            return Err(HostError::new("the phone's `content` program does not work as Android's does")
                .hint("only phones with Android 8 and newer are supported"));
        };
        *self.escaping.lock() = Some(escaping);
        Ok(escaping)
    }

    /// What a command about the system prints.
    pub(super) fn run_system_command(&self, command: &str) -> Result<String, HostError> {
        self.shell(command, SYSTEM_TIMEOUT, MAX_ANSWER).map(|said| said.stdout).map_err(ShellError::into_host)
    }

    /// Runs a command line in the phone's shell, to its end.
    pub(super) fn shell(
        &self,
        command: &str,
        timeout: Duration,
        most: usize,
    ) -> Result<ShellOutput, ShellError> {
        let serial = self.serial().map_err(ShellError::Host)?;
        // Behind the output, to know that it came to its end: when the cable is pulled, `adb` ends as it does
        // otherwise. The exit code follows.
        let mark = random_marker();
        let line = format!("{command}; echo {mark}$?");
        // No terminal, and nothing to read: bytes come as they are, errors apart.
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

    /// It did not run a command to its end.
    fn lost_error(&self, stderr: &str) -> HostError {
        // What comes back may be another phone under that number, or the same with another system.
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
            AdbRunError::Start(error) if error.kind() == io::ErrorKind::NotFound => HostError::new(format!(
                "there is no program {}",
                self.program.path.display()
            ))
            .hint(
                "install Android's platform tools (Debian: apt-get install adb), so that adb is on the PATH",
            ),
            AdbRunError::Start(error) => {
                HostError::new(format!("{} could not be started: {error}", self.program.path.display()))
            }
            AdbRunError::TimedOut => HostError::new("adb did not answer in time")
                .hint("`adb kill-server` and `adb devices` show whether it works"),
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
    /// For what is asked of the system.
    pub(super) fn into_host(self) -> HostError {
        match self {
            Self::Host(error) => error,
            Self::TimedOut => HostError::new("the phone did not answer in time")
                .hint("it may be busy; try again, or restart it"),
            Self::OutputTooLarge(most) => HostError::new(format!("the phone printed more than {most} bytes")),
        }
    }
}

/// A file of the phone.
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
        // `exec-out` passes bytes on as they are.
        let output = self
            .phone
            .run(&["-s", &serial, "exec-out", &line], FETCH_TIMEOUT, most)
            .map_err(io::Error::other)?;
        Ok(output.stdout)
    }
}
