//! offering
