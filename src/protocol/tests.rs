//! Packets as hex, and what must hold for any bytes.

use std::borrow::Cow;
use std::fmt::Write;

use proptest::prelude::*;

use super::auth::{self, Password, Plugin, Salt};
use super::capabilities::{Capabilities, Status};
use super::column::{JsonAs, put_column};
use super::command::{self, Command, Execute, Query};
use super::handshake::{self, Hello, Login};
use super::packet::{Desync, PART_BYTES_MAX, PacketReader, PacketWriter};
use super::parameters::{Layout, Parameters};
use super::reply::{self, Outcome};
use super::row::RowEncoder;
use super::{fuzz, wire};
use crate::ceiling::{GRAIN_BYTES, Shortage};
use crate::error::{Code, Error, Result};
use crate::types::column_type::{IntWidth, LobSize};
use crate::types::temporal::zone::Zone;
use crate::types::{
    Attributes, ColumnType, Date, Datetime, Decimal, ResultColumn, Time, Timestamp, Value,
};

fn hex(bytes: &[u8]) -> String {
    bytes.iter().fold(String::new(), |mut text, byte| {
        write!(text, "{byte:02x}").unwrap();
        text
    })
}

fn unhex(text: &str) -> Vec<u8> {
    let digits: Vec<u8> = text
        .bytes()
        .filter(|byte| !byte.is_ascii_whitespace())
        .collect();
    let pairs = digits.chunks(2);
    pairs
        .map(|pair| u8::from_str_radix(std::str::from_utf8(pair).unwrap(), 16).unwrap())
        .collect()
}

fn check(fill: impl FnOnce(&mut Vec<u8>), expected: &str) {
    let mut out = Vec::new();
    fill(&mut out);
    assert_eq!(hex(&out), hex(&unhex(expected)));
}

fn feed(reader: &mut PacketReader, mut bytes: &[u8]) {
    while !bytes.is_empty() {
        let spare = reader.spare();
        let count = spare.len().min(bytes.len());
        spare[..count].copy_from_slice(&bytes[..count]);
        reader.filled(count);
        bytes = &bytes[count..];
    }
}

#[test]
fn length_encoded_integers() {
    for (number, expected) in [
        (0, "00"),
        (250, "fa"),
        (251, "fcfb00"),
        (0xFFFF, "fcffff"),
        (0x1_0000, "fd000001"),
        (0xFF_FFFF, "fdffffff"),
        (0x100_0000, "fe0000000100000000"),
        (u64::MAX, "feffffffffffffffff"),
    ] {
        check(|out| wire::put_lenenc(out, number), expected);
        let bytes = unhex(expected);
        assert_eq!(wire::Reader::new(&bytes).lenenc().unwrap(), number);
    }
}

#[test]
fn end_packets() {
    let outcome = Outcome {
        affected_rows: 3,
        last_insert_id: 300,
        status: Status::AUTOCOMMIT.with(Status::MORE_RESULTS),
        warnings_count: 2,
        info: "abc",
        changes: b"",
    };
    check(
        |out| reply::put_ok(out, &outcome),
        "00 03 fc2c01 0a00 0200 03616263",
    );
    let bare = Outcome {
        info: "",
        ..outcome
    };
    check(|out| reply::put_ok(out, &bare), "00 03 fc2c01 0a00 0200");
    let deof = Capabilities::DEPRECATE_EOF;
    check(
        |out| reply::put_end(out, deof, &bare),
        "fe 03 fc2c01 0a00 0200",
    );
    check(
        |out| reply::put_end(out, Capabilities::default(), &bare),
        "fe 0200 0a00",
    );
    let error = Error::new(Code::TableMissing, "no");
    check(
        |out| reply::put_error(out, &error),
        "ff 7a04 23 3432533032 6e6f",
    );
    check(
        |out| reply::put_error_for_greeting(out, &error),
        "ff 7a04 6e6f",
    );
    check(
        |out| reply::put_prepared(out, 1, 2, 3),
        "00 01000000 0200 0300 00 0000",
    );
    assert_eq!(reply::clipped("äöü", 3), "ä");
}

#[test]
fn greeting_and_auth_switch() {
    let salt = Salt::fixed(*b"abcdefghijklmnopqrst");
    let mut greeting = Vec::new();
    handshake::put_greeting(&mut greeting, 0x0102, &salt, Capabilities::OFFER);
    let version = handshake::SERVER_VERSION;
    let mut expected = vec![10];
    expected.extend_from_slice(version.as_bytes());
    expected.extend_from_slice(&unhex(
        "00 02010000 6162636465666768 00 efa7 2d 0200 ff0d 15",
    ));
    expected.extend_from_slice(&[0; 10]);
    expected.extend_from_slice(b"ijklmnopqrst\0caching_sha2_password\0");
    assert_eq!(hex(&greeting), hex(&expected));
    check(
        |out| handshake::put_auth_switch(out, Plugin::Native, &salt),
        "fe 6d7973716c5f6e61746976655f70617373776f726400
         6162636465666768696a6b6c6d6e6f7071727374 00",
    );
}

