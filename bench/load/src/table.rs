//! All figures of one run as a table. [`crate::suite`] fills it.

use std::fmt::Write as _;

use serde::Serialize;

use crate::chat::ChatReport;
use crate::figure::{FigureRow, format_rows};
use crate::idle_devices::IdleReport;
use crate::load::LoadReport;
use crate::mcp::McpReport;
use crate::registration::RegisterReport;
use crate::startup::StartReport;

/// All figures of one run, and the runs behind them.
#[derive(Debug, Default, Serialize)]
pub(crate) struct FigureTable {
    pub(crate) rows: Vec<FigureRow>,
    pub(crate) loads: Vec<LoadReport>,
    pub(crate) idles: Vec<IdleReport>,
    pub(crate) registers: Vec<RegisterReport>,
    pub(crate) starts: Vec<StartReport>,
    pub(crate) chats: Vec<ChatReport>,
    pub(crate) mcps: Vec<McpReport>,
    /// Parts that could not be measured, with the reasons.
    pub(crate) failed: Vec<String>,
}

impl FigureTable {
    /// Returns the table as text.
    pub(crate) fn drawn(&self) -> String {
        let mut text = format_rows(&self.rows, "relay");
        for part in &self.failed {
            let _ = writeln!(text, "not measured: {part}");
        }
        if let Some(load) = self.loads.first() {
            let _ = writeln!(
                text,
                "gateway and relay measured in turns, in the same run; runtime workers of the relay: {} ({}); \
                 load from one thread, on the same machine",
                load.workers,
                load.workers_from.description(),
            );
        }
        text
    }
}

#[cfg(test)]
mod tests;
