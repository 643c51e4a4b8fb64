//! The machine under a simulated cluster, as a file, `--set` or a real run tells of it: what its OSDs share.

use loadline_base::{Bytes, Span};
use loadline_load::quantity;
use loadline_sim::{Computer, ProcessorSpec, SimHost, WorkPrice};
use serde::Deserialize;

/// `[host]`: what OSDs share. Without it each has a drive and processors of its own.
#[derive(Clone, Debug, Default, PartialEq, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub(crate) struct SharedHostSection {
    /// How many devices they stand on, in turns.
    pub(crate) devices: Option<u32>,
    /// The device under each, by any numbers, where it is known.
    pub(crate) device_of: Vec<u32>,
    /// Processors that work for OSDs and clients.
    pub(crate) cores: Option<u32>,
    /// One thread works for all OSDs, and for nobody else.
    pub(crate) one_thread: bool,
    /// By what share of its price a round of that thread may take more or less.
    pub(crate) round_spread: f64,
    /// Processor time of a client's write of 4 KiB, of all copies and of the client together.
    #[serde(deserialize_with = "quantity::some")]
    pub(crate) cpu_per_op: Option<Span>,
    /// What an OSD takes on top for each MiB that it writes, or that it reads and sends.
    #[serde(deserialize_with = "quantity::some")]
    pub(crate) cpu_per_mib: Option<Span>,
    /// How long a processor works at one thing before another has its turn.
    #[serde(deserialize_with = "quantity::some")]
    pub(crate) cpu_slice: Option<Span>,
}

/// The write that `cpu_per_op` is of.
const SMALL: Bytes = Bytes::from_kib(4);

/// What Linux lets a thread have before another one's turn: `base_slice_ns` is 0.7 ms for each power of two of processors, from 1.4 ms with
/// two to 2.8 ms with eight and more.
const SLICE: Span = Span::from_micros(1400);

impl SharedHostSection {
    /// What the OSDs of a cluster share; the error names the field.
    pub(crate) fn of_cluster(
        &self,
        osds: u32,
        copies: u32,
    ) -> Result<SimHost, (&'static str, String)> {
        let devices = match self.devices {
            Some(devices) if !(1..=osds).contains(&devices) => {
                return Err(("devices", format!("`devices` must be from 1 to the {osds} `osds`")));
            }
            Some(devices) => (0..osds).map(|osd| osd % devices).collect(),
            None => self.device_of.clone(),
        };
        Ok(SimHost { devices, computing: self.computing(copies)? })
    }

