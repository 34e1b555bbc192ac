use super::*;

fn server_at(url: &str) -> ServerDefinition {
    ServerDefinition { url: Some(url.to_owned()), ..ServerDefinition::default() }
}

#[test]
fn a_file_is_made_changed_and_emptied() {
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("mcp.toml");
    assert_eq!(read_file(&path).unwrap(), ServersFile::default());
    assert!(!remove_server(&path, "a").unwrap());
    assert!(!path.exists(), "nothing is written where nothing changes");
    put_servers(&path, &[("a", &server_at("https://a.example")), ("b", &server_at("https://b.example"))])
        .unwrap();
    assert_eq!(read_file(&path).unwrap().servers.len(), 2);
    #[cfg(unix)]
    {
        let mode = std::os::unix::fs::PermissionsExt::mode(&fs::metadata(&path).unwrap().permissions());
        assert_eq!(mode & 0o777, 0o600);
    }
    assert!(remove_server(&path, "a").unwrap());
    assert_eq!(read_file(&path).unwrap().servers.keys().map(|slug| slug.as_str()).collect::<Vec<_>>(), ["b"]);
}

#[test]
fn what_would_be_wrong_changes_nothing() {
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("mcp.toml");
    put_servers(&path, &[("a", &server_at("https://a.example"))]).unwrap();
    let before = fs::read_to_string(&path).unwrap();
    let refused =
        put_servers(&path, &[("b", &server_at("https://b.example")), ("c", &server_at("ftp://c.example"))]);
    assert!(matches!(refused, Err(ServersFileError::Invalid { problems, .. }) if problems.len() == 1));
    assert!(matches!(
        put_servers(&path, &[("Own!", &server_at("https://x.example"))]),
        Err(ServersFileError::Invalid { .. })
    ));
    assert_eq!(fs::read_to_string(&path).unwrap(), before);
    fs::write(&path, "servers = 5").unwrap();
    assert!(matches!(
        put_servers(&path, &[("a", &server_at("https://a.example"))]),
        Err(ServersFileError::NotEditable { .. })
    ));
    fs::write(&path, "x".repeat(2 << 20)).unwrap();
    assert!(matches!(
        put_servers(&path, &[("a", &server_at("https://a.example"))]),
        Err(ServersFileError::Invalid { .. })
    ));
    let folder = dir.path().join("folder");
    fs::create_dir(&folder).unwrap();
    assert!(read_file(&folder).unwrap_err()[0].message.contains("not a regular file"));
}

#[cfg(unix)]
#[test]
fn where_it_is_a_link_what_it_leads_to_is_replaced() {
    let dir = tempfile::tempdir().unwrap();
    let (real, link) = (dir.path().join("real.toml"), dir.path().join("mcp.toml"));
    fs::write(&real, "# mine\n").unwrap();
    std::os::unix::fs::symlink(&real, &link).unwrap();
    put_servers(&link, &[("a", &server_at("https://a.example"))]).unwrap();
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
            scope.spawn(move || {
                put_servers(path, &[(&format!("s{n}"), &server_at("https://x.example"))]).unwrap()
            });
        }
    });
    assert_eq!(read_file(&path).unwrap().servers.len(), 8);
}
