use std::fs;

use super::*;

/// Names of everything in a folder, sorted.
fn names(folder: &Path) -> Vec<String> {
    let entries = fs::read_dir(folder).unwrap();
    let mut names: Vec<_> = entries.map(|it| it.unwrap().file_name().into_string().unwrap()).collect();
    names.sort();
    names
}

#[cfg(unix)]
fn mode(path: &Path) -> u32 {
    use std::os::unix::fs::PermissionsExt;
    fs::metadata(path).unwrap().permissions().mode() & 0o777
}

#[test]
fn content_is_replaced_and_nothing_else_is_left() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("a.toml");
    write(&path, b"old").unwrap();
    write(&path, b"new").unwrap();
    assert_eq!(fs::read(&path).unwrap(), b"new");
    assert_eq!(names(folder.path()), ["a.toml"]);
}

#[cfg(unix)]
#[test]
fn files_are_private_even_over_a_public_one() {
    use std::os::unix::fs::PermissionsExt;
    let folder = tempfile::tempdir().unwrap();
    let inner = folder.path().join("one/two");
    create_folder(&inner).unwrap();
    assert_eq!((mode(&inner), mode(&folder.path().join("one"))), (0o700, 0o700));
    let path = inner.join("key");
    fs::write(&path, "old").unwrap();
    fs::set_permissions(&path, Permissions::from_mode(0o644)).unwrap();
    write(&path, b"new").unwrap();
    assert_eq!(mode(&path), 0o600);
    write_new(&inner.join("first"), b"").unwrap();
    assert_eq!(mode(&inner.join("first")), 0o600);
    create_new(&inner.join("second")).unwrap();
    assert_eq!(mode(&inner.join("second")), 0o600);
    assert_eq!(mode(AtomicFile::create(&path).unwrap().temporary.path()), 0o600);
    fs::set_permissions(&path, Permissions::from_mode(0o754)).unwrap();
    restrict(&path).unwrap();
    assert_eq!(mode(&path), 0o600);
}

#[cfg(unix)]
#[test]
fn other_permissions_are_set_before_the_file_has_its_name() {
    use std::os::unix::fs::PermissionsExt;
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("shared");
    let mut file = AtomicFile::create(&path).unwrap();
    file.write_all(b"x").unwrap();
    file.set_permissions(Permissions::from_mode(0o640)).unwrap();
    file.commit().unwrap();
    assert_eq!(mode(&path), 0o640);
}

#[test]
fn a_failing_rename_leaves_the_old_content_and_no_temporary_file() {
    let folder = tempfile::tempdir().unwrap();
    // A file cannot replace a folder that is not empty.
    let path = folder.path().join("taken");
    fs::create_dir(&path).unwrap();
    fs::write(path.join("inside"), "old").unwrap();
    write(&path, b"new").unwrap_err();
    assert_eq!(fs::read(path.join("inside")).unwrap(), b"old");
    assert_eq!(names(folder.path()), ["taken"]);
}

#[test]
fn a_write_that_stops_halfway_leaves_the_old_file() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("a");
    write(&path, b"old").unwrap();
    let mut file = AtomicFile::create(&path).unwrap();
    file.write_all(b"ha").unwrap();
    assert_eq!(fs::read(&path).unwrap(), b"old");
    assert_eq!(names(folder.path()).len(), 2);
    drop(file);
    assert_eq!(fs::read(&path).unwrap(), b"old");
    assert_eq!(names(folder.path()), ["a"]);
}

#[test]
fn the_content_is_synced_before_the_rename_and_the_folder_after_it() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("a");
    write(&path, b"old").unwrap();
    let seen = std::cell::RefCell::new(Vec::new());
    let mut file = AtomicFile::create(&path).unwrap();
    file.write_all(b"new").unwrap();
    let note = |synced: &str| seen.borrow_mut().push((synced.to_owned(), fs::read(&path).unwrap()));
    let committed = file.commit_with(
        |file| {
            note("content");
            file.sync_all()
        },
        |synced| {
            assert_eq!(synced, folder.path());
            note("folder");
            sync_folder(synced)
        },
    );
    committed.unwrap();
    let expected = [("content".to_owned(), b"old".to_vec()), ("folder".to_owned(), b"new".to_vec())];
    assert_eq!(*seen.borrow(), expected);
}

#[test]
fn content_that_does_not_reach_the_disk_never_replaces_the_old() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("a");
    write(&path, b"old").unwrap();
    let mut file = AtomicFile::create(&path).unwrap();
    file.write_all(b"new").unwrap();
    let disk_full = |_: &File| Err(io::Error::from(io::ErrorKind::StorageFull));
    let error = file.commit_with(disk_full, |_| unreachable!("nothing was renamed")).unwrap_err();
    assert_eq!(error.kind(), io::ErrorKind::StorageFull);
    assert_eq!(fs::read(&path).unwrap(), b"old");
    assert_eq!(names(folder.path()), ["a"]);
}

#[test]
fn a_temporary_file_left_by_a_crash_does_not_prevent_the_next_write() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("a.toml");
    let left = AtomicFile::create(&path).unwrap();
    let (_, left) = left.temporary.keep().unwrap();
    let name = left.file_name().unwrap().to_str().unwrap();
    assert!(name.starts_with(".a.toml.new-") && left.extension().is_some_and(|it| it != "toml"), "{name}");
    write(&path, b"new").unwrap();
    assert_eq!(fs::read(&path).unwrap(), b"new");
}

#[test]
fn a_new_file_never_replaces_one() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("a");
    write_new(&path, b"first").unwrap();
    assert_eq!(write_new(&path, b"second").unwrap_err().kind(), io::ErrorKind::AlreadyExists);
    assert_eq!(create_new(&path).unwrap_err().kind(), io::ErrorKind::AlreadyExists);
    assert_eq!(fs::read(&path).unwrap(), b"first");
    assert_eq!(names(folder.path()), ["a"]);
}

#[cfg(unix)]
#[test]
fn a_symbolic_link_is_replaced_and_its_target_unchanged() {
    let folder = tempfile::tempdir().unwrap();
    let (target, link) = (folder.path().join("target"), folder.path().join("link"));
    fs::write(&target, "old").unwrap();
    std::os::unix::fs::symlink(&target, &link).unwrap();
    write(&link, b"new").unwrap();
    assert_eq!(fs::read(&target).unwrap(), b"old");
    assert!(fs::symlink_metadata(&link).unwrap().is_file());
    std::os::unix::fs::symlink(folder.path().join("nothing"), folder.path().join("dangling")).unwrap();
    let taken = write_new(&folder.path().join("dangling"), b"").unwrap_err();
    assert_eq!(taken.kind(), io::ErrorKind::AlreadyExists);
}

#[test]
fn a_bare_name_is_in_the_current_folder() {
    assert_eq!(folder_of(Path::new("a")), Path::new("."));
    assert_eq!(folder_of(Path::new("b/a")), Path::new("b"));
}
