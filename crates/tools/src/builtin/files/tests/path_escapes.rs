//! Pitfall E10: no path, link or name leads out of the allowed folders.

use std::fs;

use toolway_types::Code;

use super::super::BadListedFolder;
use super::harness::{AGENT, FileAccessHarness, SECRET, link, listed, names};

#[test]
fn parent_path_segments_never_leave_the_folder_e10() {
    let world = FileAccessHarness::new();
    world.write("sub/a.txt", "mine").unwrap();
    let paths = [
        "..",
        "../other/x.txt",
        "../../owner.token",
        "sub/../../other/x.txt",
        "./../other/x.txt",
        "docs/..",
        "docs/../data/owner.token",
        "docs/../../outside/x.txt",
        "docs/./../outside/x.txt",
        "manual/../outside/x.txt",
        "sub/../../../../../../../../etc/passwd",
    ];
    for path in paths {
        world.assert_denied(path);
    }
    // What only looks like steps back.
    for path in ["..x", "...", "a..b", ". .", "..\\other\\x.txt"] {
        world.write(path, "fine").unwrap();
        assert_eq!(world.read(path).unwrap(), "fine");
    }
    world.assert_untouched();
}

#[test]
fn absolute_paths_work_only_inside_allowed_folders_e10() {
    let world = FileAccessHarness::new();
    world.write("a.txt", "mine").unwrap();
    let absolute = world.own("a.txt");
    assert_eq!(world.read(absolute.to_str().unwrap()).unwrap(), "mine");
    assert_eq!(world.read(&world.text("manual/page.txt")).unwrap(), "read me");
    for path in ["outside/x.txt", "data/owner.token", "data/files/other/x.txt", "data/tls", "data", ""] {
        world.assert_denied(&world.text(path));
    }
    for path in ["/etc/passwd", "/", "//etc/passwd", "/proc/self/environ", "/docs/x.txt", "/dev/null"] {
        world.assert_denied(path);
    }
    // Back out of an allowed one.
    world.assert_denied(&world.text("docs/../outside/x.txt"));
    world.assert_denied(&world.text("docs/../docs/../data/owner.token"));
}

#[test]
fn a_folder_with_the_same_name_prefix_is_not_allowed_e10() {
    let world = FileAccessHarness::new();
    for name in ["docs-secret", "docs2", "docsx"] {
        fs::create_dir(world.at(name)).unwrap();
        fs::write(world.at(name).join("x.txt"), SECRET).unwrap();
        world.assert_denied(&world.text(&format!("{name}/x.txt")));
        // As a relative path it is the agent's own, in which there is none.
        assert_eq!(world.read(&format!("{name}/x.txt")).unwrap_err().code, Code::FileNotFound);
    }
    fs::create_dir(world.at("data/files/helper2")).unwrap();
    fs::write(world.at("data/files/helper2/x.txt"), SECRET).unwrap();
    let error = world.read(&world.text("data/files/helper2/x.txt")).unwrap_err();
    assert_eq!(error.code, Code::Denied);
}

#[test]
fn symlinks_out_of_a_folder_are_not_followed_e10() {
    let world = FileAccessHarness::new();
    world.write("a.txt", "mine").unwrap();
    for root in [world.at("docs"), world.own("")] {
        let prefix = if root.ends_with("docs") { "docs/" } else { "" };
        link(world.at("outside"), root.join("folder"));
        link(world.at("outside/x.txt"), root.join("file"));
        link("../outside", root.join("relative"));
        link("../../../outside", root.join("relative2"));
        link("folder", root.join("twice"));
        link(world.at("outside/new.txt"), root.join("dangling"));
        link("/", root.join("root"));
        link("/proc/self/root", root.join("magic"));
        link("/proc/self/cwd", root.join("cwd"));
        link(world.at("data"), root.join("data"));
        link(world.at("data/owner.token"), root.join("token"));
        let outside = world.text("outside");
        let paths = [
            "folder/x.txt",
            "file",
            "relative/x.txt",
            "relative2/x.txt",
            "twice/x.txt",
            "dangling",
            "folder/new/deep.txt",
            "magic/etc/passwd",
            "cwd/Cargo.toml",
            "data/owner.token",
            "token",
            &format!("root{outside}/x.txt"),
        ];
        for path in paths {
            world.assert_denied(&format!("{prefix}{path}"));
        }
        // They are shown as what they are and not gone into.
        let listing = world.list_all(if prefix.is_empty() { "." } else { "docs" }).unwrap();
        let links =
            listing.entries.iter().filter(|entry| entry.kind == super::super::list_files::FileKind::Symlink);
        assert_eq!(links.count(), 11);
        assert!(listing.entries.iter().all(|entry| !entry.name.contains('/')), "{listing:?}");
    }
}

