use super::*;

#[test]
fn labels_are_found_however_they_are_written() {
    let cases = [
        ("UTF-8", "UTF-8"),
        ("utf8", "UTF-8"),
        ("utf_8", "UTF-8"),
        (" Utf-8 ", "UTF-8"),
        ("", "UTF-8"),
        ("utf-16", "UTF-16LE"),
        ("UTF16BE", "UTF-16BE"),
        ("latin-1", "windows-1252"),
        ("ISO_8859_1", "windows-1252"),
        ("cp1252", "windows-1252"),
        ("shift-jis", "Shift_JIS"),
        ("SJIS", "Shift_JIS"),
        ("big5", "Big5"),
        ("GB 18030", "gb18030"),
        ("koi8-r", "KOI8-R"),
    ];
    for (label, name) in cases {
        assert_eq!(find_encoding(Some(label)).unwrap().name(), name, "{label}");
    }
    assert_eq!(find_encoding(None).unwrap(), UTF_8);
}

#[test]
fn an_unknown_one_is_refused_with_close_names() {
    let told = |name| {
        let error = find_encoding(Some(name)).unwrap_err();
        assert_eq!(error.code, Code::InvalidArguments);
        error.message
    };
    assert_eq!(told("UTF-7"), "Unknown encoding \"UTF-7\". Did you mean UTF-8?");
    assert!(told("windows-1552").contains("windows-1252"));
    assert_eq!(told("🦀"), "Unknown encoding \"🦀\".");
    // Labels of the encoding that decodes nothing.
    assert!(told("replacement").starts_with("Unknown encoding"));
    assert!(told("iso-2022-kr").starts_with("Unknown encoding"));
}