#[test]
fn a_salt_has_no_zero_byte_and_no_eighth_bit() {
    for _ in 0..1000 {
        assert!(
            Salt::random()
                .bytes()
                .iter()
                .all(|byte| (1..128).contains(byte))
        );
    }
}

fn hello_packet(flags: u32, tail: &[u8]) -> Vec<u8> {
    let mut packet = Vec::new();
    wire::put_u32(&mut packet, flags);
    wire::put_u32(&mut packet, 1 << 24);
    packet.push(255);
    packet.extend_from_slice(&[0; 23]);
    packet.extend_from_slice(tail);
    packet
}

#[test]
fn hello_is_read_by_the_flags_that_were_offered() {
    // Asks for everything, also for what was not offered; those flags mask out.
    let tail = b"root\0\x03abctest\0mysql_native_password\0\x0e\x04_pid\x0291\x03_os\x01x";
    let hello = Hello::parse(&hello_packet(u32::MAX, tail)).unwrap();
    assert_eq!(hello.capabilities, Capabilities::OFFER);
    assert_eq!(hello.login.user, "root");
    assert_eq!(hello.login.response, b"abc");
    assert_eq!(hello.login.database.as_deref(), Some("test"));
    assert_eq!(
        hello.login.plugin.as_deref(),
        Some(&b"mysql_native_password"[..])
    );
    assert_eq!(hello.login.attribute("_pid"), Some("91"));

    // node mysql: no plug-in named.
    let flags = 1 | 1 << 3 | 1 << 9 | 1 << 15;
    let hello = Hello::parse(&hello_packet(flags, b"root\0\x02xytest\0")).unwrap();
    assert_eq!(hello.login.plugin, None);
    assert_eq!(hello.login.response, b"xy");

    let old = Hello::parse(&hello_packet(1, b"root\0")).unwrap_err();
    assert_eq!(old.code(), Code::HandshakeFailed);
    let tls = Hello::parse(&hello_packet(1 << 9 | 1 << 11, b"")).unwrap_err();
    assert!(tls.message().contains("TLS"), "{tls}");
    assert_eq!(
        Hello::parse(b"\x01\x02").unwrap_err().code(),
        Code::HandshakeFailed
    );
}

#[test]
fn change_user_body() {
    let body = b"root\0\0test\0\xff\0caching_sha2_password\0\x07\x04_pid\x0142";
    let login = Login::parse_change_user(body, Capabilities::OFFER).unwrap();
    assert_eq!(login.user, "root");
    assert_eq!(login.database.as_deref(), Some("test"));
    assert!(login.response.is_empty());
    assert_eq!(login.plugin.as_deref(), Some(&b"caching_sha2_password"[..]));
    assert_eq!(login.attribute("_pid"), Some("4"));
    let short = Login::parse_change_user(b"u\0", Capabilities::OFFER).unwrap();
    assert_eq!(short.plugin, None);
}

#[test]
fn passwords_are_proven_only_by_the_right_answer() {
    let salt = Salt::random();
    for plugin in [Plugin::CachingSha2, Plugin::Native] {
        let password = Password::of("gehäim");
        let right = auth::response(plugin, &salt, "gehäim");
        assert!(password.is_proven(plugin, &salt, &right));
        assert!(!password.is_proven(plugin, &Salt::random(), &right));
        assert!(!password.is_proven(plugin, &salt, &auth::response(plugin, &salt, "x")));
        assert!(!password.is_proven(plugin, &salt, b""));
        assert!(!password.is_proven(plugin, &salt, &right[1..]));
        assert!(!Password::Empty.is_proven(plugin, &salt, &right));
        assert!(Password::Empty.is_proven(plugin, &salt, b""));
        assert!(Password::Empty.is_proven(plugin, &salt, b"\0"));
        assert!(!Password::unknowable().is_proven(plugin, &salt, &right));
    }
    assert_eq!(format!("{:?}", Password::of("a")), "Set(Verifiers)");
    // Known answer: mysql_native_password stores SHA1(SHA1('password')).
    let Password::Set(verifiers) = Password::of("password") else {
        panic!("a password was given");
    };
    assert_eq!(
        hex(&verifiers.native.unwrap()),
        "2470c0c06dee42fd1618bb99005adca2ec9d1e19"
    );
}

