use std::fs;
use std::os::unix::fs::{MetadataExt, PermissionsExt};

use serde_json::json;
use toolway_types::{Code, Outcome, ResultEnvelope};

use super::super::write_file;
use super::harness::{AGENT, FileAccessHarness, assert_no_parts, link};

#[test]
fn what_is_written_is_confirmed_with_path_and_bytes() {
    let world = FileAccessHarness::new();
    let output = world.write("notes.txt", "Grüße").unwrap();
    assert_eq!(output.joined_text(), "Wrote 7 bytes to notes.txt");
    assert_eq!(
        json!(ResultEnvelope(&Outcome::Success(output))),
        json!({"status": "success", "result": {"path": "notes.txt", "bytes_written": 7}})
    );
    assert_eq!(fs::read_to_string(world.own("notes.txt")).unwrap(), "Grüße");
    let output = world.append("notes.txt", " an alle").unwrap();
    assert_eq!(output.joined_text(), "Appended 8 bytes to notes.txt");
    assert_eq!(fs::read_to_string(world.own("notes.txt")).unwrap(), "Grüße an alle");
    world.write("notes.txt", "short").unwrap();
    assert_eq!(fs::read_to_string(world.own("notes.txt")).unwrap(), "short");
    world.write("notes.txt", "").unwrap();
    assert_eq!(fs::read_to_string(world.own("notes.txt")).unwrap(), "");
}

#[test]
fn the_confirmed_path_can_be_used_again() {
    let world = FileAccessHarness::new();
    let told = |path: &str| {
        let output = world.write(path, "x").unwrap();
        let value = output.structured.unwrap().to_value();
        value["path"].as_str().unwrap().to_owned()
    };
    assert_eq!(told("./a//b.txt"), "a/b.txt");
    assert_eq!(told("docs/sub/../c.txt"), "docs/c.txt");
    assert_eq!(told(world.own("d.txt").to_str().unwrap()), "d.txt");
    assert_eq!(told(&world.text("docs/e.txt")), "docs/e.txt");
    assert_eq!(world.read("a/b.txt").unwrap(), "x");
}

#[test]
fn folders_on_the_way_are_made() {
    let world = FileAccessHarness::new();
    world.write("a/b/c.txt", "x").unwrap();
    world.append("docs/a/b/c.txt", "x").unwrap();
    assert_eq!(fs::read_to_string(world.at("docs/a/b/c.txt")).unwrap(), "x");
    let mode = |path| fs::metadata(path).unwrap().permissions().mode() & 0o777;
    // What lies in the data folder is its owner's alone.
    assert_eq!(mode(world.own("")), 0o700);
    assert_eq!(mode(world.own("a")), 0o700);
    assert_eq!(mode(world.own("a/b/c.txt")), 0o600);
    world.append("a/log.txt", "x").unwrap();
    assert_eq!(mode(world.own("a/log.txt")), 0o600);
    // Elsewhere what the process makes by itself.
    fs::write(world.at("docs/usual"), "").unwrap();
    assert_eq!(mode(world.at("docs/a/b/c.txt")), mode(world.at("docs/usual")));
}

#[test]
fn reading_and_refused_writing_make_nothing() {
    let world = FileAccessHarness::new();
    let _ = world.read("a/b.txt");
    let _ = world.list("a");
    let _ = world.list(".");
    let _ = world.write("../x/y.txt", "x");
    let _ = world.write("docs/new/../../x.txt", "x");
    assert!(!world.own("").exists() || super::harness::names(&world.own("")).is_empty());
    assert!(!world.at("docs/x.txt").exists() && !world.at("x.txt").exists());
}

#[test]
fn who_may_use_a_file_stays_as_it_was() {
    let world = FileAccessHarness::new();
    let path = world.at("docs/run.sh");
    fs::write(&path, "old").unwrap();
    for mode in [0o755, 0o640, 0o600] {
        fs::set_permissions(&path, fs::Permissions::from_mode(mode)).unwrap();
        world.write("docs/run.sh", "new").unwrap();
        assert_eq!(fs::metadata(&path).unwrap().permissions().mode() & 0o7777, mode);
        world.append("docs/run.sh", "more").unwrap();
        assert_eq!(fs::metadata(&path).unwrap().permissions().mode() & 0o7777, mode);
    }
    // New content does not run as somebody else.
    fs::set_permissions(&path, fs::Permissions::from_mode(0o4755)).unwrap();
    world.write("docs/run.sh", "new").unwrap();
    assert_eq!(fs::metadata(&path).unwrap().permissions().mode() & 0o7777, 0o755);
}

