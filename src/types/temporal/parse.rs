//! Texts as calendar values, by MySQL's relaxed rules: any punctuation between the parts, years
//! of two digits, digits without delimiters, fractions rounded to microseconds.
//!
//! Source: MySQL manual, "Date and Time Literals". What follows a value is reported, not judged.

use super::{Date, Datetime, FSP_MAX, MICROS_PER_DAY, Time, zone};

/// Which zero dates are values: the parts of `sql_mode` that say so.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct DateRules {
    /// `NO_ZERO_DATE`: `0000-00-00` is none.
    pub no_zero_date: bool,
    /// `NO_ZERO_IN_DATE`: dates with a zero month or day, but not all zero, are none.
    pub no_zero_in_date: bool,
}

impl DateRules {
    /// Every zero date is a value.
    pub const LENIENT: DateRules = DateRules {
        no_zero_date: false,
        no_zero_in_date: false,
    };
    /// No zero date is a value, as in MySQL's default `sql_mode`.
    pub const STRICT: DateRules = DateRules {
        no_zero_date: true,
        no_zero_in_date: true,
    };

    /// Whether a date is a value.
    pub fn allow(self, date: Date) -> bool {
        if date.is_zero() {
            !self.no_zero_date
        } else {
            !(self.no_zero_in_date && date.has_zero_part())
        }
    }
}

/// What was read, and whether something was lost on the way.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Parsed<T> {
    /// The value.
    pub value: T,
    /// Whether other text follows, or the value had to be clipped.
    pub is_truncated: bool,
}

/// A text read as a date, with or without a time.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct ParsedDatetime {
    /// Midnight when there is no time. Its `fsp` is the number of digits given, at most 6.
    pub datetime: Datetime,
    /// Whether the text has a time of day.
    pub has_time: bool,
    /// `+hh:mm` after the time: seconds east of UTC.
    pub offset_seconds: Option<i32>,
    /// Whether other text follows.
    pub is_truncated: bool,
    /// Whether a space or `T` stands before the time, or there are no delimiters at all.
    is_surely_datetime: bool,
}

impl Date {
    /// Reads a date; the time that may follow is rounded away as MySQL does.
    pub fn parse(text: &str, rules: DateRules) -> Option<Parsed<Date>> {
        let parsed = ParsedDatetime::parse(text, rules)?;
        let is_truncated = parsed.is_truncated;
        Some(Parsed {
            value: parsed.datetime.to_date_rounded(),
            is_truncated,
        })
    }
}

impl Datetime {
    /// Reads a datetime and rounds it to `fsp` digits; an offset after it is ignored.
    pub fn parse(text: &str, fsp: u8, rules: DateRules) -> Option<Parsed<Datetime>> {
        let parsed = ParsedDatetime::parse(text, rules)?;
        let is_truncated = parsed.is_truncated;
        Some(Parsed {
            value: parsed.datetime.round(fsp)?,
            is_truncated,
        })
    }
}

impl Time {
    /// Reads a time and rounds it to `fsp` digits: `[-][d ]hh:mm:ss[.fraction]`, `hh:mm`,
    /// `hhmmss`, or the time of a datetime.
    pub fn parse(text: &str, fsp: u8) -> Option<Parsed<Time>> {
        let parsed = parse_time(text)?;
        Some(Parsed {
            value: parsed.value.round(fsp),
            ..parsed
        })
    }

    /// Whether a text has a date before its time.
    pub fn is_of_datetime(text: &str) -> bool {
        let parsed = ParsedDatetime::parse(text, DateRules::LENIENT);
        let is_datetime = |parsed: ParsedDatetime| parsed.has_time && parsed.is_surely_datetime;
        DATETIME_CHARS_MIN <= text.trim_ascii_start().len() && parsed.is_some_and(is_datetime)
    }
}

/// What is left to read.
#[derive(Clone, Copy)]
struct Cursor<'a>(&'a [u8]);

