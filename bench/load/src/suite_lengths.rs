//! The lengths of the measurements.

/// Durations of the parts.
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
    /// For figures to be published: devices are held for more than two heartbeats.
    pub(crate) const FULL: Self = Self {
        seconds: 10.0,
        hold_seconds: 25.0,
        rounds: 5,
        starts: 20,
        turns: 300,
        chat_seconds: 20.0,
        mcp_rounds: 10,
    };
    /// For a quick look.
    pub(crate) const QUICK: Self = Self {
        seconds: 3.0,
        hold_seconds: 3.0,
        rounds: 1,
        starts: 7,
        turns: 100,
        chat_seconds: 5.0,
        mcp_rounds: 4,
    };

    /// Returns the number of gateways for registrations.
    pub(crate) fn rounds(self) -> usize {
        self.rounds
    }

    /// Returns the number of turns of each kind.
    pub(crate) fn turns(self) -> usize {
        self.turns
    }

    /// Returns the duration of parallel sessions.
    pub(crate) fn chat_seconds(self) -> f64 {
        self.chat_seconds
    }

    /// Returns the number of MCP rounds.
    pub(crate) fn mcp_rounds(self) -> usize {
        self.mcp_rounds
    }

    /// Returns the number of starts.
    pub(crate) fn starts(self) -> usize {
        self.starts
    }
}
