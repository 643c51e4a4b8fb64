//! The readers of tests and configurations with what may come: nothing panics, what is refused is refused in one sentence with a line, and
//! every note names one. Shared with the target in `fuzz/`, so it holds no tests.

use loadline_cbt::{CbtError, CbtNote, CbtTest, CephConf};

/// Bytes as a test and as a configuration. Returns whether they were accepted as a test.
pub(crate) fn anything(bytes: &[u8]) -> bool {
    let Ok(text) = std::str::from_utf8(bytes) else { return false };
    match CephConf::parse(text) {
        Ok(conf) => conf.notes.iter().for_each(check_note),
        Err(error) => check_error(&error),
    }
    match CbtTest::parse(text) {
        Ok(test) => {
            assert!(
                test.osds.value > 0 && test.copies.value > 0 && test.groups.value > 0,
                "{test:?}"
            );
            assert!(test.objects.value > 0 && test.object_size.value > 0, "{test:?}");
            assert!(
                test.client.depth.value > 0 && test.client.reads_percent.value <= 100,
                "{test:?}"
            );
            test.notes.iter().for_each(check_note);
            true
        }
        Err(error) => {
            check_error(&error);
            false
        }
    }
}

fn check_error(error: &CbtError) {
    assert!(error.line >= 1 && !error.reason.is_empty(), "{error:?}");
}

fn check_note(note: &CbtNote) {
    assert!(
        note.line >= 1 && note.text.contains(|c: char| c.is_alphanumeric() || c == '`'),
        "{note:?}"
    );
}