#[test]
#[expect(clippy::too_many_lines, reason = "a list of cases")]
fn commands() {
    let cases: &[(&[u8], Command<'_>)] = &[
        (b"\x01", Command::Quit),
        (b"\x02db", Command::InitDb(b"db")),
        (
            b"\x03SELECT 1",
            Command::Query(Query {
                text: b"SELECT 1",
                attributes: Vec::new(),
            }),
        ),
        // One NUL byte, of C's strings, is none of the statement.
        (
            b"\x03SELECT 1\0\0",
            Command::Query(Query {
                text: b"SELECT 1\0",
                attributes: Vec::new(),
            }),
        ),
        (b"\x16DO 1\0", Command::StmtPrepare(b"DO 1")),
        (
            b"\x04t\0%",
            Command::FieldList {
                table: b"t",
                wildcard: b"%",
            },
        ),
        (b"\x07\x2e", Command::Refresh(0x2E)),
        (b"\x0c\x05\0\0\0", Command::ProcessKill(5)),
        (b"\x0e", Command::Ping),
        (
            b"\x18\x01\0\0\0\x02\0data",
            Command::StmtSendLongData {
                id: 1,
                parameter: 2,
                data: b"data",
            },
        ),
        (b"\x19\x07\0\0\0", Command::StmtClose(7)),
        (b"\x1b\0\0", Command::SetMultiStatements(true)),
        (b"\x1b\x01\0", Command::SetMultiStatements(false)),
        (
            b"\x1c\x01\0\0\0\x0a\0\0\0",
            Command::StmtFetch {
                id: 1,
                rows_max: 10,
            },
        ),
        (b"\x1f", Command::ResetConnection),
        (
            b"\x17\x01\0\0\0\x01\x01\0\0\0rest",
            Command::StmtExecute(Execute {
                id: 1,
                wants_cursor: true,
                is_counted: false,
                parameters: b"rest",
            }),
        ),
    ];
    for (payload, expected) in cases {
        let parsed = Command::parse(payload, Capabilities::default()).unwrap();
        assert_eq!(format!("{parsed:?}"), format!("{expected:?}"));
    }
    assert_eq!(
        Command::parse(b"\x07\x80", Capabilities::default())
            .unwrap_err()
            .code(),
        Code::UnknownCommand
    );
    assert_eq!(
        Command::parse(b"\xee", Capabilities::default())
            .unwrap_err()
            .code(),
        Code::UnknownCommand
    );
    assert_eq!(
        Command::parse(b"", Capabilities::default())
            .unwrap_err()
            .code(),
        Code::UnknownCommand
    );
    assert_eq!(
        Command::parse(b"\x19\x01", Capabilities::default())
            .unwrap_err()
            .code(),
        Code::MalformedPacket
    );
}

#[test]
fn refresh_is_flush() {
    // mysqladmin refresh, flush-privileges, flush-status and flush-tables.
    assert_eq!(command::flush_statement(0x2E), "FLUSH LOGS");
    assert_eq!(command::flush_statement(0x01), "FLUSH PRIVILEGES");
    assert_eq!(command::flush_statement(0x10), "FLUSH STATUS");
    assert_eq!(command::flush_statement(0x04), "FLUSH TABLES");
    assert_eq!(
        command::flush_statement(0x13),
        "FLUSH PRIVILEGES, LOGS, STATUS"
    );
}

trait Plain {
    fn plain<'a>(&mut self, body: &'a [u8]) -> Result<Vec<Value<'a>>>;
}

impl Plain for Parameters {
    /// What clients without attributes send.
    fn plain<'a>(&mut self, body: &'a [u8]) -> Result<Vec<Value<'a>>> {
        let decoded = self.decode(body, Layout::Plain)?;
        assert!(decoded.attributes.is_empty());
        Ok(decoded.values)
    }
}

