//! What an OSD is given: the settings in force, as the values that its parts are built from.

use super::options::REJECTED_IOPS;
use super::{ClassParam, Role, Settings, Value};
use loadline_base::{Bytes, Span, WallClock};
use loadline_device::Medium;
use loadline_osd::{
    ChunkBounds, LogReach, OsdId, OsdOptions, Pacing, ScrubOptions, ScrubReading, ScrubSchedule,
    ScrubSlots, ScrubWindow, TrimOptions, Windowed,
};
use loadline_qos::{
    Benchmark, Capacity, ClassValues, CostModel, CostRule, Preset, ProfileValues, ShardPlan,
    Thresholds, TimeCostOptions, WorkOptions,
};
use loadline_store::WindowBounds;

/// How Loadline's own preset reads a chunk: one object ahead, because a scan is bound by latency and not by the device; and in steps of 4 MiB,
/// behind which other work goes first.
const READING: ScrubReading = ScrubReading::Ahead { objects: 2, bytes: 4 << 20 };

/// How long a group waits in presets of other systems for which a member had no slot, beside two pauses (scrub.md 2.2).
const REFUSED: Span = Span::from_secs(300);

/// The workers of a queue, an option of OSDs that have any.
const THREADS: &str = "osd_op_num_threads_per_shard";

/// The study's store throttle per medium (qos.md 13.1): large enough for the device's full throughput, small enough
/// that work waits where the scheduler sees it.
fn throttle_of(medium: Medium, preset: &Preset) -> Bytes {
    match medium {
        // Where a latency goal bounds what is in flight, the bytes only bound the memory.
        Medium::Ssd if preset.holds_dequeue => Bytes::from_mib(8),
        Medium::Ssd => Bytes::from_kib(256),
        Medium::Hdd | Medium::Hybrid => Bytes::from_mib(40),
    }
}

impl Settings {
    /// The name of the profile in force on an OSD; `custom` is one too.
    pub fn profile(&self, osd: OsdId) -> String {
        let option = self.named("osd_mclock_profile");
        self.effective(osd, option).0.to_string()
    }

    /// What the shards of an OSD are built from.
    pub fn plan(&self, osd: OsdId) -> ShardPlan {
        let view = self.view();
        let capacity = view.capacity(osd);
        let cost_model = match self.preset.cost_rule {
            CostRule::Time(_) => {
                CostModel::time(&self.time_costs(osd), self.levels.each[osd].medium)
            }
            CostRule::Bytes(combine) => {
                CostModel::bytes(capacity.sequential_bandwidth, capacity.iops, combine)
            }
        };
        let cut_off = self.table.find("osd_op_queue_cut_off").map(|id| self.effective(osd, id).0);
        ShardPlan {
            preset: self.preset,
            scheduler: view.scheduler(osd),
            capacity,
            values: self.values(osd),
            cost_model,
            work_options: self.work_options(osd),
            cut_off: if cut_off == Some(Value::Choice("low")) { 64 } else { 196 },
        }
    }

    /// The bounds that an OSD works within.
    pub fn osd_options(&self, osd: OsdId) -> OsdOptions {
        let view = self.view();
        let count = |name| view.number(osd, name) as u32;
        let span = |name| Span::from_secs_f64(view.number(osd, name));
        let by_medium = |name| Span::from_secs_f64(view.number_or_by_medium(osd, name));
        let throttle = match view.number(osd, "bluestore_throttle_bytes") as u64 {
            0 => throttle_of(self.levels.each[osd].medium, &self.preset),
            bytes => Bytes::new(bytes),
        };
        let pacing = self.pacing(osd);
        OsdOptions {
            shards: view.capacity(osd).shards,
            threads_per_shard: match self.table.find(THREADS) {
                Some(_) => view.number_or_by_medium(osd, THREADS) as u32,
                None => 1,
            },
            window: WindowBounds { bytes: throttle, ops: u32::MAX },
            windowed: if pacing.is_some() { Windowed::All } else { Windowed::Writes },
            pacing,
            capacity_iops_max: self
                .capacity_thresholds(osd)
                .upper
                .map_or(u64::MAX, |iops| iops as u64),
            device: self.device_terms(osd),
            backfills_max: count("osd_max_backfills") as usize,
            recovery_active_max: view.number_or_by_medium(osd, "osd_recovery_max_active") as u32,
            recovery_single_start_max: count("osd_recovery_max_single_start"),
            recovery_sleep: by_medium("osd_recovery_sleep"),
            delete_sleep: by_medium("osd_delete_sleep"),
            asynchronous_above: view.number(osd, "osd_async_recovery_min_cost") as u64,
            log_reach: LogReach {
                clean: count("osd_min_pg_log_entries") as usize,
                degraded: count("osd_max_pg_log_entries") as usize,
            },
            recovery_priority_min: count("osd_min_recovery_priority") as u8,
            recovery_retry_interval: span("osd_recovery_retry_interval"),
            backfill_retry_interval: span("osd_backfill_retry_interval"),
            backfill_scan_max: count("osd_backfill_scan_max") as usize,
            scrub: self.scrub_options(osd),
            trim: TrimOptions {
                pgs_max: count("osd_max_trimming_pgs") as usize,
                objects_max: count("osd_pg_max_concurrent_snap_trims") as usize,
                sleep: by_medium("osd_snap_trim_sleep"),
                is_off: self.flag(osd, "nosnaptrim"),
            },
            clock: WallClock::default(),
        }
    }

