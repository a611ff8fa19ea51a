//! Dates and times: their texts, numbers, calendars and zones.

use proptest::prelude::*;

use super::calendar::WeekMode;
use super::zone::LocalTime;
use super::*;
use crate::types::Decimal;

fn date(text: &str) -> Date {
    Date::parse(text, DateRules::LENIENT)
        .unwrap_or_else(|| panic!("no date: {text}"))
        .value
}

fn datetime(text: &str) -> Datetime {
    let parsed = ParsedDatetime::parse(text, DateRules::LENIENT);
    parsed
        .unwrap_or_else(|| panic!("no datetime: {text}"))
        .datetime
}

/// The value as shown, `!` after it when other text follows, or `none`.
fn shown<T: std::fmt::Display>(parsed: Option<Parsed<T>>) -> String {
    match parsed {
        Some(Parsed {
            value,
            is_truncated,
        }) => {
            format!("{value}{}", if is_truncated { "!" } else { "" })
        }
        None => "none".into(),
    }
}

#[test]
fn datetimes_are_read() {
    let cases = [
        ("2024-02-29 10:11:12", 0, "2024-02-29 10:11:12"),
        ("2024-02-29", 0, "2024-02-29 00:00:00"),
        ("2024-2-9 1:2:3", 0, "2024-02-09 01:02:03"),
        ("2024/02.29@10+11^12", 0, "2024-02-29 10:11:12"),
        ("2024-02-29T10:11:12.5", 1, "2024-02-29 10:11:12.5"),
        ("  2024-02-29   10:11", 0, "2024-02-29 10:11:00"),
        ("20240229", 0, "2024-02-29 00:00:00"),
        ("240229", 0, "2024-02-29 00:00:00"),
        ("700229", 0, "none"),
        ("700228", 0, "1970-02-28 00:00:00"),
        ("20240229101112", 0, "2024-02-29 10:11:12"),
        ("240229101112.25", 2, "2024-02-29 10:11:12.25"),
        ("20240229T101112", 0, "2024-02-29 10:11:12"),
        ("69-1-1", 0, "2069-01-01 00:00:00"),
        ("70-1-1", 0, "1970-01-01 00:00:00"),
        ("1-1-1", 0, "0001-01-01 00:00:00"),
        (
            "2024-12-31 23:59:59.9999995",
            6,
            "2025-01-01 00:00:00.000000",
        ),
        ("2024-12-31 23:59:59.95", 1, "2025-01-01 00:00:00.0"),
        ("9999-12-31 23:59:59.5", 0, "none"),
        ("2024-02-29 10:11:12 tail", 0, "2024-02-29 10:11:12!"),
        ("2024-02-29-", 0, "2024-02-29 00:00:00!"),
        ("0000-00-00", 0, "0000-00-00 00:00:00"),
        ("2024-00-00", 0, "2024-00-00 00:00:00"),
        ("2023-02-29", 0, "none"),
        ("0000-02-29", 0, "none"),
        ("2024-13-01", 0, "none"),
        ("2024-01-01 24:00:00", 0, "none"),
        ("2024-01-01 10:60:00", 0, "none"),
        ("2024-01", 0, "none"),
        ("x", 0, "none"),
        ("", 0, "none"),
        ("10000-01-01", 0, "none"),
    ];
    for (text, fsp, expected) in cases {
        assert_eq!(
            shown(Datetime::parse(text, fsp, DateRules::LENIENT)),
            expected,
            "{text}"
        );
    }
}

#[test]
fn zero_dates_follow_the_rules() {
    let cases = [
        ("0000-00-00", true, false),
        ("2024-00-01", false, true),
        ("2024-01-00", false, true),
    ];
    for (text, is_zero, has_zero) in cases {
        let only_zero = DateRules {
            no_zero_date: true,
            no_zero_in_date: false,
        };
        let only_in = DateRules {
            no_zero_date: false,
            no_zero_in_date: true,
        };
        assert_eq!(Date::parse(text, only_zero).is_none(), is_zero, "{text}");
        assert_eq!(Date::parse(text, only_in).is_none(), has_zero, "{text}");
        assert!(Date::parse(text, DateRules::STRICT).is_none(), "{text}");
    }
}

