//! No option without a reader: there is a set-up in which another value of it gives an OSD something else. And none without
//! a test of what an OSD does with that.

use super::*;
use loadline_device::cdl::{Descriptor, Limit, Unit};
use loadline_qos::{SchedulerKind, ServiceClass, Urgency, Work, WorkOptions, WorkSize};

/// The kinds of work that are queued. The plan may know of more.
const QUEUED: [Work; 16] = [
    Work::ClientOp,
    Work::BackgroundOp,
    Work::ReplicaWrite,
    Work::ReplicaAck,
    Work::PeeringEvent,
    Work::RecoveryItem,
    Work::Push,
    Work::PushReply,
    Work::Pull,
    Work::BackfillScan,
    Work::ScrubEvent,
    Work::RequestedScrubEvent,
    Work::BlockingScrubEvent,
    Work::SnapTrim,
    Work::PgDelete,
    Work::Checkpoint,
];

/// Everything that settings decide: what an OSD is given, what it is charged, and what its owner asks.
fn given(settings: &Settings) -> String {
    let mut plan = settings.plan(OSD);
    let size = WorkSize {
        payload: 4_096,
        objects: 1,
        object_size_average: 4 << 20,
        remaining: 1 << 40,
        urgency: Urgency::Degraded,
        ..WorkSize::default()
    };
    let charges = QUEUED.map(|work| plan.admit(work, &size, 0));
    plan.work_options = WorkOptions::default();
    let owner = (settings.down_out_interval(OSD), settings.heals_damaged_store(OSD));
    let capacity = (settings.benchmark(OSD), settings.capacity_thresholds(OSD));
    format!("{plan:?} {charges:?} {:?} {owner:?} {capacity:?}", settings.osd_options(OSD))
}

/// An OSD that may be set as its operator likes: custom profile, open gate, a priority for each class, and a drive with
/// duration limits.
fn set_up(preset: Preset, medium: Medium, scheduler: SchedulerKind) -> Settings {
    let mut settings = Settings::new(preset, &[medium], Enforcement::Refuse);
    let mut limits = DriveLimits::default();
    let guideline = Limit { time: 1, ..Limit::default() };
    limits.reads.descriptors[0] =
        Descriptor { unit: Unit::TenMilliseconds, guideline, ..Descriptor::default() };
    settings.set_drive_limits(OSD, limits);
    let mut change = SettingsChange::default();
    let mut set = |option: &str, value: &str| {
        change =
            std::mem::take(&mut change).and_set(LevelTarget::Stored(Scope::Global), option, value);
    };
    set("osd_op_queue", scheduler.name());
    set("osd_mclock_profile", "custom");
    set("osd_mclock_override_recovery_settings", "true");
    set("osd_scrub_auto_repair", "true");
    for class in ServiceClass::SHARED {
        let [priority_class, ..] = Settings::device_options_of(class).expect("it has a share");
        set(priority_class, "be");
    }
    settings.apply(&change).expect("the set-up is allowed");
    settings.start(OSD);
    settings
}

/// Some values of an option.
fn values(spec: &OptionSpec) -> Vec<String> {
    match (&spec.kind, &spec.range) {
        (ValueKind::Choice(names), _) => names.iter().map(|name| (*name).to_owned()).collect(),
        (ValueKind::Flag, _) => vec!["true".to_owned(), "false".to_owned()],
        (_, range) => {
            let range = range.as_ref().expect("numbers have a range");
            let near = spec.default.number().unwrap_or_default() / 2.0;
            [*range.end(), near, *range.start()]
                .into_iter()
                .filter(|number| range.contains(number))
                .map(|number| spec.kind.of_number(number).to_string())
                .collect()
        }
    }
}

fn is_read(preset: &Preset, name: &str) -> bool {
    for medium in [Medium::Ssd, Medium::Hdd, Medium::Hybrid] {
        for scheduler in [SchedulerKind::Mclock, SchedulerKind::Wpq] {
            let settings = set_up(*preset, medium, scheduler);
            let before = given(&settings);
            for value in values(settings.table.at(settings.named(name))) {
                let mut changed = settings.clone();
                let refused = changed.apply(&SettingsChange::set(STORED, name, &value)).is_err();
                changed.start(OSD);
                if !refused && given(&changed) != before {
                    return true;
                }
            }
        }
    }
    false
}

#[test]
fn every_option_is_read() {
    for preset in loadline_qos::PRESETS {
        let table = OptionTable::new(preset);
        // What the gate decides is what may be set.
        let specs = table.iter().filter(|(_, spec)| spec.role != Role::RecoveryGate);
        let unread: Vec<_> =
            specs.map(|(_, spec)| spec.name).filter(|name| !is_read(preset, name)).collect();
        assert_eq!(unread, [""; 0], "in {}", preset.name);
    }
}