    fn scrub_options(&self, osd: OsdId) -> ScrubOptions {
        let view = self.view();
        let count = |name: &str| view.number(osd, name) as u32;
        let bounds =
            |[least, most]: [&str; 2]| ChunkBounds { least: count(least), most: count(most) };
        let deep_chunk = bounds(["osd_scrub_chunk_min", "osd_scrub_chunk_max"]);
        let shallow = ["osd_shallow_scrub_chunk_min", "osd_shallow_scrub_chunk_max"];
        let sleep = Span::from_secs_f64(view.number(osd, "osd_scrub_sleep"));
        let (reading, slots) = match self.table.find("osd_deep_scrub_stride") {
            Some(_) => (
                ScrubReading::Strides(view.number(osd, "osd_deep_scrub_stride") as u64),
                ScrubSlots::OrRefused(REFUSED + sleep * 2),
            ),
            None => (READING, ScrubSlots::InLine),
        };
        ScrubOptions {
            scrubs_max: count("osd_max_scrubs") as usize,
            deep_chunk,
            // The first eras have the same bounds for both.
            shallow_chunk: match self.table.find(shallow[0]) {
                Some(_) => bounds(shallow),
                None => deep_chunk,
            },
            preemptions_max: count("osd_scrub_max_preemptions"),
            sleep,
            reading,
            slots,
            is_paced: slots == ScrubSlots::InLine,
            schedule: self.scrub_schedule(osd),
            auto_repairs_max: match self.flag(osd, "osd_scrub_auto_repair") {
                true => count("osd_scrub_auto_repair_num_errors").into(),
                false => 0,
            },
        }
    }

    fn scrub_schedule(&self, osd: OsdId) -> ScrubSchedule {
        let view = self.view();
        let span = |name| Span::from_secs_f64(view.number(osd, name));
        let ppm = |name| (view.number(osd, name) * 1e6).round() as u32;
        let window = |[begin, end]: [&str; 2]| ScrubWindow {
            begin: view.number(osd, begin) as u32,
            end: view.number(osd, end) as u32,
        };
        ScrubSchedule {
            least: span("osd_scrub_min_interval"),
            most: span("osd_scrub_max_interval"),
            deep: span("osd_deep_scrub_interval"),
            spread_ppm: ppm("osd_scrub_interval_randomize_ratio"),
            early_deep_ppm: ppm("osd_deep_scrub_randomize_ratio"),
            backoff_ppm: ppm("osd_scrub_backoff_ratio"),
            hours: window(["osd_scrub_begin_hour", "osd_scrub_end_hour"]),
            week_days: window(["osd_scrub_begin_week_day", "osd_scrub_end_week_day"]),
            load_threshold_milli: (view.number(osd, "osd_scrub_load_threshold") * 1e3).round()
                as u32,
            no_shallow: self.flag(osd, "noscrub"),
            no_deep: self.flag(osd, "nodeep-scrub"),
            during_recovery: self.flag(osd, "osd_scrub_during_recovery"),
        }
    }

    fn flag(&self, osd: OsdId, name: &str) -> bool {
        let option = self.table.find(name).expect("the table has the switches");
        self.effective(osd, option).0 == Value::Flag(true)
    }

    /// How the dequeue is held back, where the preset does that.
    fn pacing(&self, osd: OsdId) -> Option<Pacing> {
        let view = self.view();
        let option = view.find_by_medium(osd, "osd_window_latency_goal")?;
        let goal = self.effective(osd, option).0.number().expect("a time is a number");
        let part_max = match self.levels.each[osd].medium {
            Medium::Ssd => Bytes::from_kib(512),
            Medium::Hdd | Medium::Hybrid => Bytes::from_mib(2),
        };
        Some(Pacing { goal: Span::from_secs_f64(goal), part_max })
    }