    fn computing(
        &self,
        copies: u32,
    ) -> Result<Option<(Computer, WorkPrice)>, (&'static str, String)> {
        // Processors that are said count for more than a thread that was found.
        let is_thread = self.one_thread && self.cores.is_none();
        let cores = if is_thread { Some(1) } else { self.cores };
        let (Some(cores), Some(per_op)) = (cores, self.cpu_per_op) else {
            let alone = [
                ("cores", self.cores.is_some(), "cpu_per_op"),
                ("one_thread", self.one_thread, "cpu_per_op"),
                ("cpu_per_op", self.cpu_per_op.is_some(), "cores"),
                ("cpu_per_mib", self.cpu_per_mib.is_some(), "cores"),
                ("cpu_slice", self.cpu_slice.is_some(), "cores"),
            ];
            return match alone.into_iter().find(|(_, is_there, _)| *is_there) {
                None => Ok(None),
                Some((field, _, lacks)) => {
                    Err((field, format!("`{field}` needs `{lacks}` beside it")))
                }
            };
        };
        let (per_mib, slice) =
            (self.cpu_per_mib.unwrap_or(Span::ZERO), self.cpu_slice.unwrap_or(SLICE));
        if !(1..=4096).contains(&cores) || slice == Span::ZERO {
            let (field, right) = match slice {
                Span::ZERO => ("cpu_slice", "longer than 0"),
                _ => ("cores", "from 1 to 4096"),
            };
            return Err((field, format!("`{field}` must be {right}")));
        }
        let of_data = per_mib * SMALL.get() / (1 << 20);
        let per_copy = (per_op / u64::from(copies)).max(of_data) - of_data;
        let computer = match is_thread {
            true => Computer::Thread { spread_permille: (self.round_spread * 1e3).round() as u32 },
            false => Computer::Processors(ProcessorSpec { cores, slice }),
        };
        Ok(Some((computer, WorkPrice { per_copy, per_mib })))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::input::Source;
    use crate::inputs::Inputs;
    use crate::library::Library;
    use crate::recovery::RecoveryStudy;
    use crate::recovery::file::StoreKind;
    use crate::script::Script;
    use crate::{Job, Place};
    use loadline_testbed::{ClientKind, HostPlace, RealDisks};

    fn inputs(set: &[&str]) -> Inputs {
        let set = set.iter().map(|text| text.parse().expect("an override")).collect();
        Library::built_in().inputs("recovery-nvme", set).expect("it is there")
    }

    fn study(set: &[&str]) -> RecoveryStudy {
        RecoveryStudy::new(&inputs(set)).expect("it can be used")
    }

    #[test]
    fn what_osds_share_is_said_by_figures_with_units() {
        let study = study(&[
            "devices=2",
            "cores=2",
            "cpu_per_op=1.1 ms",
            "cpu_per_mib=2.56 ms",
            "cpu_slice=3 ms",
        ]);
        assert_eq!(study.host.devices, [0, 1, 0, 1]);
        // A third of 1.1 ms for each of three copies; 4 KiB of it are data, 10 us.
        let (computer, price) = study.host.computing.expect("they are shared");
        let processors = ProcessorSpec { cores: 2, slice: Span::from_millis(3) };
        assert_eq!(computer, Computer::Processors(processors));
        assert_eq!(price.per_copy, Span::from_nanos(1_100_000 / 3 - 10_000));
        assert_eq!(price.per_mib, Span::from_micros(2_560));
    }

    /// Keys of runs that share nothing are what they were before anything could be shared.
    #[test]
    fn without_them_nothing_is_shared_and_runs_are_called_the_same() {
        let alone = study(&[]);
        assert_eq!(alone.host, SimHost::default());
        let identity = |study: &RecoveryStudy| study.identity(&Job::default());
        assert!(!identity(&alone).contains("SimHost"));
        assert_ne!(identity(&alone), identity(&study(&["devices=1"])));
    }

    #[test]
    fn figures_that_make_no_sense_are_refused_with_their_place() {
        let check = |set: &[&str], says: &str| {
            let refused = RecoveryStudy::new(&inputs(set)).expect_err("it cannot be used");
            assert!(refused.to_string().contains(says), "{refused}");
        };
        check(&["devices=5"], "--set devices=5: `devices` must be from 1 to the 4 `osds`");
        check(&["cores=2"], "--set cores=2: `cores` needs `cpu_per_op` beside it");
        check(&["cpu_per_mib=1 ms"], "`cpu_per_mib` needs `cores` beside it");
        check(&["cores=0", "cpu_per_op=1 ms"], "--set cores=0: `cores` must be from 1 to 4096");
        let mut real = inputs(&["devices=1"]);
        let (disks, client) = (RealDisks::Files("d".into()), ClientKind::Own);
        real.place = Place::Host(HostPlace { disks, client, keep_files: false, overwrite: false });
        let refused = RecoveryStudy::new(&real).expect_err("it cannot be used").to_string();
        assert!(refused.contains("--set devices=1: a simulated host alone"), "{refused}");
    }

    #[test]
    fn a_twin_stands_where_the_real_one_stood_and_what_is_set_counts() {
        let twin = |set: &[&str]| {
            let mut inputs = inputs(set);
            let text = "capacity_iops = 812.5\n[host]\ndevice_of = [0, 0, 0, 0]\none_thread = true\nround_spread = 0.25\ncpu_per_op = \"60 us\"\ncpu_per_mib = \"500 us\"\n";
            let (name, file) = ("twin".to_owned(), "runs/real".to_owned());
            inputs.twin = Some(Source { name, file, text: text.to_owned() });
            RecoveryStudy::new(&inputs).expect("it can be used")
        };
        let computer = |of: &RecoveryStudy| of.host.computing.expect("it is shared").0;
        let processors = ProcessorSpec { cores: 2, slice: SLICE };
        let set = twin(&["scale=0.001", "cores=2"]);
        assert_eq!(computer(&set), Computer::Processors(processors));
        let twin = twin(&["scale=0.001"]);
        assert_eq!(computer(&twin), Computer::Thread { spread_permille: 250 });
        assert_eq!((twin.store, &twin.host.devices[..]), (StoreKind::Paged, &[0; 4][..]));
        assert_eq!((twin.drive.link_delay, twin.drive.worker_time), (Span::ZERO, Span::ZERO));
        let option = "osd_mclock_max_capacity_iops_ssd";
        let rows = &twin.setups[0].osds.configuration.settings;
        let capacity = rows.iter().find(|row| row.key == option).expect("it is stored");
        assert_eq!(capacity.value, "812.5");
    }
}
