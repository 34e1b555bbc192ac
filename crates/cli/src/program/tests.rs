use std::ffi::OsString;
use std::fs;

use super::*;

fn join(folders: &[&Path]) -> OsString {
    std::env::join_paths(folders).unwrap()
}

#[test]
fn the_name_is_enough_if_it_is_in_path() {
    let folder = tempfile::tempdir().unwrap();
    let program = folder.path().join(format!("toolway{EXE_SUFFIX}"));
    fs::write(&program, "").unwrap();
    let empty = tempfile::tempdir().unwrap();
    assert_eq!(command_for(&program, Some(&join(&[empty.path(), folder.path()]))), "toolway");
}

#[cfg(unix)]
#[test]
fn a_link_to_this_program_counts() {
    let (built, bin) = (tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap());
    let program = built.path().join("toolway");
    fs::write(&program, "").unwrap();
    std::os::unix::fs::symlink(&program, bin.path().join("toolway")).unwrap();
    assert_eq!(command_for(&program, Some(&join(&[bin.path()]))), "toolway");
}

#[test]
fn the_path_is_shown_if_the_shell_would_start_another_program_or_none() {
    let (built, other) = (tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap());
    let name = format!("toolway{EXE_SUFFIX}");
    let program = built.path().join(&name);
    fs::write(&program, "this").unwrap();
    fs::write(other.path().join(&name), "another").unwrap();
    let shown = program.display().to_string();
    assert_eq!(command_for(&program, Some(&join(&[other.path(), built.path()]))), shown);
    assert_eq!(command_for(&program, None), shown);
}

#[test]
fn a_path_with_a_space_is_quoted() {
    assert_eq!(command_for(Path::new("/my programs/toolway"), None), "'/my programs/toolway'");
}
