//! Lengths of time as people write them, and the exact decimals below them.

use std::time::Duration;

/// Ten years. A longer wait is a slip of the keyboard, and sums of such waits would overflow.
pub const LONGEST: Duration = Duration::from_hours(10 * 366 * 24);

/// Why a text is not a length of time.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum DurationError {
    /// Neither a number of seconds nor a number with a known unit.
    #[error("not a duration; write seconds (30) or a number with ms, s, m, h or d (10m)")]
    Malformed,
    /// Time does not run backwards.
    #[error("a duration cannot be negative")]
    Negative,
    /// More than [`LONGEST`].
    #[error("longer than 10 years")]
    TooLong,
}

/// Reads `90`, `0.5`, `500ms`, `30s`, `10m`, `2h` or `1d`. A bare number is seconds; zero is a duration here, whoever
/// cannot use it refuses it.
pub fn parse_duration(text: &str) -> Result<Duration, DurationError> {
    let text = text.trim();
    let split = text.find(|c: char| c.is_ascii_alphabetic()).unwrap_or(text.len());
    let (number, unit) = text.split_at(split);
    let milliseconds_each: u128 = match unit {
        "ms" => 1,
        "" | "s" => 1_000,
        "m" => 60_000,
        "h" => 3_600_000,
        "d" => 86_400_000,
        _ => return Err(DurationError::Malformed),
    };
    let billionths = decimal(number.trim_end(), 9)?;
    let nanos = billionths.checked_mul(milliseconds_each).ok_or(DurationError::TooLong)? / 1_000;
    if nanos > LONGEST.as_nanos() {
        return Err(DurationError::TooLong);
    }
    u64::try_from(nanos).map(Duration::from_nanos).map_err(|_| DurationError::TooLong)
}

/// A plain decimal as a whole number of `10^-digits`; what is finer is cut. No exponent, no `inf`, no `+`.
pub fn decimal(text: &str, digits: usize) -> Result<u128, DurationError> {
    if let Some(positive) = text.strip_prefix('-') {
        return decimal(positive, digits).and(Err(DurationError::Negative));
    }
    let (whole, fraction) = text.split_once('.').unwrap_or((text, "0"));
    let is_number = |part: &str| !part.is_empty() && part.bytes().all(|b| b.is_ascii_digit());
    if !is_number(whole) || !is_number(fraction) {
        return Err(DurationError::Malformed);
    }
    let kept = &fraction[..fraction.len().min(digits)];
    format!("{whole}{kept:0<digits$}").parse().map_err(|_| DurationError::TooLong)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_people_write() {
        let table = [
            ("0", 0),
            ("60", 60_000),
            ("0.5", 500),
            ("1.25", 1_250),
            ("500ms", 500),
            ("30s", 30_000),
            ("10m", 600_000),
            ("1.5h", 5_400_000),
            ("2 h", 7_200_000),
            ("1d", 86_400_000),
            (" 7 ", 7_000),
        ];
        for (text, ms) in table {
            assert_eq!(parse_duration(text), Ok(Duration::from_millis(ms)), "{text:?}");
        }
    }

    #[test]
    fn what_is_refused() {
        let malformed =
            ["", " ", "s", "abc", "1x", "1 2", "1e3", "+5", "inf", "NaN", ".5", "5.", "1h30m", "10M", "٣"];
        for text in malformed {
            assert_eq!(parse_duration(text), Err(DurationError::Malformed), "{text:?}");
        }
        for text in ["-1", "-0.5s", "-0"] {
            assert_eq!(parse_duration(text), Err(DurationError::Negative), "{text:?}");
        }
        let too_long =
            ["18446744073709551615", "18446744073709551615d", "4000d", "9".repeat(200).leak() as &str];
        for text in too_long {
            assert_eq!(parse_duration(text), Err(DurationError::TooLong), "{text:?}");
        }
    }

    #[test]
    fn ten_years_are_the_edge() {
        assert_eq!(parse_duration("3660d"), Ok(LONGEST));
        assert_eq!(parse_duration("3660.000001d"), Err(DurationError::TooLong));
    }

    #[test]
    fn decimals_are_cut_not_rounded() {
        assert_eq!(decimal("0.30000000000000004", 6), Ok(300_000));
        assert_eq!(decimal("1.9999999", 6), Ok(1_999_999));
    }
}
