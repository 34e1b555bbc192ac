use super::*;

#[test]
fn ordinary_names_are_used_as_they_are() {
    for name in ["helper", "a", "2nd-helper", "my_agent", "shared2", "0190b4c2-7f3e"] {
        assert_eq!(folder_name(Some(name)), name);
    }
    assert_eq!(folder_name(None), "shared");
}

#[test]
fn others_are_harmless_and_never_the_same() {
    let names = [
        "", ".", "..", "../b", "a/b", "a\\b", "/etc", "Helper", "helper ", "hélper", "shared", "con", "com1",
        ".hidden", "-x", "a\0b", "a~b", "\u{202e}", "SHARED", "CON",
    ];
    let mut made: Vec<_> = names.iter().map(|name| folder_name(Some(name))).collect();
    for name in &made {
        let harmless = |c: char| c.is_ascii_lowercase() || c.is_ascii_digit() || "-_~".contains(c);
        assert!(name.contains('~') && name.chars().all(harmless) && name.len() <= 65, "{name}");
    }
    made.extend(["helper", "ab", "b", "shared", "con"].map(str::to_owned));
    made.sort();
    let count = made.len();
    made.dedup();
    assert_eq!(made.len(), count);
    assert_eq!(folder_name(Some(&"x".repeat(10_000))).len(), MAX_STEM + 1 + 32);
}