fn shown(values: &[Value<'_>]) -> String {
    let texts: Vec<String> = values.iter().map(|value| format!("{value:?}")).collect();
    texts.join(" ")
}

#[test]
fn execute_parameters_of_every_kind() {
    let mut parameters = Parameters::new(5);
    let first = unhex("02 01 0100 0600 0880 fd00 fc00   ff ffffffffffffffff 02c3a9 02c3a9");
    // Types name themselves once and serve later executions with flag 0.
    let expected = "Int(-1) Null UInt(18446744073709551615) Text(\"é\") Bytes([195, 169])";
    assert_eq!(shown(&parameters.plain(&first).unwrap()), expected);
    let again = unhex("16 00 05 0161");
    let expected = "Int(5) Null Null Text(\"a\") Null";
    assert_eq!(shown(&parameters.plain(&again).unwrap()), expected);

    let mut untyped = Parameters::new(1);
    assert_eq!(shown(&untyped.plain(&unhex("01 00")).unwrap()), "Null");
    assert_eq!(
        untyped.plain(&unhex("00 00 05")).unwrap_err().code(),
        Code::WrongArguments
    );
    assert_eq!(
        untyped.plain(&unhex("00 01 f300 05")).unwrap_err().code(),
        Code::WrongArguments
    );
    assert_eq!(
        untyped.plain(&unhex("00 01 0300 05")).unwrap_err().code(),
        Code::MalformedPacket
    );
    assert_eq!(
        shown(&untyped.plain(&unhex("00 00 05000000")).unwrap()),
        "Int(5)"
    );
    assert_eq!(shown(&Parameters::new(0).plain(b"").unwrap()), "");
}

/// NaN was stored as JSON that could not be read again.
#[test]
fn parameters_that_are_no_finite_numbers_are_refused() {
    let mut parameters = Parameters::new(1);
    for body in [
        "00 01 0500 000000000000f87f",
        "00 01 0500 000000000000f0ff",
        "00 01 0400 0000c07f",
        "00 01 0400 0000807f",
    ] {
        let error = parameters.plain(&unhex(body)).unwrap_err();
        assert_eq!(error.code(), Code::IllegalDouble, "{error}");
    }
    let body = unhex("00 01 0500 000000000000f83f");
    assert_eq!(shown(&parameters.plain(&body).unwrap()), "Double(1.5)");
}

#[test]
fn long_data_is_taken_once_and_its_errors_are_told_late() {
    let mut parameters = Parameters::new(2);
    parameters.append_long_data(0, b"ab", 100);
    parameters.append_long_data(0, b"cd", 100);
    let body = unhex("00 01 fb00 0100 07");
    assert_eq!(
        shown(&parameters.plain(&body).unwrap()),
        "Bytes([97, 98, 99, 100]) Int(7)"
    );
    // Gone now: the value is in the packet again.
    let body = unhex("00 00 017a 07");
    assert_eq!(
        shown(&parameters.plain(&body).unwrap()),
        "Bytes([122]) Int(7)"
    );
    parameters.append_long_data(0, &[0; 101], 100);
    assert_eq!(
        parameters.plain(&body).unwrap_err().code(),
        Code::PacketTooLarge
    );
    parameters.append_long_data(9, b"x", 100);
    assert_eq!(
        parameters.plain(&body).unwrap_err().code(),
        Code::WrongArguments
    );
    assert!(parameters.plain(&body).is_ok());
    // The first error is told, whatever comes behind it.
    parameters.append_long_data(0, b"ab", 100);
    parameters.fail_long_data(Error::new(Code::OutOfResources, "no memory"));
    parameters.append_long_data(9, b"x", 100);
    parameters.append_long_data(0, b"cd", 100);
    assert_eq!(
        parameters.plain(&body).unwrap_err().code(),
        Code::OutOfResources
    );
    assert!(parameters.plain(&body).is_ok());
}

fn column(ty: ColumnType) -> ResultColumn {
    ResultColumn {
        database: "d".to_owned(),
        table: "t".to_owned(),
        org_table: "o".to_owned(),
        name: "n".to_owned(),
        org_name: "m".to_owned(),
        ty,
        nullable: true,
        is_field: true,
        attributes: Attributes::default(),
        display_chars: 0,
        decimals: None,
    }
}

/// Of numbers MySQL says that they are binary where they are computed.
#[test]
fn expressions_of_numbers_are_binary() {
    let prefix = "03646566 0164 0174 016f 016e 016d 0c";
    let attributes = Attributes::PRIMARY_KEY
        .with_if(Attributes::AUTO_INCREMENT, true)
        .with_if(Attributes::PART_KEY, true);
    for (is_field, attributes, expected) in [
        (true, attributes, "3f00 14000000 08 0242 00 0000"),
        (
            false,
            Attributes::default(),
            "3f00 14000000 08 8000 00 0000",
        ),
    ] {
        let column = ResultColumn {
            is_field,
            attributes,
            ..column(ColumnType::BIGINT)
        };
        check(
            |out| put_column(out, &column, JsonAs::Json),
            &format!("{prefix} {expected}"),
        );
    }
}

#[test]
fn column_definitions() {
    let big = ResultColumn {
        nullable: false,
        attributes: Attributes::NO_DEFAULT,
        ..column(ColumnType::BIGINT_UNSIGNED)
    };
    let prefix = "03646566 0164 0174 016f 016e 016d 0c";
    check(
        |out| put_column(out, &big, JsonAs::Json),
        &format!("{prefix} 3f00 14000000 08 2110 00 0000"),
    );
    for (ty, expected) in [
        (ColumnType::Boolean, "3f00 01000000 01 0000 00 0000"),
        (
            ColumnType::Varchar {
                chars_max: Some(10),
            },
            "2d00 28000000 fd 0000 00 0000",
        ),
        (
            ColumnType::Char { chars_max: 3 },
            "2d00 0c000000 fe 0000 00 0000",
        ),
        (
            ColumnType::Text(LobSize::Regular),
            "2d00 fcff0300 fc 1000 00 0000",
        ),
        (
            ColumnType::Blob(LobSize::Long),
            "3f00 ffffffff fc 9000 00 0000",
        ),
        (
            ColumnType::Decimal {
                precision: 10,
                scale: 2,
            },
            "3f00 0c000000 f6 0000 02 0000",
        ),
        (ColumnType::Double, "3f00 16000000 05 0000 1f 0000"),
        (
            ColumnType::Datetime { fsp: 6 },
            "3f00 1a000000 0c 8000 06 0000",
        ),
        (ColumnType::Year, "3f00 04000000 0d 6000 00 0000"),
        (ColumnType::Json, "3f00 ffffffff f5 9000 00 0000"),
        (ColumnType::Null, "3f00 00000000 06 8000 00 0000"),
    ] {
        let expected = format!("{prefix} {expected}");
        check(|out| put_column(out, &column(ty), JsonAs::Json), &expected);
    }
    let text = format!("{prefix} 2d00 ffffffff fc 1000 00 0000");
    check(
        |out| put_column(out, &column(ColumnType::Json), JsonAs::LongText),
        &text,
    );
}

#[test]
fn names_of_columns_are_cut() {
    let mut long = column(ColumnType::BIGINT);
    long.name = "ä".repeat(20_000_000 / 2);
    let mut out = Vec::new();
    put_column(&mut out, &long, JsonAs::Json);
    assert!(out.len() < 300, "{}", out.len());
}

#[test]
fn text_rows() {
    let values = [
        Value::Null,
        Value::Int(-42),
        Value::UInt(u64::MAX),
        Value::Text(Cow::Borrowed("é")),
        Value::Bytes(Cow::Borrowed(&[0, 255])),
        Value::Double(1.5),
    ];
    let encoder = RowEncoder::text(values.len());
    let mut out = Vec::new();
    encoder.encode(&values, &Zone::UTC, &mut out).unwrap();
    let expected =
        unhex("fb 032d3432 143138343436373434303733373039353531363135 02c3a9 0200ff 03312e35");
    assert_eq!(hex(&out), hex(&expected));
    assert!(encoder.encode(&values[1..], &Zone::UTC, &mut out).is_err());
}

#[test]
fn binary_rows() {
    let int = |width, unsigned| ColumnType::Int { width, unsigned };
    let cases = [
        (ColumnType::BIGINT, Value::Int(-2), "feffffffffffffff"),
        (ColumnType::BIGINT, Value::Null, ""),
        (int(IntWidth::Tiny, false), Value::Int(-1), "ff"),
        (int(IntWidth::Tiny, true), Value::UInt(200), "c8"),
        (int(IntWidth::Small, false), Value::Int(258), "0201"),
        (int(IntWidth::Medium, false), Value::Int(-1), "ffffffff"),
        (ColumnType::Boolean, Value::Int(1), "01"),
        (ColumnType::Year, Value::Year(2024), "e807"),
        (ColumnType::Double, Value::Int(1), "000000000000f03f"),
        (ColumnType::Float, Value::Float(1.0), "0000803f"),
        (
            ColumnType::Varchar { chars_max: None },
            Value::Int(7),
            "0137",
        ),
    ];
    let encoder = RowEncoder::binary(cases.iter().map(|(ty, _, _)| ty));
    let values: Vec<Value<'_>> = cases.iter().map(|(_, value, _)| value.clone()).collect();
    let cells: String = cases.iter().map(|(_, _, hex)| *hex).collect();
    let mut out = Vec::new();
    encoder.encode(&values, &Zone::UTC, &mut out).unwrap();
    assert_eq!(hex(&out), format!("000800{cells}"));

    let tiny = [int(IntWidth::Tiny, false)];
    let wrong = RowEncoder::binary(tiny.iter()).encode(&[Value::Int(300)], &Zone::UTC, &mut out);
    assert_eq!(wrong.unwrap_err().code(), Code::Unknown);
}

#[test]
fn rows_have_a_limit() {
    let cell = Value::Text(Cow::Owned("x".repeat(999)));
    // With its length a cell takes 1002 bytes.
    let types = vec![ColumnType::Varchar { chars_max: None }; 3];
    let columns: Vec<ResultColumn> = types.iter().cloned().map(column).collect();
    let dynamic = [vec![column(ColumnType::Dynamic)], columns[1..].to_vec()].concat();
    for (encoder, frame) in [
        (RowEncoder::text(3), 0),
        (RowEncoder::text_of(&dynamic), 0),
        (RowEncoder::binary(types.iter()), 2),
    ] {
        let mut out = vec![0; 5000];
        let row = [cell.clone(), cell.clone(), cell.clone()];
        let bytes = 3 * 1002 + frame;
        let most = encoder.clone().of_at_most(bytes);
        most.encode(&row, &Zone::UTC, &mut out).unwrap();
        assert_eq!(out.len(), 5000 + bytes);
        let less = encoder.of_at_most(bytes - 1);
        let error = less.encode(&row, &Zone::UTC, &mut out).unwrap_err();
        assert_eq!(error.code(), Code::PacketTooLarge);
        let told = format!("more than {bytes} bytes, the most is {}", bytes - 1);
        assert!(error.message().ends_with(&told), "{error}");
    }
    // A long row is looked at before it is whole.
    let megabyte = Value::Text(Cow::Owned("x".repeat(1 << 20)));
    let mut out = Vec::new();
    let encoder = RowEncoder::text(100).of_at_most(2 << 20);
    let row = vec![megabyte; 100];
    encoder.encode(&row, &Zone::UTC, &mut out).unwrap_err();
    assert!(out.len() < 4 << 20, "{}", out.len());
}

#[test]
fn long_payloads_are_split_and_gathered_again() {
    for bytes in [
        PART_BYTES_MAX - 1,
        PART_BYTES_MAX,
        PART_BYTES_MAX + 1,
        2 * PART_BYTES_MAX,
    ] {
        let payload: Vec<u8> = (0..bytes).map(|n| u8::try_from(n % 251).unwrap()).collect();
        let mut writer = PacketWriter::default();
        writer.set_sequence(254);
        writer.packet(|out| out.extend_from_slice(&payload));
        writer.packet(|out| out.push(9));
        let mut reader = PacketReader::new(64 << 20);
        feed(&mut reader, writer.bytes());
        let packet = reader.next(254).unwrap().unwrap();
        assert!(reader.payload(&packet).unwrap() == payload);
        assert_eq!(
            packet.sequence,
            254_u8.wrapping_add(u8::try_from(bytes / PART_BYTES_MAX).unwrap())
        );
        let packet = reader
            .next(packet.sequence.wrapping_add(1))
            .unwrap()
            .unwrap();
        assert_eq!(reader.payload(&packet), Some(&[9][..]));
        reader.shrink();
        assert!(reader.next(0).unwrap().is_none());
    }
}

/// A large packet takes few reads, also where the reader goes idle between them.
#[test]
fn large_packets_are_read_in_large_pieces() {
    const BYTES: usize = 1 << 20;
    let mut writer = PacketWriter::default();
    writer.packet(|out| out.extend(std::iter::repeat_n(7, BYTES)));
    writer.set_sequence(0);
    writer.packet(|out| out.push(9));
    let (mut reader, mut bytes, mut reads_count) = (PacketReader::new(BYTES), writer.bytes(), 0);
    let packet = loop {
        reader.shrink();
        let spare = reader.spare();
        let count = spare.len().min(bytes.len());
        spare[..count].copy_from_slice(&bytes[..count]);
        reader.filled(count);
        bytes = &bytes[count..];
        reads_count += 1;
        if let Some(packet) = reader.next(0).unwrap() {
            break packet;
        }
    };
    assert!(reads_count <= BYTES / (64 << 10) + 2, "{reads_count}");
    assert_eq!(reader.payload(&packet).map(<[u8]>::len), Some(BYTES));
    feed(&mut reader, bytes);
    assert!(reader.next(0).unwrap().is_some());
    reader.shrink();
    assert!(reader.spare().len() <= 4 << 10);
}

#[test]
fn too_long_packets_are_skipped_and_the_stream_lives_on() {
    for bytes in [101, 70_000, PART_BYTES_MAX + 5] {
        let mut writer = PacketWriter::default();
        writer.packet(|out| out.extend(std::iter::repeat_n(7, bytes)));
        writer.set_sequence(0);
        writer.packet(|out| out.push(9));
        let mut reader = PacketReader::new(100);
        feed(&mut reader, writer.bytes());
        let packet = reader.next(0).unwrap().unwrap();
        assert_eq!(reader.payload(&packet), None);
        assert_eq!(reader.head(&packet), [7; 7]);
        assert!(reader.want_of_memory(&packet).is_none());
        let packet = reader.next(0).unwrap().unwrap();
        assert_eq!(reader.payload(&packet), Some(&[9][..]));
    }
}

#[test]
fn packets_without_memory_are_skipped_too() {
    for bytes in [70_000, 300_000, PART_BYTES_MAX + 5] {
        let mut writer = PacketWriter::default();
        writer.packet(|out| out.extend((0..bytes).map(|n| u8::try_from(n % 251).unwrap())));
        writer.set_sequence(0);
        writer.packet(|out| out.push(9));
        let mut reader = PacketReader::new(64 << 20).admitted_by(|bytes| Err(Shortage::of(bytes)));
        let mut packet = None;
        for piece in writer.bytes().chunks(4096) {
            feed(&mut reader, piece);
            packet = packet.or_else(|| reader.next(0).unwrap());
        }
        let packet = packet.unwrap();
        assert_eq!(reader.payload(&packet), None);
        assert_eq!(reader.head(&packet), [0, 1, 2, 3, 4, 5, 6]);
        let refusal = reader.want_of_memory(&packet).unwrap();
        let asked = Shortage::of(GRAIN_BYTES).error("a packet from the client");
        assert_eq!(refusal.message(), asked.message());
        assert_eq!(refusal.code(), Code::OutOfResources);
        let packet = reader.next(0).unwrap().unwrap();
        assert_eq!(reader.payload(&packet), Some(&[9][..]));
    }
}

#[test]
fn wrong_sequence_numbers_end_the_stream() {
    let mut reader = PacketReader::new(100);
    feed(&mut reader, &[1, 0, 0, 3, 14]);
    assert_eq!(reader.next(0).unwrap_err(), Desync::OutOfOrder);
}

#[test]
fn copied_packets_fit_only_where_the_sequence_is_the_same() {
    let mut writer = PacketWriter::default();
    writer.packet(|out| out.push(1));
    let (start, first) = (writer.bytes_count(), writer.sequence());
    writer.packet(|out| out.push(2));
    let copy = writer.copy_since(start, first);
    assert!(!writer.append_packets(&copy));
    writer.set_sequence(first);
    assert!(writer.append_packets(&copy));
    assert_eq!(
        hex(writer.bytes()),
        "0100000001010000010201000001 02".replace(' ', "")
    );
}

proptest! {
    #[test]
    fn packets_survive_any_chunking(
        payloads in prop::collection::vec(prop::collection::vec(any::<u8>(), 0..300), 0..20),
        big in 0_usize..200_000,
        cuts in prop::collection::vec(1_usize..5000, 1..20),
    ) {
        let mut payloads = payloads;
        payloads.push(vec![5; big]);
        payloads.push(vec![6]);
        let mut writer = PacketWriter::default();
        for payload in &payloads {
            writer.set_sequence(0);
            writer.packet(|out| out.extend_from_slice(payload));
        }
        let mut reader = PacketReader::new(1 << 20);
        let mut got = Vec::new();
        let mut rest = writer.bytes();
        for cut in cuts.iter().cycle() {
            let (now, later) = rest.split_at((*cut).min(rest.len()));
            feed(&mut reader, now);
            rest = later;
            while let Some(packet) = reader.next(0).unwrap() {
                got.push(reader.payload(&packet).unwrap().to_vec());
                if cut % 3 == 0 {
                    reader.shrink();
                }
            }
            if rest.is_empty() {
                break;
            }
        }
        prop_assert!(!reader.has_unread());
        prop_assert_eq!(got, payloads);
    }

    #[test]
    fn any_bytes_are_decoded_or_refused(
        bytes in prop::collection::vec(any::<u8>(), 0..400),
        piece in 1_usize..50,
        count in 0_u16..40,
    ) {
        fuzz::packets(&bytes, piece);
        fuzz::command(&bytes);
        fuzz::login(&bytes);
        fuzz::execute_parameters(&bytes, count);
    }

    #[test]
    fn any_execute_with_known_types_is_decoded_or_refused(
        types in prop::collection::vec((0_u8..=255, prop::sample::select(vec![0_u8, 128])), 1..6),
        values in prop::collection::vec(0_u8..16, 0..60),
    ) {
        let mut body = vec![0, 1];
        for (code, flags) in &types {
            body.extend_from_slice(&[*code, *flags]);
        }
        body.extend_from_slice(&values);
        fuzz::execute_parameters(&body, u16::try_from(types.len()).unwrap());
    }
}

#[test]
fn a_first_answer_is_verified_or_asked_for_again() {
    use auth::FirstAnswer::{Switch, Verify};
    let hello = auth::FirstAnswer::of_hello;
    let change = auth::FirstAnswer::of_change_user;
    let (sha2, native) = (
        Some(&b"caching_sha2_password"[..]),
        Some(&b"mysql_native_password"[..]),
    );
    assert_eq!(hello(None, b""), Verify(Plugin::Native));
    assert_eq!(hello(sha2, b""), Verify(Plugin::CachingSha2));
    assert_eq!(hello(native, &[1; 20]), Verify(Plugin::Native));
    assert_eq!(hello(native, b""), Switch(Plugin::Native));
    assert_eq!(
        hello(Some(b"dialog"), &[1; 20]),
        Switch(Plugin::CachingSha2)
    );
    assert_eq!(change(sha2, b""), Switch(Plugin::CachingSha2));
    assert_eq!(change(sha2, &[1; 32]), Verify(Plugin::CachingSha2));
    assert_eq!(change(native, &[1; 20]), Verify(Plugin::Native));
    assert_eq!(change(None, b""), Verify(Plugin::Native));
}

fn moment(text: (u16, u8, u8), micros_of_day: u64, fsp: u8) -> Value<'static> {
    let date = Date::new(text.0, text.1, text.2).unwrap();
    Value::Datetime(Datetime::new(date, micros_of_day, fsp).unwrap())
}

