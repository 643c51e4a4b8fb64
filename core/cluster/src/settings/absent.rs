//! Options that the field has and that would do nothing here: each is refused with the reason.

use super::option::OptionSpec;

/// An option that does not exist here.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Absent {
    /// Its name, as the field spells it.
    pub option: &'static str,
    /// Why, as a clause.
    pub why: &'static str,
}

const ONE_OBJECT: &str = "each push carries one object";

const EVERYWHERE: [Absent; 3] = [
    absent("osd_max_push_cost", ONE_OBJECT),
    absent("osd_max_push_objects", ONE_OBJECT),
    absent(
        "osd_backfill_scan_min",
        "a scan lists osd_backfill_scan_max objects wherever there are as many",
    ),
];

const fn absent(option: &'static str, why: &'static str) -> Absent {
    Absent { option, why }
}

/// What no world has.
pub(super) fn everywhere() -> Vec<Absent> {
    EVERYWHERE.to_vec()
}

/// Of these options, those that mean nothing where one loop carries out whatever is due.
pub(super) fn on_a_loop<'a>(specs: impl Iterator<Item = &'a OptionSpec>) -> Vec<Absent> {
    let workers = specs.filter(|spec| spec.name.starts_with("osd_op_num_threads_per_shard"));
    let why = "the loop of a node is the one worker of its queues; only simulated OSDs have more";
    workers.map(|spec| absent(spec.name, why)).collect()
}
