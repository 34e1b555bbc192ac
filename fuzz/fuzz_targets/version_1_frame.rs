#![no_main]

libfuzzer_sys::fuzz_target!(|data: &[u8]| toolway_fuzz::version_1_frame(data));
