use super::*;

const LINK: &str = "toolway://pair?url=https%3A%2F%2F192.168.1.5%3A7717&code=ABCDEFGH&key=sha256:0123456789abcdef0123456789abcdef0123456789abcdef0123456789abcdef";

#[test]
fn the_code_has_its_modules_and_a_light_border() {
    let drawn = lines(LINK, None, false).unwrap();
    let code = QrCode::with_error_correction_level(LINK, EcLevel::L).unwrap();
    let modules = code.to_colors();
    let drawn: Vec<Vec<char>> = drawn.iter().map(|line| line.chars().collect()).collect();
    let side = code.width();
    assert!(drawn.iter().all(|line| line.len() == side + 2 * QUIET_ZONE));
    for (y, row) in modules.chunks(side).enumerate() {
        for (x, module) in row.iter().enumerate() {
            let (column, line) = (x + QUIET_ZONE, y + QUIET_ZONE);
            let character = drawn[line / 2][column];
            let light = if line % 2 == 0 { "█▀" } else { "█▄" }.contains(character);
            assert_eq!(light, *module == Color::Light, "module {x},{y}");
        }
    }
    assert!(drawn[0].iter().all(|c| *c == '█'), "quiet above");
    assert!(drawn.iter().all(|line| line[..QUIET_ZONE] == ['█', '█']), "quiet at the side");
}

#[test]
fn both_colours_are_set_if_allowed() {
    for line in lines(LINK, None, true).unwrap() {
        assert!(line.starts_with("\u{1b}[38;5;231;48;5;16m") && line.ends_with("\u{1b}[0m"));
    }
}

#[test]
fn a_narrow_terminal_gets_no_code() {
    let needed = lines(LINK, None, false).unwrap()[0].chars().count();
    assert!(lines(LINK, Some(needed), false).is_some());
    assert!(lines(LINK, Some(needed - 1), false).is_none());
    assert!(lines(&"x".repeat(5000), None, false).is_none());
}
