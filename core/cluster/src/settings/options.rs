//! The table of options. Defaults are the compiled-in ones of the preset's era.

use super::absent::{Absent, everywhere, on_a_loop};
use super::device_options::device_options;
use super::option::{ClassParam, OptionId, OptionSpec, Role};
use loadline_base::IdVec;
use loadline_device::Medium;
use loadline_qos::{
    Capacity, ClassValues, ClientReads, CostRule, CostUnit, Era, Preset, SchedulerKind,
    ServiceClass, Thresholds,
};

/// Every option of an OSD, in the order in which they are shown.
#[derive(Clone, Debug)]
pub struct OptionTable {
    specs: IdVec<OptionId, OptionSpec>,
    absent: Vec<Absent>,
}

impl OptionTable {
    /// The options that exist under a preset: the first eras have cost options, later ones a bandwidth.
    pub fn new(preset: &Preset) -> OptionTable {
        let groups = [
            scheduler(preset),
            parameters(preset.profiles.unit),
            capacity(),
            start_benchmark(preset),
            costs_of(preset),
            sharding_of(preset),
            window_of(preset),
            recovery(preset),
            recovery_messages(),
            scrubs(preset),
            scrub_schedule(),
            trims(),
            sleeps(),
            priorities(preset),
            input_costs(preset),
            device_options(),
        ];
        OptionTable { specs: groups.into_iter().flatten().collect(), absent: everywhere() }
    }

    /// The same where the loop of a node is the one worker of its queues.
    pub(super) fn on_a_loop(preset: &Preset) -> OptionTable {
        let mut table = OptionTable::new(preset);
        let workers = on_a_loop(table.specs.values());
        let stays = |spec: &OptionSpec| workers.iter().all(|absent| absent.option != spec.name);
        table.specs = table.specs.values().filter(|spec| stays(spec)).cloned().collect();
        table.absent.extend(workers);
        table
    }

    /// Why the field's option of this name does not exist here, if it is one of those that would do nothing.
    pub fn absent(&self, name: &str) -> Option<Absent> {
        self.absent.iter().find(|absent| absent.option == name).copied()
    }

    /// The option of this name.
    pub fn find(&self, name: &str) -> Option<OptionId> {
        self.specs.iter().find(|(_, spec)| spec.name == name).map(|(id, _)| id)
    }

    /// Every option.
    pub fn iter(&self) -> impl Iterator<Item = (OptionId, &OptionSpec)> {
        self.specs.iter()
    }

    /// The names, for whoever looks for the nearest one.
    pub fn names(&self) -> impl Iterator<Item = &'static str> {
        self.specs.values().map(|spec| spec.name)
    }

    /// What is known of an option.
    pub fn at(&self, id: OptionId) -> &OptionSpec {
        &self.specs[id]
    }
}

/// The option that keeps a capacity that was measured and not believed.
pub(super) const REJECTED_IOPS: &str = "osd_mclock_rejected_iops";

const KIB: u64 = 1 << 10;
const MIB: u64 = 1 << 20;
const GIB: u64 = 1 << 30;

fn scheduler(preset: &Preset) -> Vec<OptionSpec> {
    let mut profiles: Vec<_> = preset.profiles.names().collect();
    profiles.push("custom");
    let kinds = SchedulerKind::ALL.map(SchedulerKind::name).to_vec();
    vec![
        OptionSpec::choice(
            "osd_mclock_profile",
            preset.profiles.default_profile,
            profiles,
            "who is favoured: the nine parameters of mClock under one name",
            "qos.md 5",
        )
        .under(Role::Profile),
        OptionSpec::choice(
            "osd_op_queue",
            SchedulerKind::Mclock.name(),
            kinds,
            "the scheduler",
            "qos.md 0.2",
        )
        .under(Role::AtStart),
        OptionSpec::choice(
            "osd_op_queue_cut_off",
            "high",
            vec!["high", "low"],
            "the priority from which work is strict: high is 196, low is 64",
            "qos.md 1.2",
        )
        .under(Role::AtStart),
        OptionSpec::flag(
            "osd_mclock_override_recovery_settings",
            false,
            "lets others than mClock set the bounds on recovery",
            "qos.md 5.5",
        )
        .under(Role::RecoveryGate),
    ]
}

