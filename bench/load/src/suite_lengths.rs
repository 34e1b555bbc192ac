//! The lengths of the measurements.

/// How long the parts take.
#[derive(Debug, Clone, Copy)]
pub(crate) struct SuiteLengths {
    pub(crate) seconds: f64,
    pub(crate) hold_seconds: f64,
    pub(crate) rounds: usize,
    pub(crate) starts: usize,
    pub(crate) turns: usize,
    pub(crate) chat_seconds: f64,
    pub(crate) mcp_rounds: usize,
}

impl SuiteLengths {
    /// For figures to be kept: devices are held over two heartbeats and more.
    pub(crate) const FULL: Self = Self {
        seconds: 10.0,
        hold_seconds: 25.0,
        rounds: 5,
        starts: 20,
        turns: 300,
        chat_seconds: 20.0,
        mcp_rounds: 10,
    };
    /// For a look while working.
    pub(crate) const QUICK: Self = Self {
        seconds: 3.0,
        hold_seconds: 3.0,
        rounds: 1,
        starts: 7,
        turns: 100,
        chat_seconds: 5.0,
        mcp_rounds: 4,
    };

    /// How many gateways are registered at.
    pub(crate) fn rounds(self) -> usize {
        self.rounds
    }

    /// How many turns of each kind are timed.
    pub(crate) fn turns(self) -> usize {
        self.turns
    }

    /// How long many sessions chat at once.
    pub(crate) fn chat_seconds(self) -> f64 {
        self.chat_seconds
    }

    /// How many rounds MCP is measured in.
    pub(crate) fn mcp_rounds(self) -> usize {
        self.mcp_rounds
    }

    /// How many starts are timed.
    pub(crate) fn starts(self) -> usize {
        self.starts
    }
}
