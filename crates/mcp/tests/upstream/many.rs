//! many
