use super::*;

fn told(error: io::Error) -> ToolError {
    FileAccessError::from(error).into_tool_error(FileOperation::Write, "a.txt", "")
}

#[cfg(unix)]
#[test]
fn what_the_operating_system_says_is_put_into_words() {
    // The numbers are Linux's.
    let cases = [
        (13, "Can't write a.txt: the operating system does not let Toolway do so (permission denied)"),
        (27, "Can't write a.txt: the file would be larger than the disk can hold"),
        (28, "Can't write a.txt: there is no space left on the disk"),
        (30, "Can't write a.txt: the disk is read-only"),
        (36, "Can't write a.txt: a name in the path is too long, or has characters that can't be used"),
        (122, "Can't write a.txt: the disk quota is used up"),
    ];
    for (number, words) in cases {
        let error = told(io::Error::from_raw_os_error(number));
        assert_eq!((error.code, error.message.as_str()), (Code::ToolFailed, words));
    }
    for number in [2, 20] {
        let error = told(io::Error::from_raw_os_error(number));
        assert_eq!((error.code, error.message.as_str()), (Code::FileNotFound, "File not found: a.txt"));
    }
    // Others in the system's own.
    let error = told(io::Error::from_raw_os_error(5));
    assert!(error.message.starts_with("Can't write a.txt: "), "{error:?}");
}

#[test]
fn a_full_disk_has_a_hint() {
    let error = told(io::ErrorKind::StorageFull.into());
    assert!(error.hint.unwrap().starts_with("What was there before is unchanged"));
}
