//! The phone's shell: a real `sh`, in which Android's commands are scripts that pass their parsed arguments
//! to [`crate::commands`] and print the result.

use std::fs::{self, File};
use std::io::{BufRead, BufReader, Read, Write};
use std::os::unix::fs::PermissionsExt;
use std::os::unix::process::CommandExt;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::sync::Arc;
use std::sync::mpsc::channel;

use parking_lot::Mutex;
use rustix::process::{Pid, Signal, kill_process_group};
use tempfile::TempDir;

/// Android's commands.
const COMMANDS: [&str; 7] = ["am", "cmd", "content", "dumpsys", "getprop", "id", "pm"];
/// A call is a folder with its arguments, each terminated by a NUL, and two pipes for the result. Its name is
/// sent through a third pipe.
const SCRIPT: &str = r#"#!/bin/sh
call=$(mktemp -d "$FAKE_PHONE/call.XXXXXX") || exit 125
{ printf '%s\0' "${0##*/}" "$@"; } >"$call/arguments"
mkfifo "$call/out" "$call/err"
printf '%s\n' "$call" >"$FAKE_PHONE/calls"
cat "$call/err" >&2 &
cat "$call/out"
wait
rm -r "$call"
exit 0
"#;

/// Kills a command with all its child processes.
#[derive(Debug, Clone, Default)]
pub(crate) struct CommandKiller(Arc<Mutex<CommandKillerState>>);

#[derive(Debug, Default)]
struct CommandKillerState {
    group: Option<Pid>,
    is_over: bool,
}

impl CommandKiller {
    pub(crate) fn kill(&self) {
        let mut state = self.0.lock();
        state.is_over = true;
        if let Some(group) = state.group.take() {
            let _ = kill_process_group(group, Signal::KILL);
        }
    }

    fn set_group(&self, group: Pid) {
        let mut state = self.0.lock();
        state.group = Some(group);
        if state.is_over {
            let _ = kill_process_group(group, Signal::KILL);
        }
    }

    fn clear_group(&self) {
        self.0.lock().group = None;
    }
}

/// The folder of scripts and calls.
#[derive(Debug)]
pub(crate) struct ScriptFolder(TempDir);

impl ScriptFolder {
    /// Creates the folder, and passes each call to `answer` on a separate thread.
    pub(crate) fn new(answer: impl Fn(&[String]) -> (Vec<u8>, Vec<u8>) + Send + Sync + 'static) -> Self {
        let folder = tempfile::tempdir().unwrap();
        let bin = folder.path().join("bin");
        fs::create_dir(&bin).unwrap();
        for command in COMMANDS {
            let path = bin.join(command);
            fs::write(&path, SCRIPT).unwrap();
            fs::set_permissions(&path, fs::Permissions::from_mode(0o755)).unwrap();
        }
        let calls = folder.path().join("calls");
        assert!(Command::new("mkfifo").arg(&calls).status().unwrap().success());
        let answer = Arc::new(answer);
        std::thread::spawn(move || {
            // Also opened for writing, so that it never reaches its end.
            let Ok(pipe) = File::options().read(true).write(true).open(&calls) else { return };
            for line in BufReader::new(pipe).lines() {
                let call = PathBuf::from(line.unwrap());
                let answer = Arc::clone(&answer);
                std::thread::spawn(move || answer_call(&call, &*answer));
            }
        });
        Self(folder)
    }

    pub(crate) fn path(&self) -> &Path {
        self.0.path()
    }
}

fn answer_call(call: &Path, answer: &(impl Fn(&[String]) -> (Vec<u8>, Vec<u8>) + ?Sized)) {
    let arguments = fs::read(call.join("arguments")).unwrap();
    let arguments: Vec<String> = arguments
        .split_inclusive(|byte| *byte == 0)
        .map(|word| String::from_utf8(word[..word.len() - 1].to_vec()).unwrap())
        .collect();
    let (stdout, stderr) = answer(&arguments);
    // If the caller was killed, nobody opens the other end, and this thread stays blocked. Opening for
    // reading and writing would not block, but would close the pipe before it was read.
    for (name, bytes) in [("err", stderr), ("out", stdout)] {
        if let Ok(mut pipe) = File::options().write(true).open(call.join(name)) {
            let _ = pipe.write_all(&bytes);
        }
    }
}

/// Runs a command line, passes on its output (with a flag for errors), and returns its exit code.
pub(crate) fn run(
    line: &str,
    scripts: &ScriptFolder,
    killer: &CommandKiller,
    apart: bool,
    mut written: impl FnMut(bool, &[u8]),
) -> i32 {
    let folder = scripts.path();
    let mut command = Command::new("/bin/sh");
    command
        .args(["-c", line])
        .env_clear()
        .env("PATH", format!("{}:/usr/bin:/bin", folder.join("bin").display()))
        .env("FAKE_PHONE", folder)
        .current_dir("/")
        .stdin(Stdio::null())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .process_group(0);
    let mut child = command.spawn().unwrap();
    killer.set_group(Pid::from_child(&child));
    let (send, receive) = channel::<(bool, Vec<u8>)>();
    let (stdout, stderr) = (child.stdout.take().unwrap(), child.stderr.take().unwrap());
    let streams: [(bool, Box<dyn Read + Send>); 2] = [(false, Box::new(stdout)), (apart, Box::new(stderr))];
    for (is_error, mut stream) in streams {
        let send = send.clone();
        std::thread::spawn(move || {
            let mut buffer = vec![0; 16 << 10];
            while let Ok(read) = stream.read(&mut buffer) {
                if read == 0 || send.send((is_error, buffer[..read].to_vec())).is_err() {
                    return;
                }
            }
        });
    }
    drop(send);
    for (is_error, bytes) in receive {
        written(is_error, &bytes);
    }
    let status = child.wait().unwrap();
    killer.clear_group();
    status.code().unwrap_or(255)
}
