//! Shares the room of a request among the sources: the source with the fewest tools in it is next. Of a source,
//! the tools that fit the conversation come first. One phone with many tools can therefore not displace all tools
//! of the others.

use std::cmp::Reverse;
use std::collections::{BTreeMap, BinaryHeap, HashMap, VecDeque};

use toolway_core::tool_search::ToolSearchRank;
use toolway_types::Slug;

use super::ToolCandidate;

/// The tools that compete for the room.
pub(super) struct FairShare<'f, 's> {
    sources: Vec<SourceQueue<'f, 's>>,
}

/// The tools of a source, the best first.
struct SourceQueue<'f, 's> {
    /// Number of the source's tools in the request.
    included: usize,
    is_own: bool,
    tools: VecDeque<(Option<ToolSearchRank>, &'f ToolCandidate<'s>)>,
}

/// Priority of a source; greater is higher. Of equal shares, the one with the better tool is next, then the chat's
/// own connection, then the first by name.
type SourcePriority = (Reverse<usize>, Option<ToolSearchRank>, bool, Reverse<usize>);

impl<'f, 's> FairShare<'f, 's> {
    /// Creates the queues of the sources. The tools are sorted by id; `included` counts the tools of each source
    /// that are in the request already.
    pub(super) fn new(
        tools: impl Iterator<Item = (&'f ToolCandidate<'s>, Option<ToolSearchRank>)>,
        included: &HashMap<Slug, usize>,
    ) -> Self {
        let mut by_source: BTreeMap<&Slug, SourceQueue<'f, 's>> = BTreeMap::new();
        for (candidate, rank) in tools {
            let source = by_source.entry(&candidate.id.source).or_insert_with(|| SourceQueue {
                included: included.get(&candidate.id.source).copied().unwrap_or_default(),
                is_own: false,
                tools: VecDeque::new(),
            });
            source.is_own |= candidate.is_own;
            source.tools.push_back((rank, candidate));
        }
        let mut sources: Vec<_> = by_source.into_values().collect();
        for source in &mut sources {
            // Stable, so that equally good tools stay sorted by id.
            source.tools.make_contiguous().sort_by_key(|(rank, _)| Reverse(*rank));
        }
        Self { sources }
    }

    /// Offers tools to `include` until `room` of them are included. At most half of the room goes to tools that
    /// fit the conversation before each source has its share.
    pub(super) fn fill(&mut self, room: usize, mut include: impl FnMut(&'f ToolCandidate<'s>) -> bool) {
        let left = self.fill_part(room.div_ceil(2), true, &mut include);
        self.fill_part(room / 2 + left, false, &mut include);
    }

    /// Returns the room that is left.
    fn fill_part(
        &mut self,
        mut room: usize,
        only_fitting: bool,
        include: &mut impl FnMut(&'f ToolCandidate<'s>) -> bool,
    ) -> usize {
        let mut heap: BinaryHeap<SourcePriority> =
            (0..self.sources.len()).filter_map(|at| self.priority(at, only_fitting)).collect();
        while room > 0
            && let Some((.., Reverse(at))) = heap.pop()
        {
            let Some(source) = self.sources.get_mut(at) else { continue };
            let Some((_, candidate)) = source.tools.pop_front() else { continue };
            if include(candidate) {
                source.included += 1;
                room -= 1;
            }
            heap.extend(self.priority(at, only_fitting));
        }
        room
    }

    /// Priority of a source's next tool; `None` if it has none.
    fn priority(&self, at: usize, only_fitting: bool) -> Option<SourcePriority> {
        let source = self.sources.get(at)?;
        let (rank, _) = source.tools.front()?;
        if only_fitting && rank.is_none() {
            return None;
        }
        Some((Reverse(source.included), *rank, source.is_own, Reverse(at)))
    }
}
