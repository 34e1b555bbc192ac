use std::fs;
use std::process::Command;

use encoding_rs::SHIFT_JIS;
use toolway_types::Code;

use super::super::read_file;
use super::harness::{AGENT, FileAccessHarness};

#[test]
fn a_file_is_read_as_it_is() {
    let world = FileAccessHarness::new();
    world.write("notes.txt", "one\r\ntwo\n").unwrap();
    assert_eq!(world.read("notes.txt").unwrap(), "one\r\ntwo\n");
    assert_eq!(world.read("./notes.txt").unwrap(), "one\r\ntwo\n");
    assert_eq!(world.read("manual/page.txt").unwrap(), "read me");
    fs::write(world.own("empty.txt"), "").unwrap();
    assert_eq!(world.read("empty.txt").unwrap(), "");
}

#[test]
fn a_missing_file_is_reported_as_file_not_found() {
    let world = FileAccessHarness::new();
    for path in ["notes.txt", "a/b.txt", "docs/none.txt", "manual/page.txt/under"] {
        let error = world.read(path).unwrap_err();
        assert_eq!((error.code, error.message), (Code::FileNotFound, format!("File not found: {path}")));
    }
    // The same where the agent's folder is there.
    world.write("other.txt", "").unwrap();
    let error = world.read("notes.txt").unwrap_err();
    assert_eq!(error.message, "File not found: notes.txt");
}

#[test]
fn a_folder_is_not_a_file() {
    let world = FileAccessHarness::new();
    world.write("sub/a.txt", "a").unwrap();
    for path in ["sub", "sub/", ".", "docs", "manual/.", "sub/.."] {
        let error = world.read(path).unwrap_err();
        assert_eq!(error.code, Code::ToolFailed, "{path}: {error:?}");
        assert_eq!(error.message, format!("{path} is a folder, not a file"));
        assert!(error.hint.unwrap().contains("list_files"));
    }
}

#[test]
fn names_of_any_script_and_paths_with_steps_back_are_found() {
    let world = FileAccessHarness::new();
    world.write("größe/日本.txt", "ok").unwrap();
    assert_eq!(world.read("größe/日本.txt").unwrap(), "ok");
    assert_eq!(world.read("größe/../größe/./日本.txt").unwrap(), "ok");
    assert_eq!(world.read("größe//日本.txt").unwrap(), "ok");
}

#[test]
fn encodings_are_read_by_name_or_mark() {
    let world = FileAccessHarness::new();
    let docs = |name: &str, bytes: &[u8]| fs::write(world.at("docs").join(name), bytes).unwrap();
    docs("latin.txt", b"Gr\xFC\xDFe \x80");
    docs("sjis.txt", &SHIFT_JIS.encode("日本語\nテキスト").0);
    docs("utf16.txt", b"\xFF\xFEG\0r\0\xFC\0\xDF\0e\0");
    docs("utf8.txt", b"\xEF\xBB\xBFGr\xC3\xBC\xC3\x9Fe");
    assert_eq!(world.read_in("docs/latin.txt", "windows-1252").unwrap(), "Grüße €");
    assert_eq!(world.read_in("docs/sjis.txt", "Shift_JIS").unwrap(), "日本語\nテキスト");
    assert_eq!(world.read("docs/utf16.txt").unwrap(), "Grüße");
    assert_eq!(world.read("docs/utf8.txt").unwrap(), "Grüße");
    let error = world.read_in("docs/latin.txt", "windows-1552").unwrap_err();
    assert_eq!(error.code, Code::InvalidArguments);
    assert!(error.message.contains("Did you mean windows-1252"), "{error:?}");
}

#[test]
fn binary_files_are_refused_with_another_way() {
    let world = FileAccessHarness::new();
    let docs = |name: &str, bytes: &[u8]| fs::write(world.at("docs").join(name), bytes).unwrap();
    docs("a.png", b"\x89PNG\r\n\x1A\n\0\0\0\rIHDR\0\0");
    let error = world.read("docs/a.png").unwrap_err();
    assert_eq!(error.code, Code::ToolFailed);
    assert_eq!(error.message, "docs/a.png is a binary file (PNG image, 18 bytes), not text");
    assert!(error.hint.unwrap().contains("use a tool that understands this kind"));
    docs("a.pdf", b"%PDF-1.7\n%\xE2\xE3\xCF\xD3\n");
    let error = world.read("docs/a.pdf").unwrap_err();
    assert!(error.message.contains("PDF document"), "{error:?}");
    assert!(error.message.contains("offset 10"), "{error:?}");
    docs("latin.txt", b"caf\xE9");
    let error = world.read("docs/latin.txt").unwrap_err();
    assert!(error.message.contains("not UTF-8 text"), "{error:?}");
    assert!(error.hint.unwrap().contains("windows-1252"));
    docs("utf16.txt", b"n\0o\0 \0m\0a\0r\0k\0");
    let error = world.read("docs/utf16.txt").unwrap_err();
    assert_eq!(error.hint.as_deref(), Some("It looks like UTF-16: try encoding \"UTF-16LE\""));
}