#[test]
#[expect(clippy::too_many_lines, reason = "a table of cases")]
fn binary_dates_and_times() {
    let fsp = 6;
    let hour = 3_600_000_000_u64;
    let cases = [
        (
            ColumnType::Date,
            Value::Date(Date::new(2024, 2, 29).unwrap()),
            "04e807021d",
        ),
        (ColumnType::Date, Value::Date(Date::ZERO), "00"),
        (
            ColumnType::Datetime { fsp },
            moment((2024, 2, 29), 0, 6),
            "04e807021d",
        ),
        (
            ColumnType::Datetime { fsp },
            moment((2024, 2, 29), hour, 6),
            "07e807021d010000",
        ),
        (
            ColumnType::Datetime { fsp },
            moment((2024, 2, 29), 1, 6),
            "0be807021d00000001000000",
        ),
        (
            ColumnType::Datetime { fsp: 0 },
            moment((2024, 2, 29), 1, 0),
            "04e807021d",
        ),
        (ColumnType::Datetime { fsp }, moment((0, 0, 0), 0, 6), "00"),
        (ColumnType::Time { fsp }, Value::Time(Time::ZERO), "00"),
        (
            ColumnType::Time { fsp },
            Value::Time(Time::from_micros(-25 * 3_600_000_000, 6).unwrap()),
            "080101000000010000",
        ),
        (
            ColumnType::Time { fsp },
            Value::Time(Time::from_micros(1_500_000, 1).unwrap()),
            "0c000000000000000120a10700",
        ),
        (
            ColumnType::Timestamp { fsp: 0 },
            Value::Timestamp(Timestamp::from_micros(86_400_000_000, 0).unwrap()),
            "07b2070102010000",
        ),
        (
            ColumnType::Decimal {
                precision: 5,
                scale: 2,
            },
            Value::Decimal(Decimal::parse("-12.50").unwrap()),
            "062d31322e3530",
        ),
    ];
    let zone = Zone::parse("+01:00").unwrap();
    for (ty, value, expected) in cases {
        let encoder = RowEncoder::binary(std::iter::once(&ty));
        let mut out = Vec::new();
        encoder.encode(&[value], &zone, &mut out).unwrap();
        assert_eq!(hex(&out), format!("0000{expected}"));
    }
}

