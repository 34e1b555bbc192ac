use super::*;

fn folder() -> (tempfile::TempDir, DataFolder) {
    let temp = tempfile::tempdir().unwrap();
    let folder = DataFolder::new(temp.path().join("data"), true);
    (temp, folder)
}

fn secret(text: &str) -> SecretString {
    text.to_owned().into()
}

#[test]
fn secrets_are_read_from_variables_and_files() {
    let (_temp, folder) = folder();
    let path = set(&folder, "weather_key", &secret("s3cret\n")).unwrap();
    let kept = SystemSecretReader::new(HashMap::from([
        ("KEY".into(), " from a variable\n".into()),
        ("BARE".into(), "".into()),
    ]));
    let read = |source: SecretLocation| kept.read(&source).map(|found| found.expose_secret().to_owned());
    assert_eq!(read(SecretLocation::File(path)).unwrap(), "s3cret");
    assert_eq!(read(SecretLocation::Env("KEY".to_owned())).unwrap(), "from a variable");
    for (source, said) in [
        (SecretLocation::Env("NONE".to_owned()), "no secret in the environment variable NONE: it is not set"),
        (SecretLocation::Env("BARE".to_owned()), "no secret in the environment variable BARE: it is empty"),
        (
            SecretLocation::File("/nowhere/x".into()),
            "no secret in the file /nowhere/x: no such file or directory",
        ),
    ] {
        assert_eq!(read(source).unwrap_err().to_string(), said);
    }
}

#[test]
fn invalid_secrets_are_rejected() {
    let (temp, _) = folder();
    let path = temp.path().join("s");
    let read = |content: &[u8]| {
        std::fs::write(&path, content).unwrap();
        SystemSecretReader::new(HashMap::new())
            .read(&SecretLocation::File(path.clone()))
            .unwrap_err()
            .to_string()
    };
    assert!(read(b" \n").ends_with("it is empty"));
    assert!(read(b"\xFF").ends_with("it is not UTF-8"));
    assert!(read(&vec![b'x'; (64 << 10) + 1]).ends_with("it is longer than 65536 bytes"));
}

#[test]
fn secret_names_are_restricted() {
    let (_temp, folder) = folder();
    for name in ["", ".", "..", "a/b", "a.b", "-a", "_a", "a b", "é", &"x".repeat(65)] {
        assert_eq!(set(&folder, name, &secret("x")).unwrap_err().code(), "usage", "{name:?}");
        assert_eq!(remove(&folder, name).unwrap_err().code(), "usage", "{name:?}");
    }
    assert!(!folder.path().exists(), "nothing was made");
    for name in ["a", "weather_key", "API-KEY", "7"] {
        set(&folder, name, &secret("x")).unwrap();
    }
    std::fs::write(folder.secrets().join(".hidden.new"), "x").unwrap();
    std::fs::create_dir(folder.secrets().join("folder")).unwrap();
    assert_eq!(names(&folder).unwrap(), ["7", "API-KEY", "a", "weather_key"]);
}

#[test]
fn a_secret_is_replaced_and_removed() {
    let (_temp, folder) = folder();
    assert_eq!(names(&folder).unwrap(), [] as [&str; 0]);
    let path = set(&folder, "k", &secret("old")).unwrap();
    set(&folder, "k", &secret("new")).unwrap();
    assert_eq!(std::fs::read_to_string(&path).unwrap(), "new");
    for bad in ["", "  \n", &"x".repeat(70_000)] {
        assert_eq!(set(&folder, "k", &secret(bad)).unwrap_err().code(), "secret");
    }
    assert_eq!(std::fs::read_to_string(&path).unwrap(), "new");
    remove(&folder, "k").unwrap();
    assert_eq!(remove(&folder, "k").unwrap_err().code(), "secret_not_found");
}

#[cfg(unix)]
#[test]
fn secrets_are_readable_only_by_the_owner() {
    use std::os::unix::fs::PermissionsExt;
    let mode = |path: &Path| std::fs::metadata(path).unwrap().permissions().mode() & 0o777;
    let (_temp, folder) = folder();
    let path = set(&folder, "k", &secret("x")).unwrap();
    assert_eq!((mode(&path), mode(&folder.secrets()), mode(folder.path())), (0o600, 0o700, 0o700));
}
