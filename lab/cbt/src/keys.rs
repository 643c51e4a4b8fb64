//! What becomes of each key of a test. The names are those of CBT's own sources (`cluster/ceph.py`, `benchmark/librbdfio.py`,
//! `benchmark/fio.py`, `client_endpoints/`).

use crate::section::KeyUse::{self, Left, Own, Read};

type KnownKeys = &'static [(&'static str, KeyUse)];

pub(crate) const TOP: KnownKeys = &[
    ("cluster", Read),
    ("benchmarks", Read),
    ("client_endpoints", Read),
    ("monitoring_profiles", Own),
];

pub(crate) const CLUSTER: KnownKeys = &[
    ("osds", Read),
    ("osds_per_node", Read),
    ("clients", Read),
    ("pool_profiles", Read),
    ("recovery_test", Read),
    ("conf_file", Read),
    ("iterations", Read),
    ("tiering", Left("pools have no cache tier here")),
    ("crush_profiles", Left("which OSDs a pool has is the study's `placement`")),
    ("erasure_profiles", Left("pools keep whole copies here")),
    ("disable_balancer", Left("no balancer is simulated, and on a cluster it rests in every run")),
    ("crimson_cpusets", Left("OSDs are not bound to processors")),
    ("scrub_test", Left("a study of scrubs is one of its own: `loadline study show scrub-nvme`")),
    ("archive_dir", Own),
    ("cephfs_pools", Own),
    ("clusterid", Own),
    ("core_dir", Own),
    ("fs", Own),
    ("head", Own),
    ("health_wait", Own),
    ("hosts", Own),
    ("idle_duration", Own),
    ("is_teuthology", Own),
    ("log_dir", Own),
    ("mdss", Own),
    ("mgrs", Own),
    ("mkfs_opts", Own),
    ("monitoring_dir", Own),
    ("mons", Own),
    ("mount_opts", Own),
    ("newstore_block", Own),
    ("osd_online_rate", Own),
    ("osd_online_timeout", Own),
    ("osd_parallel_creates", Own),
    ("pdsh_ssh_args", Own),
    ("pid_dir", Own),
    ("rebuild_every_test", Own),
    ("rgw_pools", Own),
    ("rgws", Own),
    ("tmp_dir", Own),
    ("use_existing", Own),
    ("user", Own),
    ("version_compat", Own),
];

const CACHE_TIER: KeyUse = Left("pools have no cache tier here");
const NO_OTHERS: KeyUse = Left("the clients' pool holds their volumes alone");

pub(crate) const POOL: KnownKeys = &[
    ("pg_size", Read),
    ("pgp_size", Read),
    ("replication", Read),
    ("recov_pool", Read),
    ("prefill_recov_objects", Read),
    ("prefill_recov_object_size", Read),
    ("prefill_recov_time", Read),
    ("erasure_profile", Left("pools keep whole copies here")),
    ("ec_overwrites", Left("pools keep whole copies here")),
    ("crush_profile", Left("which OSDs a pool has is the study's `placement`")),
    ("prefill_objects", NO_OTHERS),
    ("prefill_object_size", NO_OTHERS),
    ("prefill_time", NO_OTHERS),
    ("cache_profile", CACHE_TIER),
    ("cache_mode", CACHE_TIER),
    ("hit_set_type", CACHE_TIER),
    ("hit_set_count", CACHE_TIER),
    ("hit_set_period", CACHE_TIER),
    ("target_max_objects", CACHE_TIER),
    ("target_max_bytes", CACHE_TIER),
    ("min_read_recency_for_promote", CACHE_TIER),
    ("min_write_recency_for_promote", CACHE_TIER),
];

pub(crate) const RECOVERY_TEST: KnownKeys = &[
    ("osds", Read),
    ("pre_time", Read),
    ("post_time", Left("clients end with the recovery")),
    (
        "repeat",
        Left("an OSD goes and returns once in a run: `study run --repeat N` makes more of them"),
    ),
    ("run_dir", Own),
];

pub(crate) const ENDPOINTS: KnownKeys = &[
    ("driver", Read),
    ("endpoints_per_client", Read),
    ("endpoint_size", Left("what clients write to is as large as the benchmark's `size`")),
    ("pool_profile", Read),
    ("recov_pool_profile", Read),
    ("data_pool_profile", Left("an image has its data in one pool")),
    ("disabled_features", Own),
    ("mount_opts", Own),
    ("order", Own),
];

pub(crate) const BENCHMARK: KnownKeys = &[
    ("client_endpoints", Read),
    ("pool_profile", Read),
    ("recov_pool_profile", Read),
    ("recov_test_type", Read),
    ("time", Read),
    ("mode", Read),
    ("rwmixread", Read),
    ("op_size", Read),
    ("bs", Read),
    ("iodepth", Read),
    ("total_iodepth", Read),
    ("numjobs", Read),
    ("procs_per_volume", Read),
    ("procs_per_endpoint", Read),
    ("concurrent_procs", Read),
    ("volumes_per_client", Read),
    ("vol_size", Read),
    ("size", Read),
    ("rate_iops", Read),
    ("vol_object_size", Read),
    ("data_pool_profile", Left("an image has its data in one pool")),
    ("end_fsync", Left("every op is durable when it is answered")),
    ("ramp", Left("a recovery study is measured from its first op")),
    ("random_distribution", Left("addresses are drawn evenly")),
    ("startdelay", Left("clients begin with the recovery")),
    (
        "workloads",
        Left("a study has one load: that of the benchmark's own `mode`, `op_size` and `iodepth`"),
    ),
    ("pre_workload_script", Left("nothing else runs before a study")),
    ("acceptable", Left("what must be so of a result is the study's `[[expect]]`")),
    ("base_url", Own),
    ("create_report", Own),
    ("direct", Own),
    ("fio_out_format", Own),
    ("idle_monitor_sleep", Own),
    ("invalidate", Own),
    ("ioengine", Own),
    ("iteration", Own),
    ("jobname", Own),
    ("log_avg_msec", Own),
    ("log_bw", Own),
    ("log_iops", Own),
    ("log_lat", Own),
    ("logging", Own),
    ("no_sudo", Own),
    ("norandommap", Own),
    ("osd_ra", Own),
    ("pgs", Own),
    ("poolname", Own),
    ("prefill", Own),
    ("prefill_bs", Own),
    ("prefill_iodepth", Own),
    ("rbdadd_mons", Own),
    ("rbdadd_options", Own),
    ("rbdname", Own),
    ("recov_pool_name", Own),
    ("time_based", Own),
    ("use_existing_volumes", Own),
    ("valgrind", Own),
    ("wait_pgautoscaler_timeout", Own),
];

/// What becomes of a key: the paths and wrappers of programs are all spelt alike.
pub(crate) fn use_of(keys: KnownKeys) -> impl Fn(&str) -> Option<KeyUse> {
    move |name| match keys.iter().find(|(known, _)| *known == name) {
        Some((_, use_of)) => Some(*use_of),
        None if ["_cmd", "_path", "_valgrind"].iter().any(|end| name.ends_with(end)) => Some(Own),
        None => None,
    }
}

/// The names, for whoever looks for the nearest one.
pub(crate) fn names(keys: KnownKeys) -> Vec<&'static str> {
    keys.iter().map(|(name, _)| *name).collect()
}
