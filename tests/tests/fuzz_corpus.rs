//! Replays the corpus of every fuzz target.

#![allow(clippy::unwrap_used, clippy::panic, reason = "helpers of tests fail by panicking")]

use std::fs;
use std::path::{Path, PathBuf};

#[path = "../../fuzz/src/lib.rs"]
#[allow(unreachable_pub, reason = "there it is a library")]
mod fuzz;

fn folder() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../fuzz")
}

/// Returns the sorted names in a folder.
fn names(folder: &Path) -> Vec<String> {
    let mut names: Vec<_> = fs::read_dir(folder)
        .unwrap_or_else(|error| panic!("{}: {error}", folder.display()))
        .map(|entry| entry.unwrap().file_name().into_string().unwrap())
        .collect();
    names.sort();
    names
}

/// Runs each input on a thread with a timeout, because a parser that never returns would block the others.
/// The stack has the size of the runtime's workers, so that overflows are detected.
fn run(target: fuzz::Target, name: &str, input: &Path) {
    let data = fs::read(input).unwrap();
    let (done, wait) = std::sync::mpsc::channel();
    let thread = std::thread::Builder::new().name(name.to_owned()).stack_size(2 << 20);
    let thread = thread.spawn(move || {
        target(&data);
        let _ = done.send(());
    });
    let thread = thread.unwrap();
    match wait.recv_timeout(std::time::Duration::from_secs(20)) {
        Err(std::sync::mpsc::RecvTimeoutError::Timeout) => panic!("{}: takes too long", input.display()),
        _ => assert!(thread.join().is_ok(), "{}: broke a promise", input.display()),
    }
}

#[test]
fn every_input_of_the_corpus_satisfies_its_target() {
    for (name, target) in fuzz::TARGETS {
        let corpus = folder().join("corpus").join(name);
        let inputs = names(&corpus);
        assert!(inputs.len() >= 10, "{name}: {} inputs are no corpus", inputs.len());
        for input in inputs {
            println!("{name}/{input}");
            run(*target, name, &corpus.join(input));
        }
    }
}

#[test]
fn every_target_has_a_program_and_a_corpus() {
    let mut targets: Vec<_> = fuzz::TARGETS.iter().map(|(name, _)| (*name).to_owned()).collect();
    targets.sort();
    assert_eq!(names(&folder().join("corpus")), targets);
    let programs: Vec<_> = targets.iter().map(|name| format!("{name}.rs")).collect();
    assert_eq!(names(&folder().join("fuzz_targets")), programs);
}
