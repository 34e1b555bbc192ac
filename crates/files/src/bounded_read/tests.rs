use super::*;

#[test]
fn only_regular_files_within_the_limit_are_read() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("a");
    assert!(matches!(read(&path, 4), Ok(None)));
    fs::write(&path, "1234").unwrap();
    assert_eq!(read(&path, 4).unwrap().unwrap(), b"1234");
    assert_eq!(read_text(&path, u64::MAX).unwrap().unwrap(), "1234");
    assert!(matches!(read(&path, 3), Err(ReadError::TooLong(3))));
    assert!(matches!(read(folder.path(), 4), Err(ReadError::NotRegular)));
    fs::write(&path, b"\xff").unwrap();
    assert_eq!(io::Error::from(read_text(&path, 4).unwrap_err()).kind(), io::ErrorKind::InvalidData);
}

#[cfg(unix)]
#[test]
fn a_device_is_not_opened_and_a_link_to_nothing_is_no_file() {
    assert!(matches!(read(Path::new("/dev/zero"), 4), Err(ReadError::NotRegular)));
    assert!(matches!(read_input(Path::new("/dev/zero"), 4), Err(ReadError::TooLong(4))));
    assert_eq!(read_input(Path::new("/dev/null"), 4).unwrap().unwrap(), "");
    let folder = tempfile::tempdir().unwrap();
    let link = folder.path().join("link");
    std::os::unix::fs::symlink(folder.path().join("nothing"), &link).unwrap();
    assert!(matches!(read(&link, 4), Ok(None)));
    assert!(matches!(read_input(&link, 4), Ok(None)));
}