#[test]
fn execute_parameters_that_are_dates() {
    let mut parameters = Parameters::new(6);
    let body = unhex(
        "00 01 0a00 0c00 0700 0b00 f600 0b00
         04e807021d 07e807021d010203 0be807021d01020301000000 080101000000010000 042d312e35 00",
    );
    let values = parameters.plain(&body).unwrap();
    let texts: Vec<_> = values
        .iter()
        .map(|value| value.to_text().into_owned())
        .collect();
    assert_eq!(
        texts,
        [
            "2024-02-29",
            "2024-02-29 01:02:03",
            "2024-02-29 01:02:03.000001",
            "-25:00:00",
            "-1.5",
            "00:00:00"
        ]
    );
    for (body, code) in [
        ("00 01 0a00 04e807021e", Code::IncorrectTypeValue),
        ("00 01 0c00 07e807021d180000", Code::IncorrectTypeValue),
        ("00 01 0b00 0800ffffffff010000", Code::IncorrectTypeValue),
        ("00 01 0c00 05e807021d18", Code::MalformedPacket),
        ("00 01 f600 0178", Code::IncorrectValue),
    ] {
        let mut parameters = Parameters::new(1);
        assert_eq!(
            parameters.plain(&unhex(body)).unwrap_err().code(),
            code,
            "{body}"
        );
    }
    let zero = Parameters::new(1)
        .plain(&unhex("00 01 0c00 00"))
        .unwrap()
        .remove(0)
        .to_text()
        .into_owned();
    assert_eq!(zero, "0000-00-00 00:00:00");
}