#[test]
fn offsets_are_read() {
    let cases = [
        ("2024-01-01 10:11:12+01:00", Some(3600), false),
        ("2024-01-01 10:11:12.5-13:59", Some(-50_340), false),
        ("2024-01-01T10:11+14:00", Some(50_400), false),
        ("2024-01-01 10:11:12+14:01", None, true),
        ("2024-01-01 10:11:12 +01:00", None, true),
    ];
    for (text, offset, is_truncated) in cases {
        let parsed = ParsedDatetime::parse(text, DateRules::STRICT).unwrap();
        assert_eq!(
            (parsed.offset_seconds, parsed.is_truncated),
            (offset, is_truncated),
            "{text}"
        );
    }
}

#[test]
fn times_are_read() {
    let cases = [
        ("10:11:12", "10:11:12.000000"),
        ("-10:11:12.5", "-10:11:12.500000"),
        ("10:11", "10:11:00.000000"),
        ("101112", "10:11:12.000000"),
        ("1112", "00:11:12.000000"),
        ("12", "00:00:12.000000"),
        (".5", "00:00:00.500000"),
        ("1 10:11:12", "34:11:12.000000"),
        ("1 10", "34:00:00.000000"),
        ("34 22:59:59", "838:59:59.000000"),
        ("839:00:00", "838:59:59.000000!"),
        ("-838:59:59.9", "-838:59:59.000000!"),
        ("99999999999999999999999", "838:59:59.000000!"),
        ("10:11:12.000012", "10:11:12.000012"),
        ("2024-01-01 10:11:12", "10:11:12.000000"),
        ("20240101101112", "10:11:12.000000"),
        ("10:60:00", "none"),
        ("10:11:12abc", "10:11:12.000000!"),
        ("abc", "none"),
        ("-", "none"),
        ("", "none"),
    ];
    for (text, expected) in cases {
        assert_eq!(shown(Time::parse(text, 6)), expected, "{text}");
    }
}

#[test]
fn numbers_are_dates() {
    let cases: [(u64, &str); 9] = [
        (0, "0000-00-00 00:00:00"),
        (101, "2000-01-01 00:00:00"),
        (691_231, "2069-12-31 00:00:00"),
        (700_100, "none"),
        (20_240_229, "2024-02-29 00:00:00"),
        (20_230_229, "none"),
        (240_229_101_112, "2024-02-29 10:11:12"),
        (20_240_229_101_112, "2024-02-29 10:11:12"),
        (20_240_229_241_112, "none"),
    ];
    for (number, expected) in cases {
        let value = Datetime::from_number(number, DateRules::LENIENT);
        let text = value.map_or("none".into(), |(value, _)| value.to_string());
        assert_eq!(text, expected, "{number}");
    }
    let number = Decimal::parse("20240229101112.5").unwrap();
    let (value, has_time) = Datetime::from_decimal(number, DateRules::LENIENT).unwrap();
    assert_eq!(
        (value.to_string().as_str(), has_time),
        ("2024-02-29 10:11:12.5", true)
    );
    assert_eq!(value.to_decimal(), number);
    assert_eq!(shown(Time::from_number(-101_112)), "-10:11:12");
    assert_eq!(shown(Time::from_number(9_999_999)), "838:59:59!");
    assert_eq!(shown(Time::from_number(20_240_229_101_112)), "10:11:12");
    assert_eq!(shown(Time::from_number(106_000)), "none");
    let number = Decimal::parse("-101112.5").unwrap();
    let time = Time::from_decimal(number).unwrap().value;
    assert_eq!(
        (time.to_string().as_str(), time.to_decimal()),
        ("-10:11:12.5", number)
    );
}

