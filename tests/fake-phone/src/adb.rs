//! The real program `adb` with a separate server on a free port, independent of other phones and servers.

use std::ffi::OsString;
use std::net::{TcpListener, TcpStream};
use std::path::PathBuf;
use std::process::{Child, Command, Stdio};
use std::time::Duration;

use tempfile::TempDir;

use crate::FakePhone;

/// Interval and total time of checks for a starting server.
const POLL_INTERVAL: Duration = Duration::from_millis(10);
const MAX_POLLS: usize = 3_000;

/// An adb server, which ends when it is dropped.
#[derive(Debug)]
pub struct AdbServer {
    program: PathBuf,
    home: TempDir,
    port: u16,
    server: Child,
}

/// Output of the client.
#[derive(Debug)]
pub struct AdbClientOutput {
    /// Standard output.
    pub stdout: String,
    /// Standard error.
    pub stderr: String,
}

impl AdbServer {
    /// Starts a server.
    ///
    /// # Panics
    /// If there is no `adb` on the path, or it does not start.
    #[must_use]
    pub fn start() -> Self {
        let program = std::env::split_paths(&std::env::var_os("PATH").unwrap_or_default())
            .map(|folder| folder.join("adb"))
            .find(|path| path.is_file())
            .expect("no adb on the path; scripts/bootstrap.sh test installs it");
        let home = tempfile::tempdir().unwrap();
        // A port that was just free; if it has been taken meanwhile, another one.
        for _ in 0..5 {
            let port = TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap().port();
            let log = std::fs::File::create(home.path().join("server.log")).unwrap();
            let mut server = Command::new(&program)
                .args(["-L", &format!("tcp:localhost:{port}"), "server", "nodaemon"])
                .env_clear()
                .env("HOME", home.path())
                .env("TMPDIR", home.path())
                .stdin(Stdio::null())
                .stdout(Stdio::null())
                .stderr(log)
                .spawn()
                .unwrap();
            for _ in 0..MAX_POLLS {
                if TcpStream::connect(("127.0.0.1", port)).is_ok() {
                    return Self { program, home, port, server };
                }
                if server.try_wait().unwrap().is_some() {
                    break;
                }
                std::thread::park_timeout(POLL_INTERVAL);
            }
            let _ = server.kill();
            let _ = server.wait();
        }
        panic!("adb's server does not start");
    }

    /// Returns the path of the client.
    #[must_use]
    pub fn program(&self) -> PathBuf {
        self.program.clone()
    }

    /// Returns the environment in which a client finds this server and starts none.
    #[must_use]
    pub fn environment(&self) -> Vec<(OsString, OsString)> {
        [
            ("HOME".to_owned(), self.home.path().as_os_str().to_owned()),
            ("TMPDIR".to_owned(), self.home.path().as_os_str().to_owned()),
            ("ADB_SERVER_SOCKET".to_owned(), format!("tcp:127.0.0.1:{}", self.port).into()),
        ]
        .map(|(name, value)| (name.into(), value))
        .into()
    }

    /// Runs the client.
    ///
    /// # Panics
    /// If it can't be started.
    #[must_use]
    pub fn run(&self, arguments: &[&str]) -> AdbClientOutput {
        let output = Command::new(&self.program)
            .args(arguments)
            .env_clear()
            .envs(self.environment())
            .stdin(Stdio::null())
            .output()
            .unwrap();
        AdbClientOutput {
            stdout: String::from_utf8_lossy(&output.stdout).into_owned(),
            stderr: String::from_utf8_lossy(&output.stderr).into_owned(),
        }
    }

    /// Connects a phone with `adb connect`.
    ///
    /// # Panics
    /// If it does not connect.
    pub fn connect(&self, phone: &FakePhone) {
        // The server may still have remains of an earlier connection.
        let _ = self.run(&["disconnect", &phone.serial()]);
        let said = self.run(&["connect", &phone.serial()]);
        let is_done = said.stdout.contains("connected to") || said.stdout.contains("failed to authenticate");
        assert!(is_done, "{said:?}");
    }
}

impl Drop for AdbServer {
    fn drop(&mut self) {
        let _ = self.server.kill();
        let _ = self.server.wait();
    }
}