#[test]
fn circular_symlinks_are_an_error_e10() {
    let world = FileAccessHarness::new();
    link("b", world.at("docs/a"));
    link("a", world.at("docs/b"));
    link("self/x", world.at("docs/self"));
    link(".", world.at("docs/here"));
    fs::write(world.at("docs/f"), "found").unwrap();
    for path in ["docs/a", "docs/self", "docs/a/x"] {
        for error in [
            world.read(path).unwrap_err(),
            world.write(path, "x").unwrap_err(),
            world.list(path).unwrap_err(),
        ] {
            assert!(error.message.contains("round in circles"), "{error:?}");
        }
    }
    assert_eq!(world.read("docs/here/here/here/f").unwrap(), "found");
}

#[test]
fn the_data_folder_stays_unreachable_inside_an_allowed_folder_e10() {
    let mut world = FileAccessHarness::new();
    world.write("a.txt", "mine").unwrap();
    let all = world.at("");
    world.replace_folders(vec![listed("all", &all, true)]).unwrap();
    assert_eq!(world.read("all/manual/page.txt").unwrap(), "read me");
    link("data", world.at("docs/../alias"));
    link("../data/tls", world.at("docs/tls"));
    let paths = [
        "all/data",
        "all/data/owner.token",
        "all/data/toolway.db",
        "all/data/tls/key.pem",
        "all/./data/../data/tls",
        "all/docs/../data/owner.token",
        "all/data/files/helper/a.txt",
        "all/data/files/other/x.txt",
        "all/data/new.txt",
        "all/alias/owner.token",
        "all/docs/tls/key.pem",
        "all/alias",
    ];
    for path in paths {
        world.assert_denied(path);
        world.assert_denied(&world.text(path.strip_prefix("all/").unwrap()).replace("helper", "third"));
    }
    // Neither shown nor gone into.
    for listing in [world.list("all").unwrap(), world.list_all("all").unwrap()] {
        assert!(listing.entries.iter().all(|entry| !entry.name.starts_with("data")), "{listing:?}");
        assert!(listing.entries.iter().any(|entry| entry.name == "manual"));
    }
    // The agent's own is reached in its own way.
    assert_eq!(world.read(world.own("a.txt").to_str().unwrap()).unwrap(), "mine");
    assert_eq!(world.read("a.txt").unwrap(), "mine");
}

#[test]
fn a_hard_link_to_a_file_in_the_data_folder_is_refused_e10() {
    let world = FileAccessHarness::new();
    world.write("a.txt", "mine").unwrap();
    fs::hard_link(world.at("data/owner.token"), world.at("docs/innocent.txt")).unwrap();
    fs::hard_link(world.at("data/files/other/x.txt"), world.at("docs/other.txt")).unwrap();
    fs::hard_link(world.at("data/tls/key.pem"), world.own("key.txt")).unwrap();
    for path in ["docs/innocent.txt", "docs/other.txt", "key.txt"] {
        let denied = [
            world.read(path).unwrap_err(),
            world.write(path, "x").unwrap_err(),
            world.append(path, "x").unwrap_err(),
        ];
        for error in denied {
            assert_eq!(error.code, Code::Denied, "{path}: {error:?}");
            assert!(error.message.contains("own data"), "{path}: {error:?}");
        }
    }
    world.assert_untouched();
    // Two names elsewhere, or in the agent's own folder, are nobody's business.
    fs::hard_link(world.at("manual/page.txt"), world.at("docs/page.txt")).unwrap();
    assert_eq!(world.read("docs/page.txt").unwrap(), "read me");
    fs::hard_link(world.own("a.txt"), world.own("b.txt")).unwrap();
    assert_eq!(world.read("b.txt").unwrap(), "mine");
}

