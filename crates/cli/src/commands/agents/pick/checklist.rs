//! State and text of a checklist, without terminal access.

use crate::print::live;
use crate::print::style::Style;

/// Minimum width of the text before the permissions, in columns.
const MIN_NAME_WIDTH: usize = 12;

/// Item of a checklist. Its texts are escaped.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct ChecklistItem {
    pub(super) name: String,
    pub(super) description: String,
    /// Required permissions, separated by commas.
    pub(super) permissions: String,
    pub(super) is_selected: bool,
}

impl ChecklistItem {
    /// Returns the line `[x] name - description`.
    pub(super) fn line(&self, colour: bool) -> String {
        let mark = if self.is_selected { "[x]" } else { "[ ]" };
        let mut line = format!("{mark} {}", Style::Name.paint(&self.name, colour));
        if !self.description.is_empty() {
            line.push_str(&format!(" - {}", self.description));
        }
        if !self.permissions.is_empty() {
            line.push_str(&format!(
                "  {}",
                Style::Warning.paint(&format!("! needs {}", self.permissions), colour)
            ));
        }
        line
    }

    /// Returns the line for a limited width. It truncates the description before the permissions.
    fn line_truncated(&self, width: usize, colour: bool) -> String {
        if self.permissions.is_empty() || live::visible_width(&self.line(false)) <= width {
            return live::truncate(&self.line(colour), width);
        }
        let needs = format!("  {}", Style::Warning.paint(&format!("! needs {}", self.permissions), colour));
        let rest = Self { permissions: String::new(), ..self.clone() }.line(colour);
        let room = width.saturating_sub(live::visible_width(&needs));
        live::truncate(&format!("{}{needs}", live::truncate(&rest, room.max(MIN_NAME_WIDTH))), width)
    }
}

/// Action of a key.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum ChecklistAction {
    Up,
    Down,
    PageUp,
    PageDown,
    Top,
    Bottom,
    /// Select or deselect the current item.
    Toggle,
    /// Select all visible items.
    All,
    /// Deselect all visible items.
    None,
    /// Start to edit the filter.
    Filter,
    /// Append a character to the filter.
    Type(char),
    /// Delete the last character of the filter.
    Delete,
    Enter,
    Escape,
}

/// Effect of a key on the dialog.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum ChecklistOutcome {
    Continue,
    Confirm,
    Cancel,
}

/// Checklist with a filter, a cursor and a scroll position.
#[derive(Debug)]
pub(super) struct Checklist {
    agent_name: String,
    items: Vec<ChecklistItem>,
    /// Search text. Only items that contain it are visible.
    filter: String,
    is_editing_filter: bool,
    /// Index of the current item among the visible ones.
    cursor: usize,
    /// Index of the first visible item on the screen.
    scroll_offset: usize,
}

impl Checklist {
    pub(super) fn new(about: &str, items: Vec<ChecklistItem>) -> Self {
        Self {
            agent_name: about.to_owned(),
            items,
            filter: String::new(),
            is_editing_filter: false,
            cursor: 0,
            scroll_offset: 0,
        }
    }

    pub(super) fn items(&self) -> &[ChecklistItem] {
        &self.items
    }

    /// Returns for each item if it is selected.
    pub(super) fn ticks(&self) -> Vec<bool> {
        self.items.iter().map(|item| item.is_selected).collect()
    }

    /// Selects exactly these items.
    pub(super) fn set_ticks(&mut self, ticks: &[bool]) {
        for (item, ticked) in self.items.iter_mut().zip(ticks) {
            item.is_selected = *ticked;
        }
    }

    /// Returns true while the user edits the filter.
    pub(super) fn is_editing_filter(&self) -> bool {
        self.is_editing_filter
    }

    /// Returns the indexes of the items that match the filter.
    fn visible_items(&self) -> Vec<usize> {
        let wanted = self.filter.to_lowercase();
        let has = |item: &ChecklistItem| {
            [&item.name, &item.description, &item.permissions]
                .into_iter()
                .any(|text| text.to_lowercase().contains(&wanted))
        };
        self.items.iter().enumerate().filter(|(_, item)| has(item)).map(|(at, _)| at).collect()
    }

