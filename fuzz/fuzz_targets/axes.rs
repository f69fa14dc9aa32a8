//! The target `axes` for libFuzzer.

#![no_main]

libfuzzer_sys::fuzz_target!(|data: &[u8]| upsweep_fuzz::axes(data));
