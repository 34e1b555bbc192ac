//! asking