#[test]
fn days_are_counted_as_mysql_does() {
    // Values of MySQL's TO_DAYS and of its manual.
    let cases = [
        ("0000-01-01", 1),
        ("0000-03-01", 60),
        ("0001-01-01", 366),
        ("1970-01-01", 719_528),
        ("2007-10-07", 733_321),
        ("9999-12-31", 3_652_424),
    ];
    for (text, days) in cases {
        assert_eq!(date(text).to_days(), Some(days), "{text}");
        let back = if days < 366 { None } else { Some(date(text)) };
        assert_eq!(Date::from_days(days), back, "{text}");
    }
    assert_eq!(Date::from_days(3_652_425), None);
    assert_eq!(date("2026-11-21").weekday(), Some(5));
    assert_eq!(date("2024-12-31").day_of_year(), 366);
    assert_eq!(date("2024-02-01").last_day(), Some(date("2024-02-29")));
    assert_eq!(date("2024-00-01").to_days(), None);
}

#[test]
fn weeks_follow_their_mode() {
    // The first two are the manual's examples.
    let cases = [
        ("2008-02-20", 1, (2008, 8)),
        ("2000-01-01", 0, (2000, 0)),
        ("2000-01-01", 2, (1999, 52)),
        ("2000-01-01", 3, (1999, 52)),
        ("2008-12-31", 1, (2008, 53)),
        ("2008-12-31", 3, (2009, 1)),
        ("1987-01-01", 0, (1987, 0)),
        ("2024-12-30", 3, (2025, 1)),
        ("2024-12-29", 4, (2024, 53)),
        ("2024-01-01", 5, (2024, 1)),
        ("2024-01-07", 6, (2024, 2)),
        ("2023-01-01", 7, (2022, 52)),
    ];
    for (text, mode, expected) in cases {
        assert_eq!(
            date(text).week(WeekMode::new(mode)),
            Some(expected),
            "{text} mode {mode}"
        );
    }
}

#[test]
fn arithmetic_stays_in_the_calendar() {
    assert_eq!(date("2024-01-31").add_months(1), Some(date("2024-02-29")));
    assert_eq!(date("2024-03-31").add_months(-13), Some(date("2023-02-28")));
    assert_eq!(date("9999-12-01").add_months(1), None);
    assert_eq!(date("2024-12-31").add_days(1), Some(date("2025-01-01")));
    assert_eq!(date("9999-12-31").add_days(1), None);
    assert_eq!(date("2024-00-00").add_days(1), None);
    let later = datetime("2024-12-31 23:59:59").add_micros(MICROS_PER_SECOND);
    assert_eq!(later, Some(datetime("2025-01-01 00:00:00")));
    let earlier = datetime("2024-01-01 00:00:00");
    assert_eq!(
        datetime("2024-01-02 00:00:01").micros_since(earlier),
        Some(86_401_000_000)
    );
    let (noon, _) = Time::clipped(-12 * 3_600_000_000, 0);
    let before = Datetime::from_date_time(date("2024-01-01"), noon);
    assert_eq!(before, Some(datetime("2023-12-31 12:00:00")));
    assert_eq!(
        datetime("1999-12-31 23:59:59.499").to_date_rounded(),
        date("1999-12-31")
    );
    assert_eq!(
        datetime("1999-12-31 23:59:59.5").to_date_rounded(),
        date("2000-01-01")
    );
}