#[test]
fn each_agent_has_its_own_folder_e10() {
    let world = FileAccessHarness::new();
    world.write_as(Some("one"), "a.txt", "of one").unwrap();
    world.write_as(Some("two"), "a.txt", "of two").unwrap();
    world.write_as(None, "a.txt", "of nobody").unwrap();
    let agents = [Some("one"), Some("two"), None];
    for (agent, text) in agents.into_iter().zip(["of one", "of two", "of nobody"]) {
        assert_eq!(world.read_as(agent, "a.txt").unwrap(), text);
    }
    assert_eq!(fs::read_to_string(world.at("data/files/shared/a.txt")).unwrap(), "of nobody");
    for path in ["../one/a.txt", "../shared/a.txt", &world.text("data/files/one/a.txt")] {
        assert_eq!(world.read_as(Some("two"), path).unwrap_err().code, Code::Denied, "{path}");
    }
    // Names chosen to get into another's.
    for agent in ["..", ".", "", "../one", "one/", "one/../one", "/", "shared", "One", "one\0", "\\"] {
        let text = format!("of {agent:?}");
        world.write_as(Some(agent), "b.txt", &text).unwrap();
        assert_eq!(world.read_as(Some(agent), "b.txt").unwrap(), text);
        assert_eq!(world.read_as(Some(agent), "a.txt").unwrap_err().code, Code::FileNotFound, "{agent:?}");
    }
    assert_eq!(names(&world.at("data/files/shared")), ["a.txt"]);
    world.assert_untouched();
}

#[test]
fn an_agent_folder_that_is_a_symlink_is_refused_e10() {
    let world = FileAccessHarness::new();
    link(world.at("outside"), world.at("data/files/helper"));
    for path in ["x.txt", "new.txt"] {
        assert!(world.read(path).is_err());
        assert!(world.write(path, "x").is_err());
    }
    world.assert_untouched();
}

#[test]
fn bad_lists_of_folders_are_refused() {
    let mut world = FileAccessHarness::new();
    let docs = world.at("docs");
    for name in ["", ".", "..", "a/b", "a b", "-a", ".a", "a.", "a\\b", &"x".repeat(65)] {
        let error = world.replace_folders(vec![listed(name, &docs, false)]).unwrap_err();
        assert!(matches!(error, BadListedFolder::Name(_)), "{name}: {error:?}");
    }
    let error = world.replace_folders(vec![listed("a", &docs, false), listed("a", &docs, true)]).unwrap_err();
    assert!(matches!(error, BadListedFolder::Twice(_)));
    let error = world.replace_folders(vec![listed("a", "docs".as_ref(), false)]).unwrap_err();
    assert!(matches!(error, BadListedFolder::NotAbsolute { .. }));
    link(world.at("data/tls"), world.at("innocent"));
    for path in ["data", "data/tls", "data/files/helper", "data/not-there", "innocent"] {
        let error = world.replace_folders(vec![listed("a", &world.at(path), false)]).unwrap_err();
        assert!(matches!(error, BadListedFolder::InData { .. }), "{path}: {error:?}");
    }
    let error = super::super::FileAccess::new(&world.at("none"), Vec::new()).unwrap_err();
    assert!(error.to_string().starts_with("can't open the data folder"));
}

#[test]
fn of_folders_in_each_other_the_innermost_rules_for_absolute_paths() {
    let mut world = FileAccessHarness::new();
    fs::create_dir(world.at("docs/inbox")).unwrap();
    let folders =
        vec![listed("docs", &world.at("docs"), false), listed("inbox", &world.at("docs/inbox"), true)];
    world.replace_folders(folders).unwrap();
    world.write("inbox/a.txt", "1").unwrap();
    world.write(&world.text("docs/inbox/b.txt"), "2").unwrap();
    assert_eq!(world.write("docs/inbox/c.txt", "3").unwrap_err().code, Code::Denied);
    assert_eq!(world.read("docs/inbox/b.txt").unwrap(), "2");
}

#[test]
fn a_refusal_says_where_one_may_go_but_not_where_that_is() {
    let world = FileAccessHarness::new();
    let request =
        super::super::read_file::ReadFileRequest { path: "/etc/passwd".to_owned(), ..Default::default() };
    let error = world.access.read(AGENT, &request, &|| false).unwrap_err();
    assert_eq!(error.message, "/etc/passwd leads out of the folders that may be used");
    let hint = error.hint.unwrap();
    assert_eq!(
        hint,
        "Paths are relative to the folder of these tools, or begin with docs/ (read and write), manual/ (read only)"
    );
}
