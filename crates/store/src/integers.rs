//! Unsigned numbers as SQLite stores them. A number beyond the range of SQLite becomes the largest one.

pub(crate) fn usize_to_i64(count: usize) -> i64 {
    i64::try_from(count).unwrap_or(i64::MAX)
}

pub(crate) fn u64_to_i64(count: u64) -> i64 {
    i64::try_from(count).unwrap_or(i64::MAX)
}
