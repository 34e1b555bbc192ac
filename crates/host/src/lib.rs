//! Tools of the computer itself, and command tools defined in a file.
