use super::*;

fn keys(bytes: &[u8]) -> Vec<KeyPress> {
    let mut decoder = KeyDecoder::default();
    let mut keys: Vec<_> = bytes.iter().filter_map(|byte| decoder.feed(*byte)).collect();
    keys.extend(decoder.flush());
    keys
}

#[test]
fn keys_are_told_apart() {
    // As xterm sends them in its ordinary and its application mode.
    for (bytes, key) in [
        (&b"\x1b[A"[..], KeyPress::Up),
        (b"\x1bOA", KeyPress::Up),
        (b"\x1b[B", KeyPress::Down),
        (b"\x1b[5~", KeyPress::PageUp),
        (b"\x1b[6~", KeyPress::PageDown),
        (b"\x1b[H", KeyPress::Home),
        (b"\x1b[1~", KeyPress::Home),
        (b"\x1b[F", KeyPress::End),
        (b"\x1b[4~", KeyPress::End),
        (b"\r", KeyPress::Enter),
        (b"\n", KeyPress::Enter),
        (b"\x7f", KeyPress::Backspace),
        (b"\x08", KeyPress::Backspace),
        (b"\x03", KeyPress::Interrupt),
        (b"\x04", KeyPress::Eof),
        (b" ", KeyPress::Char(' ')),
        (b"/", KeyPress::Char('/')),
        ("ü".as_bytes(), KeyPress::Char('ü')),
        ("日".as_bytes(), KeyPress::Char('日')),
        (b"\x1b", KeyPress::Escape),
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
        assert_eq!(keys(&with_more), [KeyPress::Char('a')], "{bytes:?}");
    }
}

#[test]
fn a_sequence_without_end_is_given_up() {
    let mut bytes = b"\x1b[".to_vec();
    bytes.extend([b'1'; 100]);
    let found = keys(&bytes);
    assert!(found.len() > 50 && found.iter().all(|key| *key == KeyPress::Char('1')), "{found:?}");
}
