//! Numbered list for terminals without key input: the user types the numbers of the tools to select.

use std::io::{BufRead, Write};

use super::cancelled;
use super::checklist::Checklist;
use crate::context::CliContext;
use crate::error::{CliError, CliResult, io_error_message};

/// Format of the input line, for the prompt and errors.
const INPUT_FORMAT: &str =
    "numbers of the tools to select, for example 1,3-5; or all, or none; an empty line cancels";

/// Prints the list and reads the selection from a line.
pub(super) async fn prompt_numbers(mut list: Checklist, context: &CliContext) -> CliResult<Vec<bool>> {
    let wide = list.items().len().to_string().len();
    for (number, item) in list.items().iter().enumerate() {
        context.printer.interactive_line(&format!(
            "{:>wide$} {}",
            number + 1,
            item.line(context.printer.stderr().colour)
        ));
    }
    let mut stderr = std::io::stderr().lock();
    let _ = write!(stderr, "{INPUT_FORMAT}: ").and_then(|()| stderr.flush());
    drop(stderr);
    let mut line = String::new();
    let read = std::io::stdin().lock().read_line(&mut line);
    let length = read.map_err(|error| {
        CliError::new(format!("cannot read the selection: {}", io_error_message(&error))).with_code("io")
    })?;
    if length == 0 || line.trim().is_empty() {
        return Err(cancelled());
    }
    let ticks = parse_selection(&line, list.items().len())?;
    list.set_ticks(&ticks);
    Ok(list.ticks())
}

/// Parses a line. Returns for each of `count` items if it is selected.
fn parse_selection(line: &str, count: usize) -> CliResult<Vec<bool>> {
    match line.trim().to_lowercase().as_str() {
        "all" | "a" => return Ok(vec![true; count]),
        "none" | "n" => return Ok(vec![false; count]),
        _ => {}
    }
    let mut ticks = vec![false; count];
    let wrong = |what: &str| {
        CliError::usage(format!("{what:?} is not a number from 1 to {count}")).with_hint(INPUT_FORMAT)
    };
    for part in line.split([',', ' ']).map(str::trim).filter(|part| !part.is_empty()) {
        let (first, last) = part.split_once('-').unwrap_or((part, part));
        let number = |text: &str| {
            text.trim().parse::<usize>().ok().filter(|it| (1..=count).contains(it)).ok_or_else(|| wrong(part))
        };
        let (first, last) = (number(first)?, number(last)?);
        ticks.get_mut(first - 1..last).ok_or_else(|| wrong(part))?.fill(true);
    }
    Ok(ticks)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_and_ranges_are_ticked() {
        for (line, expected) in [
            ("1", [true, false, false, false]),
            ("1,3-4\n", [true, false, true, true]),
            (" 2 4 ", [false, true, false, true]),
            ("all", [true; 4]),
            ("None", [false; 4]),
        ] {
            assert_eq!(parse_selection(line, 4).unwrap(), expected, "{line:?}");
        }
        for line in ["0", "5", "x", "3-1", "1-9", "-2"] {
            assert_eq!(parse_selection(line, 4).unwrap_err().code(), "usage", "{line:?}");
        }
    }
}
