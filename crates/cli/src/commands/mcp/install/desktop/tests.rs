use super::*;

#[test]
fn names_are_those_of_the_commands() {
    for desktop in DesktopClient::ALL {
        assert_eq!(DesktopClient::from_name(desktop.name()), Some(desktop));
    }
    assert_eq!(DesktopClient::from_name("notepad"), None);
}

#[cfg(target_os = "linux")]
#[test]
fn files_are_where_each_client_has_them() {
    let place = |desktop: DesktopClient, variables: &[(&str, &str)]| {
        desktop
            .config_path(&ProcessEnvironment::with(variables, Some("/home/ada")))
            .unwrap()
            .display()
            .to_string()
    };
    assert_eq!(place(DesktopClient::Claude, &[]), "/home/ada/.config/Claude/claude_desktop_config.json");
    assert_eq!(place(DesktopClient::ClaudeCode, &[]), "/home/ada/.claude.json");
    assert_eq!(place(DesktopClient::ClaudeCode, &[("CLAUDE_CONFIG_DIR", "/c")]), "/c/.claude.json");
    assert_eq!(place(DesktopClient::Cursor, &[]), "/home/ada/.cursor/mcp.json");
    assert_eq!(place(DesktopClient::VsCode, &[]), "/home/ada/.config/Code/User/mcp.json");
    assert_eq!(place(DesktopClient::VsCode, &[("XDG_CONFIG_HOME", "/x")]), "/x/Code/User/mcp.json");
    assert_eq!(DesktopClient::Cursor.config_path(&ProcessEnvironment::with(&[], None)), None);
}

#[cfg(target_os = "macos")]
#[test]
fn files_are_where_each_client_has_them() {
    let place = |desktop: DesktopClient| {
        desktop.file(&ProcessEnvironment::with(&[], Some("/Users/ada"))).unwrap().display().to_string()
    };
    let support = "/Users/ada/Library/Application Support";
    assert_eq!(place(Desktop::Claude), format!("{support}/Claude/claude_desktop_config.json"));
    assert_eq!(place(Desktop::ClaudeCode), "/Users/ada/.claude.json");
    assert_eq!(place(Desktop::Cursor), "/Users/ada/.cursor/mcp.json");
    assert_eq!(place(Desktop::VsCode), format!("{support}/Code/User/mcp.json"));
}

#[test]
fn a_packaged_claude_is_found_where_windows_keeps_it() {
    let dir = tempfile::tempdir().unwrap();
    assert_eq!(packaged_claude(dir.path()), None);
    let folder = |package: &str| dir.path().join("Packages").join(package).join("LocalCache/Roaming/Claude");
    std::fs::create_dir_all(folder("Other_1")).unwrap();
    std::fs::create_dir_all(dir.path().join("Packages/Claude_0/LocalCache")).unwrap();
    assert_eq!(packaged_claude(dir.path()), None);
    std::fs::create_dir_all(folder("Claude_a")).unwrap();
    std::fs::create_dir_all(folder("Claude_b")).unwrap();
    assert_eq!(packaged_claude(dir.path()), Some(folder("Claude_a")));
    std::fs::write(folder("Claude_b").join(CLAUDE_FILE), "{}").unwrap();
    assert_eq!(packaged_claude(dir.path()), Some(folder("Claude_b")));
}
