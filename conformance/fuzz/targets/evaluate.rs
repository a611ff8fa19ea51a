//! Any bytes as the text of statements: parsed, bound, and evaluated over rows that are made up.
#![no_main]

use libfuzzer_sys::fuzz_target;
use meseta_fuzz::front::{Depth, run};
use meseta_fuzz::remember::remember;

fuzz_target!(|input: &[u8]| {
    remember(input);
    run(input, Depth::Evaluate);
});
