use super::*;

fn keys(bytes: &[u8]) -> Vec<Key> {
    let mut decoder = Decoder::default();
    let mut keys: Vec<_> = bytes.iter().filter_map(|byte| decoder.feed(*byte)).collect();
    keys.extend(decoder.pause());
    keys
}

#[test]
fn keys_are_told_apart() {
    // As xterm sends them in its ordinary and its application mode.
    for (bytes, key) in [
        (&b"\x1b[A"[..], Key::Up),
        (b"\x1bOA", Key::Up),
        (b"\x1b[B", Key::Down),
        (b"\x1b[5~", Key::PageUp),
        (b"\x1b[6~", Key::PageDown),
        (b"\x1b[H", Key::Home),
        (b"\x1b[1~", Key::Home),
        (b"\x1b[F", Key::End),
        (b"\x1b[4~", Key::End),
        (b"\r", Key::Enter),
        (b"\n", Key::Enter),
        (b"\x7f", Key::Backspace),
        (b"\x08", Key::Backspace),
        (b"\x03", Key::Interrupt),
        (b"\x04", Key::Eof),
        (b" ", Key::Char(' ')),
        (b"/", Key::Char('/')),
        ("ü".as_bytes(), Key::Char('ü')),
        ("日".as_bytes(), Key::Char('日')),
        (b"\x1b", Key::Escape),
    ] {
        assert_eq!(keys(bytes), [key], "{bytes:?}");
    }
}

#[test]
fn what_nobody_wants_is_passed_over_whole() {
    // Delete, F5, Alt-x, a colour that a terminal reports, Ctrl-A, a byte that starts no character.
    for bytes in [&b"\x1b[3~"[..], b"\x1b[15~", b"\x1bx", b"\x1b[?62;4c", b"\x01", b"\xff"] {
        let mut with_more = bytes.to_vec();
        with_more.push(b'a');
        assert_eq!(keys(&with_more), [Key::Char('a')], "{bytes:?}");
    }
}

#[test]
fn a_sequence_without_end_is_given_up() {
    let mut bytes = b"\x1b[".to_vec();
    bytes.extend([b'1'; 100]);
    let found = keys(&bytes);
    assert!(found.len() > 50 && found.iter().all(|key| *key == Key::Char('1')), "{found:?}");
}
