//! Pitfall E10: files and links are swapped while the file tools run.

use std::fs;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};

use toolway_types::{Code, ToolError};

use super::harness::{FileAccessHarness, SECRET, assert_no_parts, link};

/// How often things are swapped at least,
const SWAPS: usize = 1000;
/// and how often the tools are at work meanwhile.
const WORKS: usize = 200;
/// What is enough of both, where the two never meet.
const ENOUGH: usize = 200_000;

/// Does `swap` again and again, and `work` meanwhile, until both were done often enough and the tools have met
/// either state.
fn race(seen: &RaceOutcomes, swap: impl Fn() + Sync, work: impl Fn()) {
    /// Says that the work is over, also where it went wrong.
    struct FinishedFlagGuard<'a>(&'a AtomicBool);
    impl Drop for FinishedFlagGuard<'_> {
        fn drop(&mut self) {
            self.0.store(true, Ordering::Release);
        }
    }
    let (done, swaps) = (AtomicBool::new(false), AtomicUsize::new(0));
    std::thread::scope(|scope| {
        let swapping = scope.spawn(|| {
            while !done.load(Ordering::Acquire) {
                swap();
                swaps.fetch_add(1, Ordering::Relaxed);
            }
        });
        let _over = FinishedFlagGuard(&done);
        let mut works = 0;
        while !swapping.is_finished() {
            work();
            works += 1;
            let often_enough = swaps.load(Ordering::Relaxed) >= SWAPS && works >= WORKS;
            if often_enough && (seen.has_both_outcomes() || works >= ENOUGH) {
                break;
            }
        }
    });
    assert!(seen.has_both_outcomes(), "{seen:?}");
}

#[derive(Debug, Default)]
struct RaceOutcomes {
    inside: AtomicUsize,
    refused: AtomicUsize,
}

impl RaceOutcomes {
    /// What may come of a call: something from inside, or a refusal.
    #[track_caller]
    fn record<T: AsRef<str>>(&self, result: Result<T, ToolError>) {
        match result {
            Ok(text) => {
                assert!(!text.as_ref().contains(SECRET), "the secret was read");
                self.inside.fetch_add(1, Ordering::Relaxed);
            }
            Err(error) => {
                assert!(!error.message.contains(SECRET));
                if error.code == Code::Denied {
                    self.refused.fetch_add(1, Ordering::Relaxed);
                }
            }
        }
    }

    /// Whether it was a race.
    fn has_both_outcomes(&self) -> bool {
        self.inside.load(Ordering::Relaxed) > 0 && self.refused.load(Ordering::Relaxed) > 0
    }
}

#[test]
fn swapping_a_folder_for_a_symlink_never_escapes_it_e10() {
    let world = FileAccessHarness::new();
    let (door, parked) = (world.at("docs/door"), world.at("docs/parked"));
    fs::create_dir(&door).unwrap();
    fs::write(door.join("x.txt"), "inside").unwrap();
    let seen = RaceOutcomes::default();
    // The tools may make the folder anew while it is away.
    let swap = || {
        fs::rename(&door, &parked).unwrap();
        while std::os::unix::fs::symlink(world.at("outside"), &door).is_err() {
            let _ = fs::remove_dir_all(&door);
        }
        std::thread::yield_now();
        let _ = fs::remove_file(&door);
        while fs::rename(&parked, &door).is_err() {
            let _ = fs::remove_dir_all(&door);
        }
        std::thread::yield_now();
    };
    race(&seen, swap, || {
        seen.record(world.read("docs/door/x.txt"));
        seen.record(world.write("docs/door/new.txt", "inside").map(|output| output.joined_text()));
        seen.record(world.append("docs/door/more.txt", "+").map(|output| output.joined_text()));
    });
    world.assert_untouched();
    assert_no_parts(&door);
}

#[test]
fn swapping_a_file_for_a_symlink_never_escapes_the_folder_e10() {
    let world = FileAccessHarness::new();
    let (file, parked) = (world.at("docs/x.txt"), world.at("docs/parked.txt"));
    fs::write(&file, "inside").unwrap();
    let seen = RaceOutcomes::default();
    let swap = || {
        // The tools may have put a new one there.
        let _ = fs::rename(&file, &parked);
        let _ = std::os::unix::fs::symlink(world.at("outside/x.txt"), &file);
        std::thread::yield_now();
        let _ = fs::rename(&parked, &file);
        std::thread::yield_now();
    };
    race(&seen, swap, || {
        seen.record(world.read("docs/x.txt"));
        seen.record(world.append("docs/x.txt", "+").map(|output| output.joined_text()));
        seen.record(world.write("docs/x.txt", "inside").map(|output| output.joined_text()));
    });
    world.assert_untouched();
    assert_no_parts(&world.at("docs"));
}

#[test]
fn swapping_symlinks_never_reaches_the_data_folder_e10() {
    let mut world = FileAccessHarness::new();
    let all = world.at("");
    fs::write(world.at("manual/owner.token"), "inside").unwrap();
    world.replace_folders(vec![super::harness::listed("all", &all, true)]).unwrap();
    let door = world.at("docs/door");
    link("../manual", &door);
    let seen = RaceOutcomes::default();
    let swap = || {
        for target in ["../data", "../manual"] {
            link(target, world.at("docs/next"));
            fs::rename(world.at("docs/next"), &door).unwrap();
            std::thread::yield_now();
        }
    };
    race(&seen, swap, || {
        seen.record(world.read("all/docs/door/owner.token"));
        seen.record(world.write("all/docs/door/new.txt", "inside").map(|output| output.joined_text()));
        if let Ok(listing) = world.list_all("all/docs/door") {
            assert!(listing.entries.iter().all(|entry| entry.name != "toolway.db"), "{listing:?}");
        }
    });
    world.assert_untouched();
}

#[test]
fn listing_a_folder_during_a_swap_never_shows_outside_files_e10() {
    let world = FileAccessHarness::new();
    fs::write(world.at("outside/x.txt"), SECRET).unwrap();
    fs::rename(world.at("outside/x.txt"), world.at("outside/telltale")).unwrap();
    let (door, parked) = (world.at("docs/door"), world.at("docs/parked"));
    fs::create_dir(&door).unwrap();
    fs::write(door.join("x.txt"), "inside").unwrap();
    let swap = || {
        fs::rename(&door, &parked).unwrap();
        link(world.at("outside"), &door);
        std::thread::yield_now();
        fs::remove_file(&door).unwrap();
        fs::rename(&parked, &door).unwrap();
        std::thread::yield_now();
    };
    let seen = RaceOutcomes::default();
    race(&seen, swap, || {
        let listings = [world.list_all("docs"), world.list("docs/door")];
        for listing in listings {
            seen.record(listing.map(|listing| {
                let shown: Vec<_> = listing.entries.into_iter().map(|entry| entry.name).collect();
                assert!(shown.iter().all(|name| !name.contains("telltale")), "{shown:?}");
                String::new()
            }));
        }
    });
}