/// The nine parameters: units per second and shard in the first eras, then fractions of the OSD.
fn parameters(unit: CostUnit) -> Vec<OptionSpec> {
    let names: [(ServiceClass, [&'static str; 3]); 3] = [
        (
            ServiceClass::Client,
            [
                "osd_mclock_scheduler_client_res",
                "osd_mclock_scheduler_client_wgt",
                "osd_mclock_scheduler_client_lim",
            ],
        ),
        (
            ServiceClass::Recovery,
            [
                "osd_mclock_scheduler_background_recovery_res",
                "osd_mclock_scheduler_background_recovery_wgt",
                "osd_mclock_scheduler_background_recovery_lim",
            ],
        ),
        (
            ServiceClass::BestEffort,
            [
                "osd_mclock_scheduler_background_best_effort_res",
                "osd_mclock_scheduler_background_best_effort_wgt",
                "osd_mclock_scheduler_background_best_effort_lim",
            ],
        ),
    ];
    let compiled = ClassValues::compiled(unit);
    let of_class = |(class, [reservation, weight, limit]): (ServiceClass, [&'static str; 3])| {
        [
            rate(unit, reservation, compiled.reservation, "guaranteed rate")
                .under(Role::Parameter(class, ClassParam::Reservation)),
            OptionSpec::count(weight, 1, 1..=999_999, "share of what is left", "qos.md 5.4")
                .under(Role::Parameter(class, ClassParam::Weight)),
            rate(unit, limit, compiled.limit, "highest rate; 0 for none")
                .under(Role::Parameter(class, ClassParam::Limit)),
        ]
    };
    names.into_iter().flat_map(of_class).collect()
}

fn rate(unit: CostUnit, name: &'static str, default: f64, doc: &'static str) -> OptionSpec {
    match unit {
        CostUnit::Mixed => OptionSpec::count(
            name,
            default as u64,
            0..=999_999,
            doc,
            "qos.md 5.4, units/s and shard",
        ),
        CostUnit::Bytes => {
            OptionSpec::float(name, default, 0.0..=1.0, doc, "qos.md 5.4, fraction of the OSD")
        }
    }
}

fn capacity() -> Vec<OptionSpec> {
    let iops = |name, medium| {
        let default = Capacity::default_for(medium, 1).iops;
        let doc = "4 KiB random writes per second of the OSD";
        OptionSpec::float(name, default, 1.0..=1e9, doc, "qos.md 4.1")
    };
    vec![
        iops("osd_mclock_max_capacity_iops_hdd", Medium::Hdd),
        iops("osd_mclock_max_capacity_iops_ssd", Medium::Ssd),
    ]
}

/// When an OSD measures its capacity, and what is believed. The thresholds exist from the era on that has them.
fn start_benchmark(preset: &Preset) -> Vec<OptionSpec> {
    let flag = |name, doc| OptionSpec::flag(name, false, doc, "qos.md 6.1").under(Role::AtStart);
    let iops = |name, default: Option<f64>, doc| {
        Some(OptionSpec::float(name, default?, 0.0..=1e9, doc, "qos.md 6.1"))
    };
    let of = |medium| Thresholds::default_for(preset.era, medium);
    let (hdd, ssd) = (of(Medium::Hdd), of(Medium::Ssd));
    let (high, low) = ("a measured capacity above is a cache's", "one below is a failure's");
    let bounds = [
        iops("osd_mclock_iops_capacity_threshold_hdd", hdd.upper, high),
        iops("osd_mclock_iops_capacity_threshold_ssd", ssd.upper, high),
        iops("osd_mclock_iops_capacity_low_threshold_hdd", hdd.lower, low),
        iops("osd_mclock_iops_capacity_low_threshold_ssd", ssd.lower, low),
    ];
    let rejected = OptionSpec::float(
        REJECTED_IOPS,
        0.0,
        0.0..=1e9,
        "what was measured at start and not believed; 0: measure at the next start",
        "Loadline's own, qos.md 6.3",
    );
    let flags = [
        flag("osd_mclock_skip_benchmark", "never measures the capacity at start"),
        flag("osd_mclock_force_run_benchmark_on_init", "measures it at every start"),
    ];
    flags.into_iter().chain(bounds.into_iter().flatten()).chain([rejected]).collect()
}

fn costs_of(preset: &Preset) -> Vec<OptionSpec> {
    match preset.cost_rule {
        CostRule::Time(costs) => {
            let cost = |name, default| {
                let doc = "cost in microseconds; without a medium: used undivided unless 0";
                OptionSpec::float(name, default, 0.0..=1e9, doc, "qos.md 4.1")
            };
            vec![
                cost("osd_mclock_cost_per_io_usec", costs.per_io_usec),
                cost("osd_mclock_cost_per_io_usec_hdd", costs.per_io_usec_hdd),
                cost("osd_mclock_cost_per_io_usec_ssd", costs.per_io_usec_ssd),
                cost("osd_mclock_cost_per_byte_usec", costs.per_byte_usec),
                cost("osd_mclock_cost_per_byte_usec_hdd", costs.per_byte_usec_hdd),
                cost("osd_mclock_cost_per_byte_usec_ssd", costs.per_byte_usec_ssd),
            ]
        }
        CostRule::Bytes(_) => {
            let bandwidth = |name, medium| {
                let default = Capacity::default_for(medium, 1).sequential_bandwidth as u64;
                let doc = "bytes per second that the device streams";
                OptionSpec::size(name, default, 1..=1_000 * GIB, doc, "qos.md 4.2")
            };
            vec![
                bandwidth("osd_mclock_max_sequential_bandwidth_hdd", Medium::Hdd),
                bandwidth("osd_mclock_max_sequential_bandwidth_ssd", Medium::Ssd),
            ]
        }
    }
}

fn sharding_of(preset: &Preset) -> Vec<OptionSpec> {
    let [hdd, ssd] = [Medium::Hdd, Medium::Ssd].map(|medium| preset.sharding(medium));
    let at_start = |name, default: u32, least, doc| {
        OptionSpec::count(name, u64::from(default), least..=1_024, doc, "qos.md 3")
            .under(Role::AtStart)
    };
    let shards = "queues of an OSD; without a medium: 0 leaves it to the other two";
    let threads = "workers of a queue; without a medium: 0 leaves it to the other two";
    vec![
        at_start("osd_op_num_shards", 0, 0, shards),
        at_start("osd_op_num_shards_hdd", hdd.shards, 1, shards),
        at_start("osd_op_num_shards_ssd", ssd.shards, 1, shards),
        at_start("osd_op_num_threads_per_shard", 0, 0, threads),
        at_start("osd_op_num_threads_per_shard_hdd", hdd.threads_per_shard, 1, threads),
        at_start("osd_op_num_threads_per_shard_ssd", ssd.threads_per_shard, 1, threads),
    ]
}

/// How long the device may take for what is in flight, where a preset holds back the dequeue by it. On flash a millisecond is some
/// twenty small writes, enough for every channel; an arm needs some ten requests to choose from.
fn window_of(preset: &Preset) -> Vec<OptionSpec> {
    let goal = |name, default| {
        let doc = "how long the device may take for all that is in flight; more waits in the queue";
        OptionSpec::seconds(name, default, 100e-6..=10.0, doc, "Loadline's own, docs/mclock.md")
    };
    match preset.holds_dequeue {
        true => vec![
            goal("osd_window_latency_goal_hdd", 0.05),
            goal("osd_window_latency_goal_ssd", 0.001),
        ],
        false => Vec::new(),
    }
}

/// What bounds recovery.
fn recovery(preset: &Preset) -> Vec<OptionSpec> {
    let limit = |name, default, least, doc| {
        OptionSpec::count(name, default, least..=100_000, doc, "qos.md 5.5")
            .under(Role::RecoveryLimit)
    };
    let active =
        "objects in recovery at once on a primary; without a medium: 0 leaves it to the other two";
    vec![
        limit("osd_max_backfills", 1, 1, "PGs recovering at once, as primary and as target each"),
        limit("osd_recovery_max_active", 0, 0, active),
        limit("osd_recovery_max_active_hdd", 3, 1, active),
        limit("osd_recovery_max_active_ssd", 10, 1, active),
        OptionSpec::count(
            "osd_recovery_max_single_start",
            1,
            1..=1_000,
            "pushes promised to one recovery item",
            "qos.md 9.3",
        ),
        OptionSpec::count(
            "osd_min_recovery_priority",
            0,
            0..=255,
            "reservations below this priority wait",
            "qos.md 9.2",
        ),
        OptionSpec::count(
            "osd_async_recovery_min_cost",
            preset.async_recovery_min_cost.into(),
            0..=1_000_000_000,
            "copies that miss more than this recover beside the writes",
            "qos.md 9.1",
        ),
        OptionSpec::count(
            "osd_min_pg_log_entries",
            250,
            1..=1_000_000,
            "writes that a placement group remembers one by one while all its copies are whole",
            "Ceph's default",
        ),
        OptionSpec::count(
            "osd_max_pg_log_entries",
            10_000,
            1..=1_000_000,
            "the same while a copy lacks something; who has missed more is filled by backfill",
            "Ceph's default",
        ),
        // Without a pause, what is found nowhere would be looked for without one.
        OptionSpec::seconds(
            "osd_recovery_retry_interval",
            30.0,
            0.1..=86_400.0,
            "before a refused recovery asks again",
            "qos.md 9.2",
        ),
        OptionSpec::seconds(
            "osd_backfill_retry_interval",
            30.0,
            0.1..=86_400.0,
            "before a refused backfill asks again",
            "qos.md 9.2",
        ),
        OptionSpec::time(
            "mon_osd_down_out_interval",
            600.0,
            "before an OSD that is down is taken out by itself; 0: never",
            "Ceph's default",
        ),
        OptionSpec::flag(
            "osd_heal_damaged_store",
            true,
            "makes a disk empty whose store is damaged, and fills it again, when the others have all that it had",
            "docs/admin.md",
        ),
        OptionSpec::size(
            "bluestore_throttle_bytes",
            0,
            0..=64 * GIB,
            "payload in the store at a time; 0: 256 KiB on SSD, 40 MiB on HDD, as in the study; 8 MiB and 40 MiB where a latency goal holds",
            "qos.md 13.1",
        ),
    ]
}

/// How recovery is cut into messages and scans.
fn recovery_messages() -> Vec<OptionSpec> {
    vec![
        OptionSpec::size(
            "osd_recovery_max_chunk",
            8 * MIB,
            4 * KIB..=GIB,
            "what the first eras charge for a push reply and for a pull, and later ones at most for a pull",
            "qos.md 9.4",
        ),
        OptionSpec::count(
            "osd_backfill_scan_max",
            512,
            1..=100_000,
            "most objects compared at a time",
            "qos.md 9.5",
        ),
    ]
}

fn sleeps() -> Vec<OptionSpec> {
    let recovery = "pause between recovery items; without a medium: 0 leaves it to the others";
    let delete =
        "pause of a deletion between transactions; without a medium: 0 leaves it to the others";
    let trim = "pause of a trim between objects; without a medium: 0 leaves it to the others";
    let rows = [
        ("osd_recovery_sleep", 0.0, recovery),
        ("osd_recovery_sleep_hdd", 0.1, recovery),
        ("osd_recovery_sleep_ssd", 0.0, recovery),
        ("osd_recovery_sleep_hybrid", 0.025, recovery),
        ("osd_scrub_sleep", 0.0, "pause of a scrub between chunks"),
        ("osd_delete_sleep", 0.0, delete),
        ("osd_delete_sleep_hdd", 5.0, delete),
        ("osd_delete_sleep_ssd", 1.0, delete),
        ("osd_delete_sleep_hybrid", 1.0, delete),
        ("osd_snap_trim_sleep", 0.0, trim),
        ("osd_snap_trim_sleep_hdd", 5.0, trim),
        ("osd_snap_trim_sleep_ssd", 0.0, trim),
        ("osd_snap_trim_sleep_hybrid", 2.0, trim),
    ];
    let sleep = |(name, seconds, doc)| {
        OptionSpec::time(name, seconds, doc, "qos.md 5.5").under(Role::Sleep)
    };
    rows.into_iter().map(sleep).collect()
}

fn priorities(preset: &Preset) -> Vec<OptionSpec> {
    let requested = match preset.era.unit() {
        CostUnit::Mixed => 120,
        CostUnit::Bytes => 5,
    };
    let rows = [
        ("osd_client_op_priority", 63, 63, "client operations"),
        ("osd_peering_op_priority", 255, 255, "peering events"),
        ("osd_recovery_priority", 5, 63, "recovery items"),
        ("osd_recovery_op_priority", 3, 63, "recovery messages"),
        ("osd_scrub_priority", 5, 63, "steps of scrubs that the clock begins"),
        (
            "osd_requested_scrub_priority",
            requested,
            255,
            "steps of scrubs that an operator asks for",
        ),
        ("osd_snap_trim_priority", 5, 63, "snapshot trim"),
        ("osd_pg_delete_priority", 5, 63, "PG deletion"),
    ];
    let priority = |(name, default, most, doc)| {
        OptionSpec::count(name, default, 1..=most, doc, "qos.md 1.2, priority under WPQ")
    };
    rows.into_iter().map(priority).collect()
}

fn input_costs(preset: &Preset) -> Vec<OptionSpec> {
    let scrub = match preset.client_reads {
        ClientReads::Message => scrub_costs(preset.era),
        // A scrub is charged what it reads.
        ClientReads::Data => &[],
    };
    let removal: &[(&str, u64, &str)] = match preset.client_reads {
        ClientReads::Message => &[
            ("osd_pg_delete_cost", MIB, "cost of a deletion item"),
            ("osd_snap_trim_cost", MIB, "cost of a trim item"),
        ],
        // Both are charged the operations that they are.
        ClientReads::Data => &[],
    };
    let rows = [
        ("osd_recovery_cost", 20 * MIB, "cost of a recovery item"),
        ("osd_push_per_object_cost", 1_000, "cost of an object in a push, beside its data"),
    ];
    let cost = |(name, bytes, doc)| OptionSpec::size(name, bytes, 0..=4 * GIB, doc, "qos.md 1.2");
    rows.into_iter().chain(scrub.iter().chain(removal).copied()).map(cost).collect()
}

fn scrub_costs(era: Era) -> &'static [(&'static str, u64, &'static str)] {
    const STEP: (&str, u64, &str) = ("osd_scrub_cost", 50 * MIB, "cost of a step of a scrub");
    const EVENT: (&str, u64, &str) = (
        "osd_scrub_event_cost",
        4 * KIB,
        "cost of a step of a scrub under mClock, for each object that a shallow chunk may have",
    );
    match era.unit() {
        CostUnit::Mixed => &[STEP],
        CostUnit::Bytes => &[STEP, EVENT],
    }
}

/// When scrubs are begun by the clock, and what becomes of what they find.
fn scrub_schedule() -> Vec<OptionSpec> {
    const DAY: f64 = 86_400.0;
    let time = |name, days, doc| {
        OptionSpec::seconds(name, days * DAY, 0.0..=3_650.0 * DAY, doc, "scrub.md 2.2")
    };
    let ratio =
        |name, default, doc| OptionSpec::float(name, default, 0.0..=1.0, doc, "scrub.md 2.2");
    let count = |name, most, doc| OptionSpec::count(name, 0, 0..=most, doc, "scrub.md 2.2");
    let flag = |name, doc| OptionSpec::flag(name, false, doc, "scrub.md 2.3");
    vec![
        time("osd_scrub_min_interval", 1.0, "a PG is scrubbed no sooner after its last scrub"),
        time("osd_scrub_max_interval", 7.0, "and no later, whatever the hour; 0: no such bound"),
        time("osd_deep_scrub_interval", 7.0, "a scrub is deep so long after the last deep one"),
        ratio(
            "osd_scrub_interval_randomize_ratio",
            0.5,
            "up to so much of the least interval is added",
        ),
        ratio(
            "osd_deep_scrub_randomize_ratio",
            0.15,
            "so many scrubs are deep before they need be",
        ),
        ratio(
            "osd_scrub_backoff_ratio",
            0.66,
            "so many of an OSD's looks for due PGs are left out",
        ),
        count(
            "osd_scrub_begin_hour",
            23,
            "the first hour (UTC) in which scrubs begin by the clock",
        ),
        count("osd_scrub_end_hour", 23, "the first hour after those; the same hour: all day"),
        count("osd_scrub_begin_week_day", 6, "the first such day of the week; 0 is Sunday"),
        count("osd_scrub_end_week_day", 6, "the first day after those; the same day: all week"),
        OptionSpec::float(
            "osd_scrub_load_threshold",
            0.5,
            0.0..=1_000.0,
            "scrubs begin by the clock while the machine's load per processor is lower, or below the day's mean and falling",
            "scrub.md 2.2",
        ),
        flag(
            "osd_scrub_during_recovery",
            "scrubs begin by the clock while the OSD recovers something",
        ),
        flag("noscrub", "no shallow scrub is begun by the clock"),
        flag("nodeep-scrub", "no deep scrub is begun by the clock"),
        flag("osd_scrub_auto_repair", "scrubs that the clock has begun repair what they find"),
        OptionSpec::count(
            "osd_scrub_auto_repair_num_errors",
            5,
            1..=1_000_000,
            "in so many objects at most",
            "scrub.md 2.3",
        ),
    ]
}

/// How much is trimmed at a time.
fn trims() -> Vec<OptionSpec> {
    let count = |name, doc| OptionSpec::count(name, 2, 1..=1_000, doc, "scrub.md 3.2");
    vec![
        count("osd_max_trimming_pgs", "PGs that an OSD leads and trims at a time"),
        count("osd_pg_max_concurrent_snap_trims", "objects of a PG that are trimmed at a time"),
        OptionSpec::flag("nosnaptrim", false, "nothing is trimmed", "scrub.md 3.2"),
    ]
}

/// How many placement groups are scrubbed at a time, and how many objects of one.
fn scrubs(preset: &Preset) -> Vec<OptionSpec> {
    let is_first = preset.era.unit() == CostUnit::Mixed;
    let count =
        |name, default, range, doc| OptionSpec::count(name, default, range, doc, "scrub.md 2");
    let slots = "PGs that are scrubbed on an OSD at a time, whoever leads them";
    let least = "objects of a deep scrub compared at a time, at least";
    let most = "the same at most; beyond osd_scrub_chunk_min";
    let mut options = vec![
        count("osd_max_scrubs", if is_first { 1 } else { 3 }, 1..=1_000, slots),
        count("osd_scrub_chunk_min", 5, 1..=100_000, least),
        count("osd_scrub_chunk_max", if is_first { 25 } else { 15 }, 1..=100_000, most),
        count(
            "osd_scrub_max_preemptions",
            5,
            0..=30,
            "how often writes may break one chunk off before they wait for it",
        ),
    ];
    if !is_first {
        let least = "the same of a shallow scrub, at least";
        options.push(count("osd_shallow_scrub_chunk_min", 50, 1..=100_000, least));
        options.push(count("osd_shallow_scrub_chunk_max", 100, 1..=100_000, "and at most"));
    }
    if preset.client_reads == ClientReads::Message {
        options.push(OptionSpec::size(
            "osd_deep_scrub_stride",
            512 * KIB,
            4 * KIB..=GIB,
            "bytes of one read of a deep scrub; a full one lets other work go first",
            "scrub.md 2.6",
        ));
    }
    options
}
