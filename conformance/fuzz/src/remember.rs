//! The input that runs now, in a file: a stack overflow kills the process before libFuzzer can say
//! what it was. The file begins with the length, 8 bytes, little-endian.

use std::fs::File;
use std::os::unix::fs::FileExt;
use std::sync::LazyLock;

/// Names the file; without it nothing is kept.
const VARIABLE: &str = "MESETA_FUZZ_LAST_INPUT";

static FILE: LazyLock<Option<File>> = LazyLock::new(|| {
    let path = std::env::var_os(VARIABLE)?;
    Some(File::create(path).expect("the file of the last input can be made"))
});

/// Keeps an input.
pub fn remember(input: &[u8]) {
    let Some(file) = &*FILE else { return };
    let mut bytes = (input.len() as u64).to_le_bytes().to_vec();
    bytes.extend_from_slice(input);
    file.write_all_at(&bytes, 0)
        .expect("the last input can be written");
}
