//! The tools that come with Toolway (`builtin/…`), and those that its owner defines (`own/…`).
