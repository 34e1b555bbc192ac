use std::fs;
use std::process::Command;

use serde_json::json;
use toolway_types::Code;

use super::super::list_files;
use super::harness::{AGENT, FileAccessHarness, link, listed};

fn names(listing: &list_files::FolderListing) -> Vec<&str> {
    listing.entries.iter().map(|entry| entry.name.as_str()).collect()
}

#[test]
fn a_folder_is_listed_in_order_with_kinds_and_sizes() {
    let world = FileAccessHarness::new();
    fs::create_dir(world.at("docs/sub")).unwrap();
    fs::write(world.at("docs/b.txt"), "12345").unwrap();
    fs::write(world.at("docs/B.txt"), "").unwrap();
    fs::write(world.at("docs/.hidden"), "1").unwrap();
    link("b.txt", world.at("docs/a-link"));
    assert!(Command::new("mkfifo").arg(world.at("docs/pipe")).status().unwrap().success());
    let time = std::time::UNIX_EPOCH + std::time::Duration::from_secs(1_782_907_200);
    let file = fs::File::options().write(true).open(world.at("docs/b.txt")).unwrap();
    file.set_modified(time).unwrap();
    let listing = world.list("docs").unwrap();
    assert_eq!(names(&listing), [".hidden", "B.txt", "a-link", "b.txt", "pipe", "sub"]);
    let listing = json!(listing);
    assert_eq!(listing["path"], "docs");
    let entries = &listing["entries"];
    assert_eq!(
        entries[3],
        json!({"name": "b.txt", "kind": "file", "size": 5, "modified": "2026-07-01T12:00:00Z"})
    );
    let kinds: Vec<_> = (0..6).map(|at| entries[at]["kind"].as_str().unwrap()).collect();
    assert_eq!(kinds, ["file", "file", "symlink", "file", "other", "folder"]);
    assert!(entries[5].get("size").is_none() && listing.get("left_out").is_none());
}

#[test]
fn at_home_the_listed_folders_come_first() {
    let world = FileAccessHarness::new();
    // Also before anything was written.
    let listing = json!(world.list(".").unwrap());
    let folders = json!([
        {"name": "docs", "kind": "folder", "access": "read_write"},
        {"name": "manual", "kind": "folder", "access": "read_only"},
    ]);
    assert_eq!(listing, json!({"path": ".", "entries": folders}));
    world.write("a.txt", "x").unwrap();
    // A folder of a listed one's name can't be reached by it, so is not shown.
    fs::create_dir(world.own("docs")).unwrap();
    fs::write(world.own("docs/mine.txt"), "x").unwrap();
    let request = list_files::ListFilesRequest { recursive: true, ..Default::default() };
    let listing = world.access.list(AGENT, &request, &|| false).unwrap();
    assert_eq!(names(&listing), ["docs", "manual", "a.txt"]);
    assert_eq!(world.read("docs/mine.txt").unwrap_err().code, Code::FileNotFound);
    // By its whole path it can be.
    assert_eq!(world.read(world.own("docs/mine.txt").to_str().unwrap()).unwrap(), "x");
}

#[test]
fn recursion_goes_in_order_and_not_along_links() {
    let world = FileAccessHarness::new();
    for folder in ["docs/b/deep", "docs/d"] {
        fs::create_dir_all(world.at(folder)).unwrap();
    }
    for file in ["docs/a.txt", "docs/b/1.txt", "docs/b/deep/2.txt", "docs/c.txt", "docs/d/3.txt"] {
        fs::write(world.at(file), "").unwrap();
    }
    link("b", world.at("docs/b2"));
    link("..", world.at("docs/b/up"));
    link(world.at("outside"), world.at("docs/out"));
    let listing = world.list_all("docs").unwrap();
    let expected =
        ["a.txt", "b", "b/1.txt", "b/deep", "b/deep/2.txt", "b/up", "b2", "c.txt", "d", "d/3.txt", "out"];
    assert_eq!(names(&listing), expected);
    assert_eq!(names(&world.list("docs/b").unwrap()), ["1.txt", "deep", "up"]);
    // A link to a folder inside can be listed by itself, under its right name.
    let listing = world.list("docs/b2").unwrap();
    assert_eq!((listing.path.as_str(), names(&listing)), ("docs/b", vec!["1.txt", "deep", "up"]));
}

#[test]
fn what_is_left_out_is_told() {
    let world = FileAccessHarness::new();
    for n in 0..50 {
        fs::write(world.at(&format!("docs/f{n:02}")), "").unwrap();
    }
    let list = |limit, recursive| {
        let request =
            list_files::ListFilesRequest { path: Some("docs".to_owned()), limit: Some(limit), recursive };
        world.access.list(AGENT, &request, &|| false).unwrap()
    };
    let listing = list(3, false);
    assert_eq!(names(&listing), ["f00", "f01", "f02"]);
    assert_eq!(listing.left_out, 47);
    assert!(listing.note.unwrap().starts_with("47 entries are left out"));
    assert!(list(50, false).note.is_none());
    fs::create_dir_all(world.at("docs/a/b")).unwrap();
    let listing = list(2, true);
    assert_eq!(names(&listing), ["a", "a/b"]);
    assert_eq!(listing.left_out, 50);
    assert!(listing.note.unwrap().contains("1 folders were not looked into"));
    let deep = world.at("docs/a/b").join("c/".repeat(60));
    fs::create_dir_all(deep).unwrap();
    let listing = list(2000, true);
    assert!(listing.note.unwrap().contains("not looked into"));
}

#[test]
fn a_folder_of_many_files_is_listed_within_bounds() {
    let world = FileAccessHarness::new();
    for n in 0..3_000 {
        fs::File::create(world.at(&format!("docs/{n:04}"))).unwrap();
    }
    let listing = world.list("docs").unwrap();
    assert_eq!(listing.entries.len(), 200);
    assert_eq!(names(&listing)[199], "0199");
    assert_eq!(listing.left_out, 2_800);
}

#[test]
fn what_is_no_folder_is_told_as_such() {
    let world = FileAccessHarness::new();
    let error = world.list("manual/page.txt").unwrap_err();
    assert_eq!(
        (error.code, error.message.as_str()),
        (Code::ToolFailed, "manual/page.txt is a file, not a folder")
    );
    let error = world.list("manual/page.txt/under").unwrap_err();
    assert_eq!(error.message, "File not found: manual/page.txt/under");
    let error = world.list("none").unwrap_err();
    assert_eq!((error.code, error.message.as_str()), (Code::FileNotFound, "File not found: none"));
    let mut world = world;
    world.replace_folders(vec![listed("usb", "/nowhere/usb".as_ref(), true)]).unwrap();
    assert_eq!(world.list("usb").unwrap_err().message, "File not found: usb");
    assert_eq!(world.read("usb/x").unwrap_err().message, "File not found: usb/x");
}

#[test]
fn listing_stops_when_nobody_wants_it_any_more() {
    let world = FileAccessHarness::new();
    fs::write(world.at("docs/a"), "").unwrap();
    let request =
        list_files::ListFilesRequest { path: Some("docs".to_owned()), recursive: true, limit: None };
    let error = world.access.list(AGENT, &request, &|| true).unwrap_err();
    assert_eq!(error.code, Code::Cancelled);
}
