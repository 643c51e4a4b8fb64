//! The text file: what is saved is read back, and what is wrong is named with its line.

use crate::sample::any_page;
use loadline_device::cdl::{Column, DescriptorPage, FieldError, FileError};
use proptest::prelude::*;

/// A file as somebody would type it: blanks, comments, codes with and without 0x.
#[test]
fn a_typed_file_is_read() {
    let mut text = "# mine\n\n  cdlp:   T2A \t\r\n\tperf-vs-duration-guideline: c\n".to_owned();
    for number in 1..=7 {
        let time = [5, 10, 20, 30, 40, 50, 0][number - 1];
        text += &format!("== descriptor: {number}\n# ten milliseconds\nt2cdlunits: 0xa\n");
        text += "max-inactive-time: 0\nmax-inactive-time-policy: 0x0\n";
        text += "max-active-time: 0\nmax-active-time-policy: 0\n";
        text += &format!("duration-guideline:{time}\nduration-guideline-policy: 0x0\n");
    }
    assert_eq!(DescriptorPage::parse(&text), Ok(DescriptorPage::BENCHMARK_T2A));
    assert_eq!(DescriptorPage::parse(text.trim_end()), Ok(DescriptorPage::BENCHMARK_T2A));
}

/// One line of the benchmark's file for reads exchanged, taken away or put in.
#[test]
fn what_is_wrong_is_named_with_its_line() {
    let file = DescriptorPage::BENCHMARK_T2A.file();
    let line_of = |wanted: &str| file.lines().position(|line| line == wanted).unwrap() + 1;
    let check = |old: &str, new: &str, error: FieldError| {
        let wanted = FileError { line: line_of(old), error };
        assert_eq!(
            DescriptorPage::parse(&file.replacen(old, new, 1)),
            Err(wanted),
            "{old} to {new}"
        );
    };
    let expected = |field: &str| FieldError::Expected { field: field.to_owned() };
    check("cdlp: T2A", "cdlp: T2C", FieldError::Page);
    check("cdlp: T2A", "cdlp:", expected("cdlp: ..."));
    check("cdlp: T2A", "cdl: T2A", expected("cdlp: ..."));
    check("perf-vs-duration-guideline: 0xc", "perf-vs-duration-guideline: 0xd", FieldError::Loss);
    check("== descriptor: 3", "== descriptor: 4", expected("== descriptor: 3"));
    check("t2cdlunits: 0xa", "t2cdlunits: 0x4", FieldError::Unit { simple: false });
    check("t2cdlunits: 0xa", "t2cdlunits: 0x10a", FieldError::Unit { simple: false });
    check("duration-guideline: 50", "duration-guideline: 65536", FieldError::Time);
    check("duration-guideline: 50", "duration-guideline: +5", FieldError::Time);
    check("duration-guideline: 50", "duration-guideline: 0x5", FieldError::Time);
    let column = Column::Inactive;
    let abort_recovery = "max-inactive-time-policy: 0xe";
    check("max-inactive-time-policy: 0x0", abort_recovery, FieldError::Policy { column });
    let long = format!("cdlp: T2A{}", " ".repeat(503));
    check("cdlp: T2A", &long, FieldError::Long);
    let longest = file.replacen("cdlp: T2A", &long[..511], 1);
    assert!(DescriptorPage::parse(&longest).is_ok(), "511 characters are not too many");
    let lines = file.lines().count();
    let surplus = FileError { line: lines + 1, error: FieldError::Surplus };
    assert_eq!(DescriptorPage::parse(&format!("{file}more: 1\n")), Err(surplus));
    let (start, _) = file.split_once("== descriptor: 7").unwrap();
    let short = FileError { line: lines - 7, error: expected("== descriptor: 7") };
    assert_eq!(DescriptorPage::parse(start), Err(short));
}

#[test]
fn an_error_says_what_would_be_right() {
    let error = FileError { line: 9, error: FieldError::Policy { column: Column::Active } };
    let wanted = "line 9: the policy of the max active time must be 0x0 (complete-earliest), \
                  0xd (complete-unavailable), 0xe (abort-recovery) or 0xf (abort)";
    assert_eq!(error.to_string(), wanted);
}

proptest! {
    #[test]
    fn what_is_saved_is_read_back(page in any_page()) {
        prop_assert_eq!(DescriptorPage::parse(&page.file()), Ok(page));
    }
}
