//! Values of options: typed, read from text and printed with their units.

use loadline_base::{Bytes, Span};
use std::fmt;

/// A value of an option.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Value {
    /// A plain number: a ratio, a fraction, a rate.
    Float(f64),
    /// A whole number.
    Count(u64),
    /// A switch.
    Flag(bool),
    /// A size.
    Size(Bytes),
    /// A length of time.
    Time(Span),
    /// One of the names that the option knows.
    Choice(&'static str),
}

/// What kind of value an option takes.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum ValueKind {
    /// A plain number.
    Float,
    /// A whole number.
    Count,
    /// A switch.
    Flag,
    /// A size.
    Size,
    /// A length of time.
    Time,
    /// One of these names.
    Choice(Vec<&'static str>),
}

impl Value {
    /// The number behind the value: bytes of a size, seconds of a time; `None` of a switch or a name.
    pub fn number(self) -> Option<f64> {
        match self {
            Value::Float(number) => Some(number),
            Value::Count(count) => Some(count as f64),
            Value::Size(bytes) => Some(bytes.get() as f64),
            Value::Time(span) => Some(span.as_secs_f64()),
            Value::Flag(_) | Value::Choice(_) => None,
        }
    }
}

impl ValueKind {
    /// What would be right, as a noun phrase.
    pub fn wanted(&self) -> String {
        match self {
            ValueKind::Float => "a number such as `0.5`".into(),
            ValueKind::Count => "a whole number such as `10`".into(),
            ValueKind::Flag => "`true` or `false`".into(),
            ValueKind::Size => "a size such as `4 KiB`, or a number of bytes".into(),
            ValueKind::Time => "a time such as `50 ms`, or a number of seconds".into(),
            ValueKind::Choice(names) => format!("one of {}", names.join(", ")),
        }
    }

    /// Reads a value. Times without a unit are seconds, as the field writes them.
    pub fn parse(&self, text: &str) -> Option<Value> {
        let text = text.trim();
        let number = || text.parse::<f64>().ok().filter(|number| number.is_finite());
        match self {
            ValueKind::Float => number().map(Value::Float),
            ValueKind::Count => text.parse().ok().map(Value::Count),
            ValueKind::Flag => match text {
                "true" | "yes" | "on" | "1" => Some(Value::Flag(true)),
                "false" | "no" | "off" | "0" => Some(Value::Flag(false)),
                _ => None,
            },
            ValueKind::Size => text.parse().ok().map(Value::Size),
            ValueKind::Time => match number() {
                Some(seconds) if seconds >= 0.0 => Some(Value::Time(Span::from_secs_f64(seconds))),
                Some(_) => None,
                None => text.parse().ok().map(Value::Time),
            },
            ValueKind::Choice(names) => {
                names.iter().find(|name| **name == text).map(|name| Value::Choice(name))
            }
        }
    }

    /// The value of this kind with `number` behind it: how levels that compute numbers state them.
    ///
    /// # Panics
    /// For a switch or a name, which no number stands for.
    pub(super) fn of_number(&self, number: f64) -> Value {
        match self {
            ValueKind::Float => Value::Float(number),
            ValueKind::Count => Value::Count(number as u64),
            ValueKind::Size => Value::Size(Bytes::new(number as u64)),
            ValueKind::Time => Value::Time(Span::from_secs_f64(number)),
            ValueKind::Flag | ValueKind::Choice(_) => {
                panic!("no number stands for {}", self.wanted())
            }
        }
    }
}

/// Exact: its kind reads the same value from it.
impl fmt::Display for Value {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Value::Float(number) => number.fmt(f),
            Value::Count(count) => count.fmt(f),
            Value::Flag(flag) => flag.fmt(f),
            Value::Size(bytes) => write!(f, "{bytes:#}"),
            Value::Time(span) => span.fmt(f),
            Value::Choice(name) => f.write_str(name),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn values_are_read_by_kind() {
        let check =
            |kind: ValueKind, text: &str, value| assert_eq!(kind.parse(text), value, "{text}");
        check(ValueKind::Float, "0.5", Some(Value::Float(0.5)));
        check(ValueKind::Float, "inf", None);
        check(ValueKind::Count, "10", Some(Value::Count(10)));
        check(ValueKind::Count, "-1", None);
        check(ValueKind::Count, "1.5", None);
        check(ValueKind::Flag, "yes", Some(Value::Flag(true)));
        check(ValueKind::Flag, "maybe", None);
        check(ValueKind::Size, "8 MiB", Some(Value::Size(Bytes::from_mib(8))));
        check(ValueKind::Size, "8 Mb", None);
        check(ValueKind::Time, "0.1", Some(Value::Time(Span::from_millis(100))));
        check(ValueKind::Time, "30 s", Some(Value::Time(Span::from_secs(30))));
        check(ValueKind::Time, "-1", None);
        let choice = || ValueKind::Choice(vec!["high", "low"]);
        check(choice(), "low", Some(Value::Choice("low")));
        check(choice(), "lower", None);
        assert_eq!(choice().wanted(), "one of high, low");
    }

    /// 1200 MiB were told as 1.17 GiB, and who set what was told had another value.
    #[test]
    fn a_value_is_told_as_it_is_read() {
        let check = |kind: ValueKind, value: Value, text: &str| {
            assert_eq!((kind.parse(text), value.to_string().as_str()), (Some(value), text));
        };
        let size = |bytes, text| check(ValueKind::Size, Value::Size(Bytes::new(bytes)), text);
        size(1200 << 20, "1200 MiB");
        size(1_300_000_000, "1300000000 B");
        size(4097, "4097 B");
        size(0, "0 B");
        check(ValueKind::Time, Value::Time(Span::from_nanos(1_234_567)), "1.234567 ms");
        check(ValueKind::Float, Value::Float(0.1), "0.1");
    }
}
