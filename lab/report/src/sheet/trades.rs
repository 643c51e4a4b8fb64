//! What the setups of each kind are weighed by: what clients want, against what else is wanted of the same disks.

use super::parts::Trade;

const P99: (&str, &str) = ("client/clat_ms/p99", "clients' p99, ms");

/// A returned OSD is to be filled soon; or neighbours want something, too. Throughput against throughput is the same trade by
/// what both do in a second.
pub(super) const RECOVERY: [Trade; 3] = [
    Trade {
        id: "latency-against-recovery",
        title: "Clients' latency against the time to recover",
        clients: P99,
        over: "",
        beside: ("recovery/seconds", "seconds until recovered"),
        beside_unit: "",
        tells: "recovery takes",
        more: "longer",
        less: "shorter",
        as_much: "long",
        to: "recover",
        better: "sooner",
        towards: "faster recovery",
        for_beside: "For a short recovery",
    },
    Trade {
        id: "latency-against-neighbours",
        title: "Clients' latency against what neighbours get",
        clients: P99,
        over: "",
        beside: ("neighbours/iops", "neighbours' IOPS"),
        beside_unit: "IOPS",
        tells: "its neighbours get",
        more: "more",
        less: "less",
        as_much: "much",
        to: "give them",
        better: "more",
        towards: "more for the neighbours",
        for_beside: "For the neighbours",
    },
    Trade {
        id: "throughput-against-recovery",
        title: "Clients' throughput against recovery's speed",
        clients: ("client/iops", "clients' IOPS"),
        over: "",
        beside: ("recovery/objects_per_s", "objects recovered per second"),
        beside_unit: "objects/s",
        tells: "recovery reaches",
        more: "more",
        less: "less",
        as_much: "much",
        to: "recover",
        better: "faster",
        towards: "faster recovery",
        for_beside: "For a fast recovery",
    },
];

/// As fast as it goes, or at equal work in few bytes.
pub(super) const CHECKPOINT: [Trade; 2] = [
    Trade {
        id: "latency-against-throughput",
        title: "Latency against throughput",
        clients: P99,
        over: "",
        beside: ("client/puts_per_s", "puts per second"),
        beside_unit: "puts/s",
        tells: "the store takes",
        more: "more",
        less: "fewer",
        as_much: "many",
        to: "take",
        better: "more",
        towards: "more throughput",
        for_beside: "For throughput",
    },
    Trade {
        id: "latency-against-bytes",
        title: "Latency against bytes of log and images",
        clients: P99,
        over: "",
        beside: ("checkpoint/log_and_recovery_bytes_per_put", "bytes of log and images per put"),
        beside_unit: "bytes per put",
        tells: "log and images take",
        more: "more",
        less: "less",
        as_much: "much",
        to: "write",
        better: "less",
        towards: "fewer bytes",
        for_beside: "For few bytes",
    },
];

/// Whichever service a study has is to end soon; of several the first that setups differ in.
pub(super) const SERVICES: [Trade; 4] = [
    Trade {
        id: "latency-against-scrub",
        title: "Clients' latency against the time to scrub",
        beside: ("scrub/seconds", "seconds until scrubbed"),
        tells: "the scrub takes",
        towards: "faster scrubs",
        ..SERVICE
    },
    Trade {
        id: "latency-against-trim",
        title: "Clients' latency against the time to trim",
        beside: ("trim/seconds", "seconds until trimmed"),
        tells: "the trim takes",
        towards: "faster trims",
        ..SERVICE
    },
    Trade {
        id: "latency-against-removal",
        title: "Clients' latency against the time until a removed pool is gone",
        beside: ("removal/seconds", "seconds until removed"),
        tells: "the removal takes",
        towards: "faster removals",
        ..SERVICE
    },
    Trade { tells: "recovery takes", towards: "faster recovery", ..SERVICE },
];

const SERVICE: Trade = Trade {
    id: "latency-against-recovery",
    title: "Clients' latency against the time to recover",
    clients: P99,
    over: " over the clients' whole time",
    beside: ("recovery/seconds", "seconds until recovered"),
    beside_unit: "",
    tells: "",
    more: "longer",
    less: "shorter",
    as_much: "long",
    to: "end it",
    better: "sooner",
    towards: "",
    for_beside: "For a service that ends soon",
};

/// Background reads have no end, so what counts is how many there are.
pub(super) const LIMITS: [Trade; 1] = [Trade {
    id: "latency-against-background",
    title: "The client's latency against the background's rate",
    clients: ("client/clat_ms/p99", "the client's p99, ms"),
    over: "",
    beside: ("background/mib_per_s", "background reads, MiB/s"),
    beside_unit: "MiB/s",
    tells: "background work reads",
    more: "more",
    less: "less",
    as_much: "much",
    to: "let it read",
    better: "more",
    towards: "more background work",
    for_beside: "For background work",
}];
