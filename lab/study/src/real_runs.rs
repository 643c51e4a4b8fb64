//! What makes the figures of runs on a real machine doubtful, whichever kind of study they are of.

use crate::record::RunRecord;

/// All of it: what the machine's facts note, and other work beside.
pub(crate) fn doubts(records: &[&RunRecord]) -> Vec<String> {
    notes(records).into_iter().chain(busy(records)).collect()
}

/// What the machine's facts note, each once.
fn notes(records: &[&RunRecord]) -> Vec<String> {
    let mut notes: Vec<String> = Vec::new();
    for note in
        records.iter().filter_map(|record| record.real.as_ref()).flat_map(|real| &real.notes)
    {
        if !notes.contains(note) {
            notes.push(note.clone());
        }
    }
    notes
}

/// Load of the machine, in tasks per core, from which on it is not ours alone.
const BUSY: f64 = 1.0;

/// That something else ran beside, if it did.
fn busy(records: &[&RunRecord]) -> Option<String> {
    let loads = records.iter().filter_map(|record| record.real.as_ref()?.load_before);
    let busy: Vec<f64> = loads.filter(|load| *load > BUSY).collect();
    let most = busy.iter().copied().max_by(f64::total_cmp)?;
    Some(format!(
        "Other work kept the machine busy before {} of {} runs (up to {most:.1} tasks per core); stop it and run again \
         before trusting small differences.",
        busy.len(),
        records.len()
    ))
}

#[cfg(test)]
mod tests {
    use super::*;
    use loadline_testbed::MachineFacts;

    #[test]
    fn a_note_is_told_once_and_other_work_with_its_figures() {
        let run = |load_before, note: &str| {
            let notes = vec![note.to_owned()];
            RunRecord {
                real: Some(MachineFacts { load_before, notes, ..MachineFacts::default() }),
                ..RunRecord::default()
            }
        };
        let [quiet, busy, unknown] =
            [(Some(0.9), "a"), (Some(2.5), "b"), (None, "a")].map(|(load, note)| run(load, note));
        assert_eq!(doubts(&[&quiet, &unknown]), ["a"]);
        let said = doubts(&[&quiet, &busy, &unknown]);
        assert_eq!(said[..2], ["a", "b"]);
        assert!(said[2].contains("before 1 of 3 runs (up to 2.5 tasks per core)"), "{said:?}");
    }
}
