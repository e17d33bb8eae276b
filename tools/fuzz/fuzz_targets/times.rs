#![no_main]

libfuzzer_sys::fuzz_target!(|data: &[u8]| reprise_fuzz::check("times", data));
