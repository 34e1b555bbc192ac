//! A list with ticks: what is shown of it, and what each key does. It knows no terminal.

use crate::print::live;
use crate::print::style::Style;

/// Of a line at least so much is shown before the permissions, in columns.
const SHORTEST: usize = 12;

/// One thing that can be ticked. Its texts are escaped.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Item {
    pub(super) name: String,
    pub(super) does: String,
    /// The permissions it needs, with commas between them.
    pub(super) needs: String,
    pub(super) ticked: bool,
}

impl Item {
    /// `[x] name - what it does`.
    pub(super) fn line(&self, colour: bool) -> String {
        let mark = if self.ticked { "[x]" } else { "[ ]" };
        let mut line = format!("{mark} {}", Style::Name.paint(&self.name, colour));
        if !self.does.is_empty() {
            line.push_str(&format!(" - {}", self.does));
        }
        if !self.needs.is_empty() {
            line.push_str(&format!("  {}", Style::Warning.paint(&format!("! needs {}", self.needs), colour)));
        }
        line
    }

    /// The same, with the permissions in sight where there is no room for all that it does.
    fn line_within(&self, width: usize, colour: bool) -> String {
        if self.needs.is_empty() || live::visible(&self.line(false)) <= width {
            return live::cut(&self.line(colour), width);
        }
        let needs = format!("  {}", Style::Warning.paint(&format!("! needs {}", self.needs), colour));
        let rest = Self { needs: String::new(), ..self.clone() }.line(colour);
        let room = width.saturating_sub(live::visible(&needs));
        live::cut(&format!("{}{needs}", live::cut(&rest, room.max(SHORTEST))), width)
    }
}

/// What a key asks for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Press {
    Up,
    Down,
    PageUp,
    PageDown,
    Top,
    Bottom,
    /// Tick, or take the tick away.
    Toggle,
    /// Tick all that are shown.
    All,
    /// Take all shown ticks away.
    None,
    /// Begin to type what is looked for.
    Filter,
    /// A letter of what is looked for.
    Type(char),
    /// The last letter of it goes.
    Delete,
    Enter,
    Escape,
}

/// What a key led to.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Verdict {
    GoOn,
    Keep,
    Cancel,
}

/// The list.
#[derive(Debug)]
pub(super) struct Checklist {
    about: String,
    items: Vec<Item>,
    /// What is looked for; only items that have it are shown.
    filter: String,
    is_typing: bool,
    /// Which of the shown items the mark is at.
    at: usize,
    /// The first of them that is in sight.
    top: usize,
}

impl Checklist {
    pub(super) fn new(about: &str, items: Vec<Item>) -> Self {
        Self { about: about.to_owned(), items, filter: String::new(), is_typing: false, at: 0, top: 0 }
    }

    pub(super) fn items(&self) -> &[Item] {
        &self.items
    }

    /// Which are ticked.
    pub(super) fn ticks(&self) -> Vec<bool> {
        self.items.iter().map(|item| item.ticked).collect()
    }

    /// Ticks these and no others.
    pub(super) fn tick(&mut self, ticks: &[bool]) {
        for (item, ticked) in self.items.iter_mut().zip(ticks) {
            item.ticked = *ticked;
        }
    }

    /// Whether what is typed is looked for.
    pub(super) fn is_typing(&self) -> bool {
        self.is_typing
    }

    /// Which items are shown.
    fn shown(&self) -> Vec<usize> {
        let wanted = self.filter.to_lowercase();
        let has = |item: &Item| {
            [&item.name, &item.does, &item.needs]
                .into_iter()
                .any(|text| text.to_lowercase().contains(&wanted))
        };
        self.items.iter().enumerate().filter(|(_, item)| has(item)).map(|(at, _)| at).collect()
    }

    /// A key was pressed, with so many items in sight.
    pub(super) fn press(&mut self, press: Press, in_sight: usize) -> Verdict {
        let shown = self.shown();
        let last = shown.len().saturating_sub(1);
        match press {
            Press::Up => self.at = self.at.saturating_sub(1),
            Press::Down => self.at = (self.at + 1).min(last),
            Press::PageUp => self.at = self.at.saturating_sub(in_sight.max(1)),
            Press::PageDown => self.at = (self.at + in_sight.max(1)).min(last),
            Press::Top => self.at = 0,
            Press::Bottom => self.at = last,
            Press::Toggle => {
                let item = shown.get(self.at).and_then(|at| self.items.get_mut(*at));
                item.into_iter().for_each(|item| item.ticked = !item.ticked);
            }
            Press::All | Press::None => {
                for at in shown {
                    self.items.get_mut(at).into_iter().for_each(|item| item.ticked = press == Press::All);
                }
            }
            Press::Filter => self.is_typing = true,
            Press::Type(c) => self.look_for(|filter| filter.push(c)),
            Press::Delete => self.look_for(|filter| {
                filter.pop();
            }),
            Press::Enter if self.is_typing => self.is_typing = false,
            Press::Enter => return Verdict::Keep,
            Press::Escape if self.is_typing || !self.filter.is_empty() => {
                self.is_typing = false;
                self.look_for(String::clear);
            }
            Press::Escape => return Verdict::Cancel,
        }
        Verdict::GoOn
    }

    fn look_for(&mut self, change: impl FnOnce(&mut String)) {
        change(&mut self.filter);
        self.at = 0;
    }

    /// How many items are in sight on so many lines.
    pub(super) fn in_sight(height: usize) -> usize {
        // The head, the foot, and the line below.
        height.saturating_sub(3).max(1)
    }

    /// The lines to show.
    pub(super) fn rows(&mut self, width: usize, height: usize, colour: bool) -> Vec<String> {
        let shown = self.shown();
        let in_sight = Self::in_sight(height);
        // The mark stays in sight, and no line stays empty that could show something.
        self.top = self.top.min(self.at).max((self.at + 1).saturating_sub(in_sight));
        self.top = self.top.min(shown.len().saturating_sub(in_sight));
        let ticked = self.items.iter().filter(|item| item.ticked).count();
        let head = format!("Tools of {}: {ticked} of {} ticked", self.about, self.items.len());
        let mut rows = vec![Style::Label.paint(&live::cut(&head, width), colour)];
        for (number, at) in shown.iter().enumerate().skip(self.top).take(in_sight) {
            let Some(item) = self.items.get(*at) else { continue };
            let mark = if number == self.at { Style::Hint.paint(">", colour) } else { " ".to_owned() };
            rows.push(format!("{mark} {}", item.line_within(width.saturating_sub(2), colour)));
        }
        if shown.is_empty() {
            rows.push(Style::Faint.paint("  (none has that)", colour));
        }
        rows.push(self.foot(&shown, in_sight, width, colour));
        rows
    }

    fn foot(&self, shown: &[usize], in_sight: usize, width: usize, colour: bool) -> String {
        if self.is_typing {
            return live::cut(&format!("/{}_", self.filter), width);
        }
        let mut foot = String::new();
        if shown.len() > in_sight {
            foot.push_str(&format!("{}/{}  ", self.at + 1, shown.len()));
        }
        if !self.filter.is_empty() {
            foot.push_str(&format!("/{}  ", self.filter));
        }
        foot.push_str("space tick  a all  n none  / find  enter keep  esc cancel");
        Style::Faint.paint(&live::cut(&foot, width), colour)
    }
}

#[cfg(test)]
mod tests;