#[test]
fn zones_shift_timestamps() {
    let at = Timestamp::from_micros(1_700_000_000_000_000, 0).unwrap();
    let cases = [
        ("+00:00", "2023-11-14 22:13:20"),
        ("-01:30", "2023-11-14 20:43:20"),
        ("+14:00", "2023-11-15 12:13:20"),
        ("Asia/Shanghai", "2023-11-15 06:13:20"),
        ("America/New_York", "2023-11-14 17:13:20"),
    ];
    for (name, expected) in cases {
        let zone = Zone::parse(name).unwrap();
        let local = zone.to_datetime(at);
        assert_eq!(local.to_string(), expected, "{name}");
        assert_eq!(zone.to_timestamp(local), LocalTime::Once(at), "{name}");
        assert_eq!(zone.to_string(), name);
    }
    for text in [
        "+14:01",
        "-14:00",
        "Mars/Base",
        "",
        "../etc",
        "+1",
        "/etc/passwd",
    ] {
        let error = Zone::parse(text).unwrap_err();
        assert_eq!(error.code().errno(), 1298, "{text}");
    }
    assert_eq!(Zone::parse("system").unwrap().to_string(), "SYSTEM");
    assert_eq!(Zone::UTC.to_datetime(Timestamp::ZERO), Datetime::ZERO);
    assert_eq!(
        Zone::UTC.to_timestamp(Datetime::ZERO),
        LocalTime::Once(Timestamp::ZERO)
    );
}

#[test]
fn gaps_and_ends_of_local_time_are_told() {
    let zone = Zone::parse("Europe/Berlin").unwrap();
    let jump = Timestamp::from_micros(1_711_846_800_000_000, 0).unwrap();
    let gap = zone.to_timestamp(datetime("2024-03-31 02:30:00"));
    assert_eq!(gap, LocalTime::Gap(jump));
    let fold = zone
        .to_timestamp(datetime("2024-10-27 02:30:00"))
        .nearest()
        .unwrap();
    assert_eq!(fold.to_string(), "2024-10-27 00:30:00");
    for (text, is_some) in [
        ("1970-01-01 00:00:00", false),
        ("1970-01-01 00:00:01", true),
        ("2038-01-19 03:14:07.999999", true),
        ("2038-01-19 03:14:08", false),
        ("2024-00-01", false),
    ] {
        assert_eq!(
            Zone::UTC.to_timestamp(datetime(text)).nearest().is_some(),
            is_some,
            "{text}"
        );
    }
}

fn any_datetime() -> impl Strategy<Value = Datetime> {
    (
        0u16..=9999,
        0u8..=12,
        0u8..=28,
        0u64..86_400_000_000,
        0u8..=6,
    )
        .prop_map(|(year, month, day, micros, fsp)| {
            let date = Date::new(year, month, day).unwrap();
            Datetime::new(date, micros, fsp).unwrap().truncate(fsp)
        })
}

proptest! {
    #[test]
    fn packed_forms_round_trip_and_order(a in any_datetime(), b in any_datetime()) {
        prop_assert_eq!(Datetime::from_packed(a.packed(), a.fsp()), Some(a));
        prop_assert_eq!(Date::from_packed(a.date().packed()), Some(a.date()));
        prop_assert_eq!(a.cmp(&b), a.to_string().get(..19).cmp(&b.to_string().get(..19))
            .then(a.micros().cmp(&b.micros())));
    }

    #[test]
    fn texts_round_trip(a in any_datetime()) {
        let parsed = Datetime::parse(&a.to_string(), a.fsp(), DateRules::LENIENT);
        prop_assert_eq!(parsed, Some(Parsed { value: a, is_truncated: false }));
    }

    #[test]
    fn any_packed_number_is_a_date_or_none(packed in any::<u32>(), long in any::<u64>()) {
        if let Some(date) = Date::from_packed(packed) {
            prop_assert_eq!(date.packed(), packed);
        }
        if let Some(value) = Datetime::from_packed(long, 6) {
            prop_assert_eq!(value.packed(), long);
        }
    }

    #[test]
    fn day_numbers_round_trip(days in 366i64..=3_652_424) {
        let date = Date::from_days(days).unwrap();
        prop_assert_eq!(date.to_days(), Some(days));
    }

    #[test]
    fn any_text_is_read_without_panic(text in "[-+0-9:.T /]{0,24}") {
        let _ = ParsedDatetime::parse(&text, DateRules::LENIENT);
        let _ = Time::parse(&text, 3);
        let _ = Zone::parse(&text);
    }
}
