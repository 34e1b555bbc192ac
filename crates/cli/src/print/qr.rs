//! Renders QR codes with half blocks: each character shows two modules, one above the other.
//!
//! Readers expect dark modules on a light background. With colours, both are set, which works on dark and light
//! terminals. Without colours, the light modules are drawn, which works on dark terminals and with most readers on
//! light ones.

use qrcode::{Color, EcLevel, QrCode};

/// Width of the light border that readers need, in modules.
const QUIET_ZONE: usize = 2;

/// Returns the lines of the code; `None` if the text is too long or the terminal too narrow.
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
        // Black on white from the fixed part of the palette, which themes do not change.
        if colour { format!("\u{1b}[38;5;231;48;5;16m{blocks}\u{1b}[0m") } else { blocks }
    };
    Some((0..framed).step_by(2).map(line).collect())
}

/// Returns the character whose drawn halves are the light modules.
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