#[test]
fn a_long_file_comes_in_pages() {
    let world = FileAccessHarness::new();
    let text: String = (0..20_000).map(|n| format!("line {n} äöü\n")).collect();
    world.write("long.txt", &text).unwrap();
    let (mut all, mut offset, mut rounds) = (String::new(), 0, 0);
    loop {
        let request = read_file::ReadFileRequest {
            path: "long.txt".to_owned(),
            offset: Some(offset),
            ..Default::default()
        };
        let output = world.access.read(AGENT, &request, &|| false).unwrap();
        let page = output.content[0].as_text().unwrap();
        // With what is said of the rest it stays below what a model is shown of one result.
        assert!(output.joined_text().len() < 64 << 10);
        assert!(page.ends_with('\n'));
        all.push_str(page);
        rounds += 1;
        let Some(note) = output.content.get(1) else { break };
        let note = note.as_text().unwrap();
        let (before, left) = note.rsplit_once(", ").unwrap();
        let next = before.strip_prefix("[… cut here: continue with offset=").unwrap();
        assert_eq!(left, format!("{} bytes left]", text.len() - all.len()));
        offset = next.parse().unwrap();
    }
    assert_eq!(all, text);
    assert_eq!(rounds, text.len().div_ceil(48 << 10));
    let request = read_file::ReadFileRequest {
        path: "long.txt".to_owned(),
        offset: Some(1 << 40),
        ..Default::default()
    };
    let beyond = world.access.read(AGENT, &request, &|| false).unwrap().joined_text();
    assert!(beyond.contains("the file ends before it"), "{beyond}");
}

#[test]
fn a_sparse_5_gb_file_is_read_in_pages_r19() {
    use std::os::unix::fs::FileExt;
    let world = FileAccessHarness::new();
    let file = fs::File::create(world.at("docs/vast.log")).unwrap();
    let size = 5_u64 << 30;
    file.set_len(size).unwrap();
    file.write_all_at(&b"first line\n".repeat(10_000), 0).unwrap();
    file.write_all_at(b"\nthe end\n", size - 9).unwrap();
    let read = |offset, limit| {
        let path = "docs/vast.log".to_owned();
        let request = read_file::ReadFileRequest {
            path,
            offset: Some(offset),
            limit: Some(limit),
            ..Default::default()
        };
        world.access.read(AGENT, &request, &|| false)
    };
    let started = tokio::time::Instant::now();
    let text = read(0, 22).unwrap().joined_text();
    let left = size - 22;
    assert_eq!(
        text,
        format!("first line\nfirst line\n\n[… cut here: continue with offset=22, {left} bytes left]")
    );
    assert_eq!(read(size - 8, 100).unwrap().joined_text(), "the end\n");
    // The hole is NULs.
    let error = read(size / 2, 1000).unwrap_err();
    assert!(error.message.contains("binary file"), "{error:?}");
    let error = read(size / 2, 1 << 20).unwrap_err();
    assert!(error.message.contains("binary file"), "{error:?}");
    assert!(started.elapsed().as_secs() < 2, "{:?}", started.elapsed());
}

#[test]
fn special_files_are_refused_at_once() {
    let world = FileAccessHarness::new();
    let fifo = world.at("docs/pipe");
    assert!(Command::new("mkfifo").arg(&fifo).status().unwrap().success());
    let _socket = std::os::unix::net::UnixListener::bind(world.at("docs/socket")).unwrap();
    // Opening a pipe that nobody else has open would wait for ever.
    for path in ["docs/pipe", "docs/socket"] {
        for error in [
            world.read(path).unwrap_err(),
            world.write(path, "x").unwrap_err(),
            world.append(path, "x").unwrap_err(),
        ] {
            assert_eq!(error.code, Code::ToolFailed, "{error:?}");
            assert!(error.message.contains("neither a file nor a folder"), "{error:?}");
        }
    }
    let error = world.read("docs/pipe/x").unwrap_err();
    assert_eq!(error.code, Code::FileNotFound);
}

#[test]
fn devices_are_refused() {
    let mut world = FileAccessHarness::new();
    world.replace_folders(vec![super::harness::listed("dev", "/dev".as_ref(), true)]).unwrap();
    for path in ["dev/zero", "dev/null", "dev/full", "dev/tty"] {
        let error = world.read(path).unwrap_err();
        assert!(error.message.contains("neither a file nor a folder"), "{error:?}");
    }
    let error = world.write("dev/null", "x").unwrap_err();
    assert!(error.message.contains("neither a file nor a folder"), "{error:?}");
}

#[test]
fn long_names_are_told_as_such() {
    let world = FileAccessHarness::new();
    let long = format!("docs/{}", "n".repeat(300));
    for error in [
        world.read(&long).unwrap_err(),
        world.write(&long, "x").unwrap_err(),
        world.write(&format!("{long}/x"), "x").unwrap_err(),
    ] {
        assert_eq!(error.code, Code::ToolFailed);
        assert!(error.message.contains("too long"), "{error:?}");
    }
    let deep = format!("docs/{}x", "d/".repeat(100));
    let error = world.write(&deep, "x").unwrap_err();
    assert!(error.message.contains("too many steps"), "{error:?}");
    for path in ["a\0b".to_owned(), "x/".repeat(4000)] {
        let error = world.read(&path).unwrap_err();
        assert_eq!(error.code, Code::InvalidArguments);
    }
}
