use super::*;

#[test]
fn the_data_folder_follows_the_platform() {
    let home = ProcessEnvironment::with(&[], Some("/home/ada"));
    let expected = if cfg!(target_os = "macos") {
        "/home/ada/Library/Application Support/toolway"
    } else {
        "/home/ada/.local/share/toolway"
    };
    assert_eq!(home.default_data_dir(), Some(PathBuf::from(expected)));
    assert_eq!(ProcessEnvironment::with(&[], None).default_data_dir(), None);
}

#[cfg(all(unix, not(target_os = "macos")))]
#[test]
fn only_absolute_xdg_paths_are_used() {
    let dir =
        |value| ProcessEnvironment::with(&[("XDG_DATA_HOME", value)], Some("/home/ada")).default_data_dir();
    assert_eq!(dir("/data"), Some(PathBuf::from("/data/toolway")));
    assert_eq!(dir("data"), Some(PathBuf::from("/home/ada/.local/share/toolway")));
    assert_eq!(dir(""), Some(PathBuf::from("/home/ada/.local/share/toolway")));
}

#[test]
fn colours_can_be_disabled() {
    let allowed = |name: &str, value: &str| is_colour_allowed(&[(name.into(), value.into())]);
    assert!(is_colour_allowed(&[]));
    assert!(!allowed("NO_COLOR", "1"));
    assert!(allowed("NO_COLOR", ""), "set to nothing counts as not set");
    assert!(!allowed("TERM", "dumb"));
    assert!(allowed("TERM", "xterm-256color"));
}

#[test]
fn only_setting_variables_are_returned() {
    let found = ProcessEnvironment::with(
        &[
            ("TOOLWAY_LISTEN", "::1"),
            ("TOOLWAY_TOKEN", "secret"),
            ("PATH", "/bin"),
            ("TOOLWAY_DATA_DIR", "/d"),
        ],
        None,
    );
    assert_eq!(found.settings(), [("TOOLWAY_LISTEN".into(), "::1".into())]);
    assert_eq!(found.variable("TOOLWAY_TOKEN"), Some(OsStr::new("secret")));
}
