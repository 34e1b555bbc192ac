use super::*;

fn at(url: &str) -> ServerDefinition {
    ServerDefinition { url: Some(url.to_owned()), ..ServerDefinition::default() }
}

#[test]
fn a_file_is_made_changed_and_emptied() {
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("mcp.toml");
    assert_eq!(read(&path).unwrap(), ServersFile::default());
    assert!(!remove(&path, "a").unwrap());
    assert!(!path.exists(), "nothing is written where nothing changes");
    put(&path, &[("a", &at("https://a.example")), ("b", &at("https://b.example"))]).unwrap();
    assert_eq!(read(&path).unwrap().servers.len(), 2);
    #[cfg(unix)]
    {
        let mode = std::os::unix::fs::PermissionsExt::mode(&fs::metadata(&path).unwrap().permissions());
        assert_eq!(mode & 0o777, 0o600);
    }
    assert!(remove(&path, "a").unwrap());
    assert_eq!(read(&path).unwrap().servers.keys().map(|slug| slug.as_str()).collect::<Vec<_>>(), ["b"]);
}

#[test]
fn what_would_be_wrong_changes_nothing() {
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("mcp.toml");
    put(&path, &[("a", &at("https://a.example"))]).unwrap();
    let before = fs::read_to_string(&path).unwrap();
    let refused = put(&path, &[("b", &at("https://b.example")), ("c", &at("ftp://c.example"))]);
    assert!(matches!(refused, Err(NotChanged::Wrong { problems, .. }) if problems.len() == 1));
    assert!(matches!(put(&path, &[("Own!", &at("https://x.example"))]), Err(NotChanged::Wrong { .. })));
    assert_eq!(fs::read_to_string(&path).unwrap(), before);
    fs::write(&path, "servers = 5").unwrap();
    assert!(matches!(put(&path, &[("a", &at("https://a.example"))]), Err(NotChanged::CantEdit { .. })));
    fs::write(&path, "x".repeat(2 << 20)).unwrap();
    assert!(matches!(put(&path, &[("a", &at("https://a.example"))]), Err(NotChanged::Wrong { .. })));
    let folder = dir.path().join("folder");
    fs::create_dir(&folder).unwrap();
    assert!(read(&folder).unwrap_err()[0].message.contains("no regular file"));
}

#[cfg(unix)]
#[test]
fn where_it_is_a_link_what_it_leads_to_is_replaced() {
    let dir = tempfile::tempdir().unwrap();
    let (real, link) = (dir.path().join("real.toml"), dir.path().join("mcp.toml"));
    fs::write(&real, "# mine\n").unwrap();
    std::os::unix::fs::symlink(&real, &link).unwrap();
    put(&link, &[("a", &at("https://a.example"))]).unwrap();
    assert!(fs::symlink_metadata(&link).unwrap().is_symlink());
    assert!(fs::read_to_string(&real).unwrap().starts_with("# mine\n\n[servers.a]\n"));
}

#[test]
fn many_at_once_lose_nothing() {
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("mcp.toml");
    std::thread::scope(|scope| {
        for n in 0..8 {
            let path = &path;
            scope.spawn(move || put(path, &[(&format!("s{n}"), &at("https://x.example"))]).unwrap());
        }
    });
    assert_eq!(read(&path).unwrap().servers.len(), 8);
}
