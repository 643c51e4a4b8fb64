//! What makes the figures of runs on a real machine doubtful, whichever kind of study they are of.

use crate::record::RunRecord;

/// What the machine's facts note, each once.
pub(crate) fn notes(records: &[&RunRecord]) -> Vec<String> {
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

/// Load of the machine, in tasks per core, from which on it is not ours alone. A study's own run before may leave a part of
/// one behind in the minute's mean.
const BUSY: f64 = 1.0;

/// That something else ran beside, if it did.
pub(crate) fn busy(records: &[&RunRecord]) -> Option<String> {
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
