use super::*;

/// Emulates the control sequences in use: line feed, carriage return, cursor up, and clear.
#[derive(Default)]
struct TerminalEmulator {
    lines: Vec<String>,
    line: usize,
    column: usize,
}

impl TerminalEmulator {
    fn write(&mut self, text: &str) {
        let mut rest = text;
        while let Some(c) = rest.chars().next() {
            rest = &rest[c.len_utf8()..];
            if self.lines.len() <= self.line {
                self.lines.resize(self.line + 1, String::new());
            }
            match c {
                '\n' => (self.line, self.column) = (self.line + 1, 0),
                '\r' => self.column = 0,
                '\u{1b}' => {
                    let end = rest.find(|c: char| c.is_ascii_alphabetic()).unwrap();
                    let (number, last) = (rest[1..end].parse::<usize>(), &rest[end..=end]);
                    match last {
                        "A" => self.line -= number.unwrap(),
                        "J" => {
                            self.lines.truncate(self.line + 1);
                            self.lines[self.line] = self.lines[self.line].chars().take(self.column).collect();
                        }
                        other => panic!("{other} is not used here"),
                    }
                    rest = &rest[end + 1..];
                }
                c => {
                    let line = &mut self.lines[self.line];
                    assert_eq!(line.chars().count(), self.column, "nothing is written over: {line}");
                    line.push(c);
                    self.column += 1;
                }
            }
        }
    }

    fn shown(&self) -> Vec<&str> {
        self.lines.iter().map(String::as_str).collect()
    }
}

fn rows(text: &str) -> Vec<String> {
    text.lines().map(str::to_owned).collect()
}

#[test]
fn lines_change_in_place() {
    let (mut live, mut screen) = (LiveRegion::new(20, 10), TerminalEmulator::default());
    screen.write("before\n");
    for text in ["a", "a\nb", "a\nb c", "x\nb c\nd", "x", "", "q\nr\ns"] {
        screen.write(&live.update(&rows(text)));
        let mut expected = vec!["before"];
        expected.extend(text.lines());
        let shown: Vec<_> = screen.shown().into_iter().filter(|line| !line.is_empty()).collect();
        assert_eq!(shown, expected, "{text:?}");
    }
    screen.write(&live.print_above(&rows("for\ngood")));
    screen.write(&live.update(&rows("next")));
    assert_eq!(screen.shown(), ["before", "for", "good", "next"]);
}

#[test]
fn unchanged_lines_are_not_written_again() {
    let mut live = LiveRegion::new(20, 10);
    live.update(&rows("one\ntwo"));
    assert_eq!(live.update(&rows("one\ntwo")), "");
    assert_eq!(live.update(&rows("one\ntwo!")), "\r\u{1b}[Jtwo!");
    assert_eq!(live.update(&rows("one\ntwo!\nthree")), "\nthree");
}

#[test]
fn only_lines_that_fit_are_shown() {
    let mut live = LiveRegion::new(4, 3);
    assert_eq!(live.update(&rows("1\n2\n3\n4")), "3\n4");
    assert_eq!(LiveRegion::new(4, 3).update(&rows("12345")), "123…");
    assert_eq!(LiveRegion::new(1, 1).update(&rows("12345")), "…");
}

#[test]
fn colours_have_no_width_and_end_with_the_line() {
    assert_eq!(truncate("\u{1b}[1mabcdef\u{1b}[0m", 4), "\u{1b}[1mabc…\u{1b}[0m");
    assert_eq!(truncate("\u{1b}[1mabcd\u{1b}[0m", 4), "\u{1b}[1mabcd\u{1b}[0m");
    assert_eq!(truncate("日本語", 5), "日本…");
    assert_eq!(visible_width("\u{1b}[1;36m日本\u{1b}[0m!"), 5);
}