    /// Applies a key. `in_sight` is the number of lines for items.
    pub(super) fn apply(&mut self, press: ChecklistAction, in_sight: usize) -> ChecklistOutcome {
        let shown = self.visible_items();
        let last = shown.len().saturating_sub(1);
        match press {
            ChecklistAction::Up => self.cursor = self.cursor.saturating_sub(1),
            ChecklistAction::Down => self.cursor = (self.cursor + 1).min(last),
            ChecklistAction::PageUp => self.cursor = self.cursor.saturating_sub(in_sight.max(1)),
            ChecklistAction::PageDown => self.cursor = (self.cursor + in_sight.max(1)).min(last),
            ChecklistAction::Top => self.cursor = 0,
            ChecklistAction::Bottom => self.cursor = last,
            ChecklistAction::Toggle => {
                let item = shown.get(self.cursor).and_then(|at| self.items.get_mut(*at));
                item.into_iter().for_each(|item| item.is_selected = !item.is_selected);
            }
            ChecklistAction::All | ChecklistAction::None => {
                for at in shown {
                    self.items
                        .get_mut(at)
                        .into_iter()
                        .for_each(|item| item.is_selected = press == ChecklistAction::All);
                }
            }
            ChecklistAction::Filter => self.is_editing_filter = true,
            ChecklistAction::Type(c) => self.edit_filter(|filter| filter.push(c)),
            ChecklistAction::Delete => self.edit_filter(|filter| {
                filter.pop();
            }),
            ChecklistAction::Enter if self.is_editing_filter => self.is_editing_filter = false,
            ChecklistAction::Enter => return ChecklistOutcome::Confirm,
            ChecklistAction::Escape if self.is_editing_filter || !self.filter.is_empty() => {
                self.is_editing_filter = false;
                self.edit_filter(String::clear);
            }
            ChecklistAction::Escape => return ChecklistOutcome::Cancel,
        }
        ChecklistOutcome::Continue
    }

    fn edit_filter(&mut self, change: impl FnOnce(&mut String)) {
        change(&mut self.filter);
        self.cursor = 0;
    }

    /// How many items are in sight on so many lines.
    pub(super) fn visible_count(height: usize) -> usize {
        // The head, the foot, and the line below.
        height.saturating_sub(3).max(1)
    }

    /// The lines to show.
    pub(super) fn rows(&mut self, width: usize, height: usize, colour: bool) -> Vec<String> {
        let shown = self.visible_items();
        let in_sight = Self::visible_count(height);
        // The mark stays in sight, and no line stays empty that could show something.
        self.scroll_offset =
            self.scroll_offset.min(self.cursor).max((self.cursor + 1).saturating_sub(in_sight));
        self.scroll_offset = self.scroll_offset.min(shown.len().saturating_sub(in_sight));
        let ticked = self.items.iter().filter(|item| item.is_selected).count();
        let head = format!("Tools of {}: {ticked} of {} ticked", self.agent_name, self.items.len());
        let mut rows = vec![Style::Label.paint(&live::truncate(&head, width), colour)];
        for (number, at) in shown.iter().enumerate().skip(self.scroll_offset).take(in_sight) {
            let Some(item) = self.items.get(*at) else { continue };
            let mark = if number == self.cursor { Style::Hint.paint(">", colour) } else { " ".to_owned() };
            rows.push(format!("{mark} {}", item.line_truncated(width.saturating_sub(2), colour)));
        }
        if shown.is_empty() {
            rows.push(Style::Faint.paint("  (none has that)", colour));
        }
        rows.push(self.footer(&shown, in_sight, width, colour));
        rows
    }

    fn footer(&self, shown: &[usize], in_sight: usize, width: usize, colour: bool) -> String {
        if self.is_editing_filter {
            return live::truncate(&format!("/{}_", self.filter), width);
        }
        let mut foot = String::new();
        if shown.len() > in_sight {
            foot.push_str(&format!("{}/{}  ", self.cursor + 1, shown.len()));
        }
        if !self.filter.is_empty() {
            foot.push_str(&format!("/{}  ", self.filter));
        }
        foot.push_str("space tick  a all  n none  / find  enter keep  esc cancel");
        Style::Faint.paint(&live::truncate(&foot, width), colour)
    }
}

#[cfg(test)]
mod tests;
