//! Bytes of a client: cut into packets, read as hello, COM_CHANGE_USER, command, parameters, compressed
//! packets.
//! In whatever pieces they arrive, the packets are the same.
#![no_main]

use libfuzzer_sys::fuzz_target;
use meseta::protocol::fuzz;

fuzz_target!(|input: &[u8]| {
    let whole = fuzz::packets(input, input.len());
    assert!(!whole.contains(&usize::MAX), "a packet without payload");
    for piece_bytes in [1, 5] {
        assert_eq!(
            whole,
            fuzz::packets(input, piece_bytes),
            "pieces of {piece_bytes} bytes"
        );
    }
    let whole = fuzz::compressed(input, input.len());
    assert_eq!(whole, fuzz::compressed(input, 3), "pieces of 3 bytes");
    fuzz::command(input);
    fuzz::login(input);
    for count in [1, 5, 9] {
        fuzz::execute_parameters(input, count);
    }
});