impl Cursor<'_> {
    fn first(self) -> Option<u8> {
        self.0.first().copied()
    }

    fn starts_with_digit(self) -> bool {
        self.first().is_some_and(|b| b.is_ascii_digit())
    }

    /// The next `most` digits at most: their number, saturating, and how many there are.
    fn digits(&mut self, most: usize) -> (u64, usize) {
        let len = self
            .0
            .iter()
            .take(most)
            .take_while(|b| b.is_ascii_digit())
            .count();
        let (digits, rest) = self.0.split_at(len);
        self.0 = rest;
        let number = digits.iter().fold(0u64, |number, digit| {
            number
                .saturating_mul(10)
                .saturating_add(u64::from(digit - b'0'))
        });
        (number, len)
    }

    fn skip(&mut self, wanted: impl Fn(u8) -> bool) -> usize {
        let len = self.0.iter().take_while(|&&b| wanted(b)).count();
        self.0 = self.0.get(len..).unwrap_or_default();
        len
    }

    /// A point and digits: microseconds, half rounded up, possibly a whole second; and how many
    /// digits there are, at most 6.
    fn fraction(&mut self) -> (u64, u8) {
        let Some((b'.', rest)) = self.0.split_first() else {
            return (0, 0);
        };
        let mut after = Cursor(rest);
        let (mut micros, len) = after.digits(usize::from(FSP_MAX));
        let fsp = u8::try_from(len).unwrap_or(FSP_MAX);
        micros *= 10u64.pow(u32::from(FSP_MAX - fsp));
        if after
            .first()
            .is_some_and(|next| (b'5'..=b'9').contains(&next))
        {
            micros += 1;
        }
        after.skip(|b| b.is_ascii_digit());
        self.0 = after.0;
        (micros, fsp)
    }

    fn is_blank(self) -> bool {
        self.0.iter().all(u8::is_ascii_whitespace)
    }

    /// An offset `+hh:mm` that is all that is left.
    fn offset(self) -> Option<i32> {
        std::str::from_utf8(self.0)
            .ok()
            .and_then(|text| zone::parse_offset(text.trim_end()))
    }
}

/// The parts of a date and time as they stand in the text.
struct Fields {
    /// Year, month, day, hour, minute, second; zero where the text ends earlier.
    numbers: [u64; 6],
    count: usize,
    year_digits: usize,
    is_surely_datetime: bool,
}

/// Larger numbers are no part of a date.
const FIELD_MAX: u64 = 999_999;

impl Fields {
    fn read(cursor: &mut Cursor<'_>) -> Option<Fields> {
        let compact_year = compact_year_digits(*cursor);
        let is_compact = compact_year.is_some();
        let mut fields = Fields {
            numbers: [0; 6],
            count: 0,
            year_digits: 0,
            is_surely_datetime: is_compact,
        };
        let mut next = *cursor;
        while next.starts_with_digit() {
            let Some(slot) = fields.numbers.get_mut(fields.count) else {
                break;
            };
            let width = match compact_year {
                Some(width) if fields.count == 0 => width,
                Some(_) => 2,
                None => usize::MAX,
            };
            let (number, len) = next.digits(width);
            if FIELD_MAX < number {
                return None;
            }
            *slot = number;
            fields.count += 1;
            if fields.count == 1 {
                fields.year_digits = len;
            }
            *cursor = next;
            if fields.count == 6 || (3 < fields.count && next.offset().is_some()) {
                break;
            }
            let is_delimited = fields.skip_delimiter(&mut next);
            if !is_delimited && !is_compact {
                break;
            }
        }
        (3 <= fields.count).then_some(fields)
    }

    /// Whether anything was skipped. Spaces and `T` only before the time.
    fn skip_delimiter(&mut self, next: &mut Cursor<'_>) -> bool {
        let before_time = self.count == 3;
        if before_time && next.first() == Some(b'T') {
            self.is_surely_datetime = true;
            return next.skip(|b| b == b'T') == 1;
        }
        let spaces = next
            .0
            .iter()
            .take_while(|b| b.is_ascii_whitespace())
            .count();
        self.is_surely_datetime |= before_time && spaces != 0;
        let is_delimiter =
            |b: u8| b.is_ascii_punctuation() || (before_time && b.is_ascii_whitespace());
        next.skip(is_delimiter) != 0
    }

    fn date(&self) -> Option<Date> {
        let [year, month, day, ..] = self.numbers;
        let is_zero = self.numbers.iter().all(|&number| number == 0);
        let century = match year {
            _ if self.year_digits != 2 || is_zero => 0,
            0..70 => 2000,
            _ => 1900,
        };
        let year = u16::try_from(year + century).ok()?;
        Date::new(year, u8::try_from(month).ok()?, u8::try_from(day).ok()?)
    }

    /// A date of the month, if that has a day less, too: who asks for the time alone does not mind.
    fn some_date(&self) -> Option<Date> {
        let [year, month, day, ..] = self.numbers;
        let numbers = [year, month, day.min(28), 0, 0, 0];
        let fields = Fields { numbers, ..*self };
        self.date().or_else(|| fields.date().filter(|_| day <= 31))
    }

    fn micros_of_day(&self) -> Option<u64> {
        let [_, _, _, hour, minute, second] = self.numbers;
        let fits = hour < 24 && minute < 60 && second < 60;
        fits.then_some(((hour * 60 + minute) * 60 + second) * 1_000_000)
    }
}

/// How many digits the year has in a text without delimiters; `None` for one with delimiters.
fn compact_year_digits(cursor: Cursor<'_>) -> Option<usize> {
    let run = cursor
        .0
        .iter()
        .take_while(|&&b| b.is_ascii_digit() || b == b'T')
        .count();
    let is_compact = cursor.0.get(run).is_none_or(|&next| next == b'.');
    let year = if matches!(run, 4 | 8 | 14..) { 4 } else { 2 };
    is_compact.then_some(year)
}