    /// What decides whether an OSD measures its capacity when it starts.
    pub fn benchmark(&self, osd: OsdId) -> Benchmark {
        let view = self.view();
        let flag = |name| self.flag(osd, name);
        Benchmark {
            scheduler: view.scheduler(osd),
            skip: flag("osd_mclock_skip_benchmark"),
            force: flag("osd_mclock_force_run_benchmark_on_init"),
            memory_only: false,
            current_iops: view.capacity(osd).iops,
            default_iops: Capacity::default_for(self.levels.each[osd].medium, 1).iops,
            rejected: view.number(osd, REJECTED_IOPS) > 0.0,
        }
    }

    /// Between which bounds a measured capacity is believed.
    pub fn capacity_thresholds(&self, osd: OsdId) -> Thresholds {
        let view = self.view();
        let bound = |name| {
            let option = view.find_by_medium(osd, name)?;
            self.effective(osd, option).0.number()
        };
        Thresholds {
            lower: bound("osd_mclock_iops_capacity_low_threshold"),
            upper: bound("osd_mclock_iops_capacity_threshold"),
        }
    }

    /// The option that holds an OSD's capacity, and the one that keeps a value that was not believed.
    pub fn capacity_options(&self, osd: OsdId) -> (&'static str, &'static str) {
        let option = self.view().find_by_medium(osd, "osd_mclock_max_capacity_iops");
        (self.table.at(option.expect("each medium has a capacity")).name, REJECTED_IOPS)
    }

    /// The nine parameters in force. What happens at a limit is the profile's, also of the one left behind.
    fn values(&self, osd: OsdId) -> ProfileValues {
        let view = self.view();
        let unit = self.preset.profiles.unit;
        let mut values = self.levels.each[osd].profile.values(unit, &view.capacity(osd));
        for (option, spec) in self.table.iter() {
            let Role::Parameter(class, part) = spec.role else { continue };
            let of_class: &mut ClassValues = values.of_mut(class).expect("a shared class");
            let (value, _) = view.effective(osd, option);
            let number = value.number().expect("a parameter is a number");
            match part {
                ClassParam::Reservation => of_class.reservation = number,
                ClassParam::Weight => of_class.weight = number,
                ClassParam::Limit => of_class.limit = number,
            }
        }
        values
    }

    fn time_costs(&self, osd: OsdId) -> TimeCostOptions {
        let view = self.view();
        TimeCostOptions {
            per_io_usec: view.number(osd, "osd_mclock_cost_per_io_usec"),
            per_io_usec_hdd: view.number(osd, "osd_mclock_cost_per_io_usec_hdd"),
            per_io_usec_ssd: view.number(osd, "osd_mclock_cost_per_io_usec_ssd"),
            per_byte_usec: view.number(osd, "osd_mclock_cost_per_byte_usec"),
            per_byte_usec_hdd: view.number(osd, "osd_mclock_cost_per_byte_usec_hdd"),
            per_byte_usec_ssd: view.number(osd, "osd_mclock_cost_per_byte_usec_ssd"),
        }
    }

    fn work_options(&self, osd: OsdId) -> WorkOptions {
        let view = self.view();
        let count = |name| view.number(osd, name) as u32;
        let bytes = |name| view.number(osd, name) as u64;
        let default = WorkOptions::default();
        // What a preset does not charge has no option there.
        let or_default = |name, default| self.table.find(name).map_or(default, |_| bytes(name));
        WorkOptions {
            client_op_priority: count("osd_client_op_priority"),
            peering_op_priority: count("osd_peering_op_priority"),
            recovery_priority: count("osd_recovery_priority"),
            recovery_op_priority: count("osd_recovery_op_priority"),
            pg_delete_priority: count("osd_pg_delete_priority"),
            snap_trim_priority: count("osd_snap_trim_priority"),
            recovery_cost: bytes("osd_recovery_cost"),
            push_per_object_cost: bytes("osd_push_per_object_cost"),
            recovery_max_chunk: bytes("osd_recovery_max_chunk"),
            scrub_priority: count("osd_scrub_priority"),
            requested_scrub_priority: count("osd_requested_scrub_priority"),
            scrub_cost: or_default("osd_scrub_cost", default.scrub_cost),
            scrub_event_cost: or_default("osd_scrub_event_cost", default.scrub_event_cost),
            shallow_scrub_chunk_max: or_default(
                "osd_shallow_scrub_chunk_max",
                default.shallow_scrub_chunk_max.into(),
            ) as u32,
            snap_trim_cost: or_default("osd_snap_trim_cost", default.snap_trim_cost),
            pg_max_concurrent_snap_trims: count("osd_pg_max_concurrent_snap_trims"),
            pg_delete_cost: or_default("osd_pg_delete_cost", default.pg_delete_cost),
        }
    }
}
