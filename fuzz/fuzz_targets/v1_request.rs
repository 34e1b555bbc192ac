#![no_main]

libfuzzer_sys::fuzz_target!(|data: &[u8]| toolway_fuzz::v1_request(data));