#[test]
fn a_read_only_folder_refuses_and_names_the_setting() {
    let world = FileAccessHarness::new();
    for path in ["manual/page.txt", "manual/new.txt", "manual/new/new.txt", &world.text("manual/page.txt")] {
        for error in [world.write(path, "x").unwrap_err(), world.append(path, "x").unwrap_err()] {
            assert_eq!(error.code, Code::Denied);
            assert_eq!(error.message, format!("{path} can't be written: manual is for reading only"));
            assert!(error.hint.unwrap().contains("tools.files.folders"));
        }
    }
    assert_eq!(fs::read_to_string(world.at("manual/page.txt")).unwrap(), "read me");
    assert_eq!(super::harness::names(&world.at("manual")), ["page.txt"]);
}

#[test]
fn a_read_only_file_is_left_alone() {
    let world = FileAccessHarness::new();
    let path = world.at("docs/kept.txt");
    fs::write(&path, "old").unwrap();
    fs::set_permissions(&path, fs::Permissions::from_mode(0o444)).unwrap();
    for error in
        [world.write("docs/kept.txt", "x").unwrap_err(), world.append("docs/kept.txt", "x").unwrap_err()]
    {
        assert_eq!(error.code, Code::ToolFailed, "{error:?}");
        // Whoever is not the superuser gets it from the operating system.
        assert!(
            error.message.contains("read-only") || error.message.contains("permission denied"),
            "{error:?}"
        );
    }
    assert_eq!(fs::read_to_string(&path).unwrap(), "old");
    assert_no_parts(&world.at("docs"));
}

#[test]
fn a_folder_is_not_written_over() {
    let world = FileAccessHarness::new();
    fs::create_dir(world.at("docs/sub")).unwrap();
    for path in ["docs/sub", "docs/sub/", "docs", ".", "docs/new/"] {
        for error in [world.write(path, "x").unwrap_err(), world.append(path, "x").unwrap_err()] {
            assert_eq!(error.message, format!("{path} is a folder, not a file"));
        }
    }
    assert!(world.at("docs/sub").is_dir() && !world.at("docs/new").exists());
    // A file on the way to where a folder would have to be.
    fs::write(world.at("docs/file"), "old").unwrap();
    let error = world.write("docs/file/under.txt", "x").unwrap_err();
    assert!(error.hint.unwrap().contains("Part of the path is a file"));
    assert_eq!(fs::read_to_string(world.at("docs/file")).unwrap(), "old");
}

#[test]
fn a_link_within_is_written_through() {
    let world = FileAccessHarness::new();
    fs::create_dir(world.at("docs/sub")).unwrap();
    fs::write(world.at("docs/sub/real.txt"), "old").unwrap();
    link("sub/real.txt", world.at("docs/alias.txt"));
    link("sub", world.at("docs/door"));
    link("../../docs/sub/new.txt", world.at("docs/sub/dangling"));
    let output = world.write("docs/alias.txt", "new").unwrap();
    assert_eq!(output.joined_text(), "Wrote 3 bytes to docs/sub/real.txt");
    assert!(world.at("docs/alias.txt").is_symlink());
    world.append("docs/door/real.txt", "er").unwrap();
    assert_eq!(fs::read_to_string(world.at("docs/sub/real.txt")).unwrap(), "newer");
    // It leads out of docs, though back in again.
    let error = world.write("docs/sub/dangling", "x").unwrap_err();
    assert_eq!(error.code, Code::Denied);
    link("made.txt", world.at("docs/sub/to-be"));
    world.write("docs/sub/to-be", "x").unwrap();
    assert_eq!(fs::read_to_string(world.at("docs/sub/made.txt")).unwrap(), "x");
}

