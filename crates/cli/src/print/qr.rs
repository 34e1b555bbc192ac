//! QR codes of half blocks: two modules above one another in each character.
//!
//! Readers want dark modules on light ground. Where colour may be used, both are set, so it is right on dark
//! and light terminals alike; else the light modules are drawn, which is right on a dark terminal and read by
//! most programs on a light one.

use qrcode::{Color, EcLevel, QrCode};

/// Light modules around the code, which readers need.
const QUIET_ZONE: usize = 2;

/// The code, line by line; none where the text does not fit into one, or the code not into the width.
pub(crate) fn lines(text: &str, width: Option<usize>, colour: bool) -> Option<Vec<String>> {
    let code = QrCode::with_error_correction_level(text, EcLevel::L).ok()?;
    let side = code.width();
    let framed = side + 2 * QUIET_ZONE;
    if width.is_some_and(|width| framed > width) {
        return None;
    }
    let modules = code.to_colors();
    let light = |x: usize, y: usize| {
        let inside =
            x.checked_sub(QUIET_ZONE).zip(y.checked_sub(QUIET_ZONE)).filter(|(x, y)| *x < side && *y < side);
        inside.and_then(|(x, y)| modules.get(y * side + x)).is_none_or(|module| *module == Color::Light)
    };
    let line = |y: usize| {
        let blocks: String = (0..framed).map(|x| half_block(light(x, y), light(x, y + 1))).collect();
        // Black on white from the palette's fixed part, which themes do not change.
        if colour { format!("\u{1b}[38;5;231;48;5;16m{blocks}\u{1b}[0m") } else { blocks }
    };
    Some((0..framed).step_by(2).map(line).collect())
}

/// The character whose drawn halves are the light ones.
fn half_block(upper: bool, lower: bool) -> char {
    match (upper, lower) {
        (true, true) => '█',
        (true, false) => '▀',
        (false, true) => '▄',
        (false, false) => ' ',
    }
}

#[cfg(test)]
mod tests;
