use super::*;
use crate::figure::{FigureGoal, FigureUnit};

#[test]
fn a_goal_is_reached_or_missed_by_so_much() {
    let row = FigureRow::new("x", 150.0, FigureUnit::Micros).beside(100.0, 1.5);
    let row = row.goals(&[FigureGoal::RatioAtMost(1.4), FigureGoal::AtMost(200.0)]);
    assert_eq!((row.reached, row.verdict.as_str()), (false, "missed: ratio +7 %"));
    let row = FigureRow::new("x", 14_000.0, FigureUnit::PerSecond)
        .beside(20_000.0, 0.7)
        .goals(&[FigureGoal::RatioAtLeast(0.7)]);
    assert_eq!((row.reached, row.verdict.as_str()), (true, "reached"));
    let row = FigureRow::new("x", 9000.0, FigureUnit::Devices).goals(&[FigureGoal::AtLeast(10_000.0)]);
    assert_eq!(row.verdict, "missed: -10 %");
}

#[test]
fn without_a_goal_a_figure_is_reported() {
    assert_eq!(FigureRow::new("x", 1.0, FigureUnit::Bytes).verdict, "reported");
}

#[test]
fn figures_from_a_run_with_errors_count_for_nothing() {
    let row = FigureRow::new("x", 1.0, FigureUnit::Millis).goals(&[FigureGoal::AtMost(2.0)]).sound(false);
    assert!(!row.reached);
    assert_eq!(row.verdict, "not valid: there were errors");
}

#[test]
fn the_table_lines_up_and_counts() {
    let table = FigureTable {
        rows: vec![
            FigureRow::new("calls/s", 21_000.0, FigureUnit::PerSecond)
                .beside(28_000.0, 0.75)
                .goals(&[FigureGoal::RatioAtLeast(0.7)]),
            FigureRow::new("memory", 25e6, FigureUnit::Bytes).goals(&[FigureGoal::AtMost(15e6)]),
        ],
        ..FigureTable::default()
    };
    let text = table.drawn();
    let lines: Vec<_> = text.lines().collect();
    assert_eq!(lines[0], "what     measured  relay    ratio  goal");
    assert_eq!(lines[2], "calls/s  21000/s   28000/s  0.75   ≥ 0.7 ×    reached");
    assert_eq!(lines[3], "memory   25.0 MB                   ≤ 15.0 MB  missed: +67 %");
    assert!(text.contains("1 of 2 goals reached"), "{text}");
}
