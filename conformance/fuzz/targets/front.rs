//! Any bytes as the text of statements: parsed, bound, planned and explained.
#![no_main]

use libfuzzer_sys::fuzz_target;
use meseta_fuzz::front::{Depth, run};
use meseta_fuzz::remember::remember;

fuzz_target!(|input: &[u8]| {
    remember(input);
    run(input, Depth::Plan);
});
