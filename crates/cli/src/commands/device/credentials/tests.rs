use super::*;

fn folder() -> (tempfile::TempDir, DataFolder) {
    let temp = tempfile::tempdir().unwrap();
    let folder = DataFolder::new(temp.path().to_owned(), true);
    (temp, folder)
}

fn credentials(gateway: &str, name: &str) -> DeviceCredentials {
    DeviceCredentials {
        gateway: gateway.to_owned(),
        token: "twy_d_secret".to_owned().into(),
        key: Some(KeyPin::from_bytes([1; 32])),
        device_id: "id".to_owned(),
        name: name.to_owned(),
        ca: None,
        insecure: false,
    }
}

#[test]
fn stored_credentials_are_found() {
    let (_temp, folder) = folder();
    assert_eq!(SavedCredentials::read(&folder).unwrap().find(None, None).unwrap_err().code(), "not_paired");
    let path = credentials("https://10.0.0.5:7717", "laptop").save(&folder, None).unwrap();
    assert_eq!(path.file_name().unwrap(), "10.0.0.5-7717.json");
    let kept = SavedCredentials::read(&folder).unwrap();
    for gateway in [None, Some("https://10.0.0.5:7717"), Some("https://10.0.0.5:7717/")] {
        let found = kept.find(gateway, None).unwrap();
        assert_eq!((found.name.as_str(), found.token.expose_secret()), ("laptop", "twy_d_secret"));
        assert_eq!(found.key, Some(KeyPin::from_bytes([1; 32])));
    }
    assert_eq!(kept.find(Some("https://10.0.0.6:7717"), None).unwrap_err().code(), "not_paired");
    assert_eq!(kept.find(None, Some("new name")).unwrap().name, "laptop", "the only one there is");
}

#[test]
fn several_credentials_are_distinguished() {
    let (_temp, folder) = folder();
    credentials("https://a.example", "one").save(&folder, None).unwrap();
    credentials("https://a.example", "two").save(&folder, Some("two")).unwrap();
    credentials("https://b.example", "three").save(&folder, None).unwrap();
    let kept = SavedCredentials::read(&folder).unwrap();
    assert_eq!(kept.find(None, None).unwrap_err().code(), "usage");
    assert_eq!(kept.find(Some("https://a.example"), None).unwrap().name, "one");
    assert_eq!(kept.find(Some("https://a.example"), Some("two")).unwrap().name, "two");
    assert_eq!(kept.find(None, Some("three")).unwrap().name, "three");
}

#[cfg(unix)]
#[test]
fn credentials_are_readable_only_by_the_owner() {
    let (_temp, folder) = folder();
    let path = credentials("https://a.example", "one").save(&folder, None).unwrap();
    assert_eq!(crate::folder::permissions_for_others(&path), None);
    assert_eq!(crate::folder::permissions_for_others(&folder.devices()), None);
}

#[test]
fn an_invalid_file_is_rejected_without_showing_its_content() {
    let (_temp, folder) = folder();
    let path = credentials("https://a.example", "one").save(&folder, None).unwrap();
    std::fs::write(&path, "{\"token\": \"twy_d_secret\", \"gateway\": 5}").unwrap();
    let text = SavedCredentials::read(&folder).unwrap_err().render_text(false);
    assert!(text.contains("hint: correct the file") && !text.contains("twy_d_secret"), "{text}");
    assert!(!format!("{:?}", credentials("https://a.example", "one")).contains("secret"));
}

#[test]
fn no_name_points_outside_of_the_folder() {
    for (gateway, name) in
        [("https://[::1]:7717", None), ("https://x/../..", Some("../../etc/passwd")), ("..", Some(".."))]
    {
        let file = file_name(gateway, name);
        assert!(!file.contains(['/', '\\']) && !file.starts_with('.'), "{file}");
    }
}
