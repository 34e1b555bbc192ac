//! Sessions and the turns in them: one turn at a time in each, many sessions side by side.