#[test]
fn text_is_not_added_to_another_encoding() {
    let world = FileAccessHarness::new();
    let bytes = b"\xFF\xFEh\0i\0";
    fs::write(world.at("docs/utf16.txt"), bytes).unwrap();
    let error = world.append("docs/utf16.txt", "more").unwrap_err();
    assert!(error.message.contains("UTF-16LE"), "{error:?}");
    assert_eq!(fs::read(world.at("docs/utf16.txt")).unwrap(), bytes);
    fs::write(world.at("docs/utf8.txt"), b"\xEF\xBB\xBFhi").unwrap();
    world.append("docs/utf8.txt", "!").unwrap();
    assert_eq!(world.read("docs/utf8.txt").unwrap(), "hi!");
}

#[test]
fn a_write_that_is_stopped_leaves_the_old() {
    let world = FileAccessHarness::new();
    fs::write(world.at("docs/a.txt"), "old").unwrap();
    let content = "x".repeat(4 << 20);
    for looks in 0..20_u32 {
        for mode in [write_file::WriteMode::Overwrite, write_file::WriteMode::Append] {
            let left = std::cell::Cell::new(looks);
            let stopped = || left.replace(left.get().saturating_sub(1)) == 0;
            let request = write_file::WriteFileRequest {
                path: "docs/a.txt".to_owned(),
                content: content.clone(),
                mode,
            };
            if let Err(error) = world.access.write(AGENT, &request, "one", &stopped) {
                assert_eq!(error.code, Code::Cancelled);
                assert_eq!(fs::read_to_string(world.at("docs/a.txt")).unwrap(), "old", "{looks} {mode:?}");
            } else {
                fs::write(world.at("docs/a.txt"), "old").unwrap();
            }
            assert_no_parts(&world.at("docs"));
        }
    }
}

#[test]
fn readers_see_the_old_or_the_new() {
    let world = FileAccessHarness::new();
    let sizes = [300_000, 5, 70_000, 200_001];
    let content = |n: usize| char::from(b'a' + (n % 26) as u8).to_string().repeat(sizes[n % 4]);
    world.write("docs/a.txt", &content(0)).unwrap();
    std::thread::scope(|scope| {
        let writer = scope.spawn(|| {
            for n in 1..200 {
                world.write("docs/a.txt", &content(n)).unwrap();
            }
        });
        let mut seen = std::collections::HashSet::new();
        while !writer.is_finished() {
            let text = fs::read_to_string(world.at("docs/a.txt")).unwrap();
            let first = text.chars().next().unwrap();
            assert!(text.chars().all(|c| c == first), "torn");
            assert!(sizes.contains(&text.len()), "{} bytes", text.len());
            seen.insert(first);
        }
        assert!(seen.len() > 1, "the reader saw no change");
    });
    assert_no_parts(&world.at("docs"));
}

#[test]
fn a_file_under_two_names_is_overwritten_under_one() {
    // So that writing never reaches what another name stands for.
    let world = FileAccessHarness::new();
    fs::write(world.at("docs/a.txt"), "old").unwrap();
    fs::hard_link(world.at("docs/a.txt"), world.at("outside/b.txt")).unwrap();
    world.write("docs/a.txt", "new").unwrap();
    assert_eq!(fs::read_to_string(world.at("outside/b.txt")).unwrap(), "old");
    assert_eq!(fs::metadata(world.at("docs/a.txt")).unwrap().nlink(), 1);
}

#[test]
fn an_append_finds_the_file_that_took_the_name_meanwhile() {
    let world = FileAccessHarness::new();
    world.write("docs/log.txt", "old\n").unwrap();
    let held = fs::File::options().append(true).open(world.at("docs/log.txt")).unwrap();
    held.lock().unwrap();
    std::thread::scope(|scope| {
        let waiting = scope.spawn(|| world.append("docs/log.txt", "added\n"));
        // Replaced while the lock of the one before is held: whether the other thread waits for that lock
        // already or comes later, it must add to the new one.
        world.write("docs/log.txt", "new\n").unwrap();
        drop(held);
        waiting.join().unwrap().unwrap();
    });
    assert_eq!(world.read("docs/log.txt").unwrap(), "new\nadded\n");
}
