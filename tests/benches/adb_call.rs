//! Compares the duration of a call over adb with that of the bare `adb shell content call`: the real program
//! with a fake phone, alternating, so that disturbances of the machine affect both.

#![allow(
    clippy::unwrap_used,
    clippy::print_stdout,
    reason = "a measurement that can't be made has no figure"
)]

use std::process::{Command, Stdio};
use std::time::Duration;

use toolway_android::ProviderHost;
use toolway_android::bundle::Bundle;
use toolway_android::host::HostCall;
use toolway_android::host::adb::{AdbHost, AdbProgram};
use toolway_fake_phone::{AdbServer, FakePhone, PhoneSetup, ProviderReply, apps};

const ROUNDS: usize = 200;
/// The command that a person would type.
const SHELL_COMMAND: &str = "content call --uri content://com.example.notes.tools --method execute_tool \
                    --extra 'args:s:{\"text\"\\:\"a\\:b\"}' --extra request_id:s:0198-a --extra tool_name:s:find";

fn main() {
    let (adb, phone) = (AdbServer::start(), FakePhone::start(PhoneSetup::default()));
    adb.connect(&phone);
    phone.install(apps::notes(|_| ProviderReply::success("{}")));
    let program = AdbProgram { path: adb.program(), environment: adb.environment() };
    let host = AdbHost::new(program, None);
    let call = HostCall {
        authority: apps::NOTES_AUTHORITY.to_owned(),
        method: "execute_tool".to_owned(),
        extras: Some(
            Bundle::new()
                .with("tool_name", "find")
                .with("args", r#"{"text":"a:b"}"#)
                .with("request_id", "0198-a"),
        ),
        timeout: Duration::from_secs(20),
    };
    let ours = || assert!(host.call(&call).unwrap().is_some());
    let serial = phone.serial();
    let bare = || {
        let output = Command::new(adb.program())
            .args(["-s", &serial, "shell", SHELL_COMMAND])
            .env_clear()
            .envs(adb.environment())
            .stdin(Stdio::null())
            .output()
            .unwrap();
        assert!(output.stdout.starts_with(b"Result: Bundle[{"), "{output:?}");
    };
    // One-time detection does not count as part of a call.
    ours();
    let (mut of_bare, mut of_ours) = (Vec::new(), Vec::new());
    for _ in 0..ROUNDS {
        for (run, times) in [(&bare as &dyn Fn(), &mut of_bare), (&ours, &mut of_ours)] {
            let began = tokio::time::Instant::now();
            run();
            times.push(began.elapsed());
        }
    }
    let (of_bare, of_ours) = (median(of_bare), median(of_ours));
    println!("| a call over adb, p50 of {ROUNDS} | measured | goal |");
    println!("|---|---|---|");
    println!("| bare `adb shell content call` | {of_bare:.1} ms | |");
    println!(
        "| through the host | {of_ours:.1} ms, {:.2} times that | at most 1.2 times |",
        of_ours / of_bare
    );
}

/// Returns the median in milliseconds.
fn median(mut times: Vec<Duration>) -> f64 {
    times.sort();
    times.get(times.len() / 2).unwrap().as_secs_f64() * 1000.0
}