proptest! {
    #[test]
    fn dates_and_times_are_shown_as_types_shows_them(
        packed in any::<u64>(),
        micros in -Time::MICROS_MAX..=Time::MICROS_MAX,
        at in 1_000_000_i64..2_000_000_000_000_000,
        fsp in 0_u8..=6,
        offset in -12_i32..=12,
    ) {
        let zone = Zone::parse(&format!("{offset:+03}:30")).unwrap();
        let mut values = vec![
            Value::Time(Time::from_micros(micros, fsp).unwrap()),
            Value::Timestamp(Timestamp::from_micros(at, fsp).unwrap()),
            Value::Year(u16::try_from(packed % 2156).unwrap()),
            Value::Double(f64::from_bits(packed)),
        ];
        let parts = (packed % 10_000, packed / 10_000 % 13, packed / 130_000 % 32);
        let parts = (u16::try_from(parts.0), u8::try_from(parts.1), u8::try_from(parts.2));
        if let Some(date) = Date::new(parts.0.unwrap(), parts.1.unwrap(), parts.2.unwrap()) {
            values.push(Value::Date(date));
            let micros_of_day = packed % 86_400_000_000;
            values.push(Value::Datetime(Datetime::new(date, micros_of_day, fsp).unwrap()));
        }
        for value in values {
            let mut expected = vec![0];
            value.write_text_in(&zone, &mut expected);
            expected[0] = u8::try_from(expected.len() - 1).unwrap();
            let mut out = Vec::new();
            RowEncoder::text(1).encode(&[value], &zone, &mut out).unwrap();
            prop_assert_eq!(out, expected);
        }
    }
}