/// By the beginning of an option's name: the file and the test that shows what comes of it.
#[rustfmt::skip]
const EFFECTS: &[(&str, &str, &str)] = &[
    ("bluestore_throttle_bytes", "core/osd/tests/events/ops.rs", "a_wider_window_lets_in_what_waits"),
    ("mon_osd_down_out_interval", "loadline/tests/node/running/states.rs", "an_osd_that_is_down_for_long_is_taken_out_until_it_is_back"),
    ("osd_async_recovery_min_cost", "core/osd/tests/events/bounds.rs", "a_copy_tells_how_far_others_may_lie_behind"),
    ("osd_backfill_retry_interval", "core/osd/tests/events/recovery.rs", "a_disk_without_room_takes_no_backfills"),
    ("osd_backfill_scan_max", "core/osd/tests/events/bounds.rs", "a_scan_compares_as_many_objects_as_allowed"),
    ("osd_client_op_priority", "core/qos/src/work.rs", "every_kind_is_charged_as_tabulated"),
    ("osd_delete_sleep", "core/osd/tests/events/bounds.rs", "a_deletion_sleeps_between_its_transactions"),
    ("osd_device_", "core/osd/tests/events/terms.rs", "the_log_is_as_urgent_as_the_most_urgent_class_and_has_no_limit"),
    ("osd_heal_damaged_store", "loadline/tests/node/running/disks.rs", "a_damaged_disk_is_filled_again_by_itself"),
    ("nodeep-scrub", "worlds/sim/tests/node/scrub_schedule.rs", "what_the_clock_has_begun_ends_when_it_is_forbidden"),
    ("noscrub", "worlds/sim/tests/node/scrub_schedule.rs", "what_the_clock_has_begun_ends_when_it_is_forbidden"),
    ("osd_deep_scrub_interval", "core/osd/src/scrub/schedule.rs", "a_deadline_holds_at_any_hour"),
    ("osd_deep_scrub_randomize_ratio", "core/osd/src/scrub/schedule.rs", "flags_forbid_kinds"),
    ("osd_deep_scrub_stride", "core/osd/tests/events/scrub.rs", "a_full_stride_lets_other_work_go_first"),
    ("osd_max_backfills", "core/osd/tests/events/recovery.rs", "more_slots_let_a_waiting_group_in_at_once"),
    ("osd_max_scrubs", "core/osd/tests/events/scrub.rs", "more_slots_let_a_waiting_scrub_begin"),
    ("osd_mclock_cost_per_", "core/qos/src/cost_tests.rs", "first_eras_cost_as_tabulated"),
    ("osd_mclock_force_run_benchmark_on_init", "core/qos/src/capacity.rs", "the_benchmark_runs_only_where_its_result_is_needed"),
    ("osd_mclock_iops_capacity_", "core/qos/src/capacity.rs", "a_measured_capacity_is_judged_by_its_era"),
    ("osd_mclock_max_", "core/qos/src/plan_tests.rs", "figures_in_every_unit"),
    ("osd_mclock_override_recovery_settings", "core/cluster/src/settings/tests/walk.rs", "the_walk_with_refusals"),
    ("osd_mclock_profile", "worlds/sim/tests/histories/rates.rs", "a_profile_switch_changes_the_rate_of_every_shard_at_once"),
    ("osd_mclock_rejected_iops", "core/qos/src/capacity.rs", "the_benchmark_runs_only_where_its_result_is_needed"),
    ("osd_mclock_scheduler_", "core/osd/tests/events/ops.rs", "new_parameters_reach_what_already_waits"),
    ("osd_mclock_skip_benchmark", "core/qos/src/capacity.rs", "the_benchmark_runs_only_where_its_result_is_needed"),
    ("osd_max_pg_log_entries", "core/osd/tests/events/bounds.rs", "a_log_remembers_as_many_writes_as_it_is_told"),
    ("osd_min_pg_log_entries", "core/osd/tests/events/bounds.rs", "a_log_remembers_as_many_writes_as_it_is_told"),
    ("osd_min_recovery_priority", "core/osd/tests/events/recovery.rs", "below_the_least_priority_recovery_waits_until_that_is_lowered"),
    ("osd_op_num_shards", "core/cluster/src/settings/tests/mod.rs", "options_that_are_read_at_start_wait_for_it"),
    ("osd_op_num_threads_per_shard", "core/osd/tests/events/ops.rs", "a_busy_group_blocks_the_worker_that_takes_its_next_item"),
    ("osd_op_queue", "worlds/sim/tests/histories/rates.rs", "under_wpq_with_sleep_one_item_starts_per_sleep"),
    ("osd_op_queue_cut_off", "core/qos/src/plan_tests.rs", "the_cut_off_decides_what_is_strict"),
    ("osd_peering_op_priority", "core/qos/src/work.rs", "every_kind_is_charged_as_tabulated"),
    ("osd_pg_delete_cost", "core/qos/src/work.rs", "every_kind_is_charged_as_tabulated"),
    ("osd_pg_delete_priority", "core/qos/src/work.rs", "every_kind_is_charged_as_tabulated"),
    ("osd_push_per_object_cost", "core/qos/src/work.rs", "every_kind_is_charged_as_tabulated"),
    ("osd_recovery_cost", "core/qos/src/work.rs", "every_kind_is_charged_as_tabulated"),
    ("osd_recovery_max_active", "core/osd/tests/events/recovery.rs", "no_more_objects_are_active_than_admitted"),
    ("osd_recovery_max_chunk", "core/qos/src/work.rs", "a_pull_is_clamped_and_an_item_costs_at_least_one"),
    ("osd_recovery_max_single_start", "core/osd/tests/events/bounds.rs", "an_item_starts_as_many_objects_as_it_was_promised"),
    ("osd_recovery_op_priority", "core/qos/src/work.rs", "every_kind_is_charged_as_tabulated"),
    ("osd_recovery_priority", "core/qos/src/work.rs", "every_kind_is_charged_as_tabulated"),
    ("osd_recovery_retry_interval", "core/osd/tests/events/damage.rs", "what_nobody_can_give_to_who_lacks_it_is_tried_again"),
    ("osd_requested_scrub_priority", "core/qos/src/work.rs", "every_kind_is_charged_as_tabulated"),
    ("osd_scrub_auto_repair", "worlds/sim/tests/node/scrub_schedule.rs", "what_the_clock_finds_is_repaired_if_it_is_little"),
    ("osd_scrub_backoff_ratio", "core/osd/src/scrub/schedule.rs", "targets_are_spread_over_half_of_the_least_interval"),
    ("osd_scrub_begin_", "core/osd/src/scrub/schedule.rs", "hours_pass_midnight_and_days_the_end_of_the_week"),
    ("osd_scrub_chunk_", "core/osd/tests/events/scrub.rs", "a_chunk_has_as_many_objects_as_allowed"),
    ("osd_scrub_cost", "core/qos/src/work.rs", "every_kind_is_charged_as_tabulated"),
    ("osd_scrub_during_recovery", "worlds/sim/tests/node/scrub_schedule.rs", "while_something_is_recovered_no_scrub_begins_unless_it_may"),
    ("osd_scrub_end_", "core/osd/src/scrub/schedule.rs", "hours_pass_midnight_and_days_the_end_of_the_week"),
    ("osd_scrub_event_cost", "core/qos/src/work.rs", "every_kind_is_charged_as_tabulated"),
    ("osd_scrub_interval_randomize_ratio", "core/osd/src/scrub/schedule.rs", "targets_are_spread_over_half_of_the_least_interval"),
    ("osd_scrub_load_threshold", "worlds/sim/tests/node/scrub_schedule.rs", "a_busy_machine_keeps_the_clock_from_scrubs_and_no_operator"),
    ("osd_scrub_max_interval", "core/osd/src/scrub/schedule.rs", "a_deadline_holds_at_any_hour"),
    ("osd_scrub_max_preemptions", "core/osd/tests/events/scrub.rs", "writes_break_a_chunk_off_so_often_and_then_wait"),
    ("osd_scrub_min_interval", "worlds/sim/tests/node/scrub_schedule.rs", "every_group_is_scrubbed_in_its_time"),
    ("osd_scrub_priority", "core/qos/src/work.rs", "every_kind_is_charged_as_tabulated"),
    ("osd_scrub_sleep", "core/osd/tests/events/scrub.rs", "a_scrub_sleeps_between_chunks"),
    ("osd_shallow_scrub_chunk_", "core/osd/tests/events/scrub.rs", "a_chunk_has_as_many_objects_as_allowed"),
    ("nosnaptrim", "core/osd/tests/events/trim.rs", "nothing_is_trimmed_while_it_is_forbidden"),
    ("osd_max_trimming_pgs", "core/osd/tests/events/trim.rs", "so_many_groups_are_trimmed_at_a_time"),
    ("osd_pg_max_concurrent_snap_trims", "core/osd/tests/events/trim.rs", "so_many_objects_are_trimmed_at_a_time"),
    ("osd_snap_trim_cost", "core/qos/src/work.rs", "every_kind_is_charged_as_tabulated"),
    ("osd_snap_trim_priority", "core/qos/src/work.rs", "every_kind_is_charged_as_tabulated"),
    ("osd_snap_trim_sleep", "core/osd/tests/events/trim.rs", "a_trim_sleeps_after_its_objects"),
    ("osd_window_latency_goal_", "core/osd/tests/events/gate.rs", "a_longer_goal_lets_in_what_waits"),
    ("osd_recovery_sleep", "core/osd/tests/events/recovery.rs", "one_object_starts_per_sleep"),
];

#[test]
fn every_option_has_a_test_of_its_effect() {
    let root = std::path::Path::new(env!("CARGO_MANIFEST_DIR")).join("../..");
    let tables: Vec<_> = loadline_qos::PRESETS.iter().map(OptionTable::new).collect();
    let names: Vec<_> = tables.iter().flat_map(OptionTable::names).collect();
    for (beginning, file, test) in EFFECTS {
        assert!(names.iter().any(|name| name.starts_with(beginning)), "no option {beginning}");
        let text = std::fs::read_to_string(root.join(file)).unwrap();
        assert!(text.contains(&format!("fn {test}()")), "{file} has no test {test}");
    }
    for name in names {
        let tested = EFFECTS.iter().any(|(beginning, ..)| name.starts_with(beginning));
        assert!(tested, "no test shows the effect of {name}");
    }
}