impl ParsedDatetime {
    /// Reads a date and what may follow it; `None` when that is no date, or a zero date that the
    /// rules forbid.
    pub fn parse(text: &str, rules: DateRules) -> Option<ParsedDatetime> {
        let date_of = |fields: &Fields| fields.date().filter(|&date| rules.allow(date));
        ParsedDatetime::read(text, date_of)
    }

    fn read(text: &str, date_of: impl Fn(&Fields) -> Option<Date>) -> Option<ParsedDatetime> {
        let mut cursor = Cursor(text.trim_ascii_start().as_bytes());
        let fields = Fields::read(&mut cursor)?;
        let date = date_of(&fields)?;
        let (micros, fsp) = if fields.count == 6 {
            cursor.fraction()
        } else {
            (0, 0)
        };
        let offset_seconds = if 3 < fields.count {
            cursor.offset()
        } else {
            None
        };
        let datetime = Datetime::new(date, fields.micros_of_day()?, 0)?
            .add_micros(i64::try_from(micros).ok()?)?
            .with_fsp(fsp)?;
        Some(ParsedDatetime {
            datetime,
            has_time: 3 < fields.count,
            offset_seconds,
            is_truncated: offset_seconds.is_none() && !cursor.is_blank(),
            is_surely_datetime: fields.is_surely_datetime,
        })
    }
}

/// A text this long may be a whole datetime where a time is asked for.
const DATETIME_CHARS_MIN: usize = 12;

/// Whether a text is a date and a time by its delimiters, with numbers that are none.
fn is_wrong_datetime(text: &str) -> bool {
    let mut cursor = Cursor(text.as_bytes());
    if compact_year_digits(Cursor(text.as_bytes())).is_some() {
        return false;
    }
    Fields::read(&mut cursor).is_some_and(|fields| {
        let is_datetime = 3 < fields.count && fields.is_surely_datetime;
        is_datetime && (fields.some_date().is_none() || fields.micros_of_day().is_none())
    })
}

/// Reads a time, with up to 6 digits after the second.
fn parse_time(text: &str) -> Option<Parsed<Time>> {
    let text = text.trim_ascii_start();
    if DATETIME_CHARS_MIN <= text.len() {
        if is_wrong_datetime(text) {
            return None;
        }
        let whole = ParsedDatetime::read(text, Fields::some_date)
            .filter(|parsed| parsed.has_time && parsed.is_surely_datetime);
        if let Some(ParsedDatetime {
            datetime,
            is_truncated,
            ..
        }) = whole
        {
            return Some(Parsed {
                value: datetime.time(),
                is_truncated,
            });
        }
    }
    let (is_negative, body) = match text.strip_prefix('-') {
        Some(body) => (true, body),
        None => (false, text),
    };
    let mut cursor = Cursor(body.as_bytes());
    let (seconds, (micros, fsp)) = (clock_seconds(&mut cursor)?, cursor.fraction());
    let limit = MICROS_PER_DAY.unsigned_abs() * 1000;
    let total = seconds
        .saturating_mul(1_000_000)
        .saturating_add(micros)
        .min(limit);
    let total = i64::try_from(total).ok()?;
    let (value, is_clipped) = Time::clipped(if is_negative { -total } else { total }, fsp);
    Some(Parsed {
        value,
        is_truncated: is_clipped || !cursor.is_blank(),
    })
}

/// `d hh[:mm[:ss]]`, `hh:mm[:ss]` or `[[hh]mm]ss`, in seconds.
fn clock_seconds(cursor: &mut Cursor<'_>) -> Option<u64> {
    let (first, len) = cursor.digits(usize::MAX);
    // A fraction may stand alone: '.5' is half a second.
    if len == 0 && cursor.first() != Some(b'.') {
        return None;
    }
    let mut hours = *cursor;
    let has_days = hours.skip(|b| b.is_ascii_whitespace()) != 0 && hours.starts_with_digit();
    let (days, hours) = if has_days {
        let (number, _) = hours.digits(usize::MAX);
        *cursor = hours;
        (first, number)
    } else {
        (0, first)
    };
    let minute = colon_digits(cursor);
    let second = minute.and_then(|_| colon_digits(cursor));
    let (hour, minute, second) = if minute.is_none() && !has_days {
        (first / 10_000, first / 100 % 100, first % 100)
    } else {
        (hours, minute.unwrap_or(0), second.unwrap_or(0))
    };
    let hours = days.saturating_mul(24).saturating_add(hour);
    let fits = minute < 60 && second < 60;
    fits.then(|| {
        hours
            .saturating_mul(3600)
            .saturating_add(minute * 60 + second)
    })
}

/// A colon and digits after it.
fn colon_digits(cursor: &mut Cursor<'_>) -> Option<u64> {
    let (b':', rest) = cursor.0.split_first().map(|(first, rest)| (*first, rest))? else {
        return None;
    };
    let mut after = Cursor(rest);
    let (number, len) = after.digits(usize::MAX);
    if len == 0 {
        return None;
    }
    *cursor = after;
    Some(number)
}
