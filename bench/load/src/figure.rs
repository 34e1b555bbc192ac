//! A figure: the measured value, the value it is compared with, and the goal.

use std::fmt::Write as _;

use serde::Serialize;

use crate::output::format_bytes;

/// Unit of a number.
#[derive(Debug, Clone, Copy, Serialize)]
#[serde(rename_all = "snake_case")]
pub(crate) enum FigureUnit {
    /// Microseconds.
    Micros,
    /// Milliseconds.
    Millis,
    /// Calls per second.
    PerSecond,
    /// Bytes.
    Bytes,
    /// Devices.
    Devices,
    /// Hundredths.
    Percent,
}

impl FigureUnit {
    fn write(self, value: f64) -> String {
        match self {
            Self::Micros if value >= 100.0 => format!("{value:.0} µs"),
            Self::Micros => format!("{value:.1} µs"),
            Self::Millis => format!("{value:.1} ms"),
            Self::PerSecond => format!("{value:.0}/s"),
            Self::Bytes => format_bytes(value),
            Self::Devices => format!("{value:.0}"),
            Self::Percent => format!("{value:.0} %"),
        }
    }
}

/// Goal of a row.
#[derive(Debug, Clone, Copy, Serialize)]
#[serde(rename_all = "snake_case")]
pub(crate) enum FigureGoal {
    /// Maximum of the measured value.
    AtMost(f64),
    /// Minimum of the measured value.
    AtLeast(f64),
    /// Maximum of the ratio to the other side.
    RatioAtMost(f64),
    /// Minimum of the ratio to the other side.
    RatioAtLeast(f64),
}

/// One figure.
#[derive(Debug, Serialize)]
pub(crate) struct FigureRow {
    /// Description of the measurement and its load.
    pub(crate) what: String,
    pub(crate) measured: f64,
    pub(crate) unit: FigureUnit,
    /// Value of the relay, or of the gateway with ten devices.
    pub(crate) beside: Option<f64>,
    /// Measured ÷ beside.
    pub(crate) ratio: Option<f64>,
    /// Empty if the figure is only reported.
    pub(crate) goals: Vec<FigureGoal>,
    pub(crate) reached: bool,
    /// True if the run had calls and no errors.
    pub(crate) sound: bool,
    pub(crate) verdict: String,
}

impl FigureRow {
    /// Creates a figure without goals.
    pub(crate) fn new(what: &str, measured: f64, unit: FigureUnit) -> Self {
        Self {
            what: what.to_owned(),
            measured,
            unit,
            beside: None,
            ratio: None,
            goals: Vec::new(),
            reached: true,
            sound: true,
            verdict: "reported".to_owned(),
        }
    }

    /// Sets the value that it is compared with.
    pub(crate) fn beside(mut self, value: f64, ratio: f64) -> Self {
        (self.beside, self.ratio) = (Some(value), Some(ratio));
        self
    }

    /// Sets the goals. Must be called after the values are set.
    pub(crate) fn goals(mut self, goals: &[FigureGoal]) -> Self {
        self.goals = goals.to_vec();
        let misses: Vec<_> = goals.iter().filter_map(|goal| self.miss(*goal)).collect();
        self.reached = misses.is_empty();
        self.verdict =
            if misses.is_empty() { "reached".to_owned() } else { format!("missed: {}", misses.join(", ")) };
        self
    }

    /// Marks the figure as unreliable if `sound` is false.
    pub(crate) fn sound(mut self, sound: bool) -> Self {
        self.sound = sound;
        if !sound {
            self.reached = false;
            self.verdict = "not valid: there were errors".to_owned();
        }
        self
    }

    /// Returns by how much a goal is missed.
    fn miss(&self, goal: FigureGoal) -> Option<String> {
        let ratio = self.ratio.unwrap_or(0.0);
        let (value, limit, at_most, name) = match goal {
            FigureGoal::AtMost(limit) => (self.measured, limit, true, ""),
            FigureGoal::AtLeast(limit) => (self.measured, limit, false, ""),
            FigureGoal::RatioAtMost(limit) => (ratio, limit, true, "ratio "),
            FigureGoal::RatioAtLeast(limit) => (ratio, limit, false, "ratio "),
        };
        let reached = if at_most { value <= limit } else { value >= limit };
        let percent = (value / limit - 1.0) * 100.0;
        (!reached).then(|| format!("{name}{percent:+.0} %"))
    }

    fn goal_text(&self) -> String {
        let texts = self.goals.iter().map(|goal| match goal {
            FigureGoal::AtMost(limit) => format!("≤ {}", self.unit.write(*limit)),
            FigureGoal::AtLeast(limit) => format!("≥ {}", self.unit.write(*limit)),
            FigureGoal::RatioAtMost(limit) => format!("≤ {limit} ×"),
            FigureGoal::RatioAtLeast(limit) => format!("≥ {limit} ×"),
        });
        texts.collect::<Vec<_>>().join(", ")
    }
}

/// Formats rows as text with the number of goals reached. `beside` is the title of the comparison column.
pub(crate) fn format_rows(rows: &[FigureRow], beside: &str) -> String {
    let head = ["what", "measured", beside, "ratio", "goal", ""].map(str::to_owned);
    let body = rows.iter().map(|row| {
        [
            row.what.clone(),
            row.unit.write(row.measured),
            row.beside.map(|value| row.unit.write(value)).unwrap_or_default(),
            row.ratio.map(|ratio| format!("{ratio:.2}")).unwrap_or_default(),
            row.goal_text(),
            row.verdict.clone(),
        ]
    });
    let lines: Vec<[String; 6]> = std::iter::once(head).chain(body).collect();
    let widths: [usize; 6] = std::array::from_fn(|column| {
        lines.iter().filter_map(|line| line.get(column)).map(|cell| cell.chars().count()).max().unwrap_or(0)
    });
    let mut text = String::new();
    for (number, line) in lines.iter().enumerate() {
        let cells: Vec<_> = line.iter().zip(widths).map(|(cell, width)| format!("{cell:<width$}")).collect();
        let _ = writeln!(text, "{}", cells.join("  ").trim_end());
        if number == 0 {
            let rules: Vec<_> = widths.iter().map(|width| "─".repeat(*width)).collect();
            let _ = writeln!(text, "{}", rules.join("  ").trim_end());
        }
    }
    let reached = rows.iter().filter(|row| row.reached && !row.goals.is_empty()).count();
    let asked = rows.iter().filter(|row| !row.goals.is_empty()).count();
    let _ = writeln!(text, "\n{reached} of {asked} goals reached");
    text
}
