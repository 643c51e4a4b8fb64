//! The published profile tables (qos.md 5), as data, and Loadline's own.

use crate::profile::{ClassProfile, Profile, ProfileTable, Rate};
use crate::{CostUnit, LimitPolicy};
use Rate::{Fraction, Max, Min, Units};

/// Every table, oldest first.
pub const PROFILE_TABLES: &[ProfileTable] = &[
    QUINCY,
    QUINCY_MISPRINTED,
    QUINCY_STUDY_BUILD,
    QUINCY_TIGHT,
    QUINCY_SCRUB_STUDY,
    REEF,
    LOADLINE,
];

/// The table of this name.
pub fn profile_table(name: &str) -> Option<&'static ProfileTable> {
    PROFILE_TABLES.iter().find(|table| table.name == name)
}

/// One class with a hard limit, as everything published.
const fn class(reservation: Rate, weight: f64, limit: Rate) -> ClassProfile {
    ClassProfile { reservation, weight, limit, limit_policy: LimitPolicy::Hard }
}

/// One class that may pass its limit on what nobody else wants.
const fn conserving(reservation: Rate, weight: f64, limit: Rate) -> ClassProfile {
    ClassProfile { reservation, weight, limit, limit_policy: LimitPolicy::WorkConserving }
}

const fn percent(percent: f64) -> Rate {
    Fraction(percent / 100.0)
}

/// The first eras' profiles as the code had them, in the study and in 17.2.0.
pub const QUINCY: ProfileTable = ProfileTable {
    name: "quincy",
    source: "code of spring 2021 and of 17.2.0; the study's table as corrected (qos.md 5.1)",
    unit: CostUnit::Mixed,
    default_profile: "high_client_ops",
    profiles: &[
        Profile {
            name: "high_client_ops",
            client: class(percent(50.0), 2.0, Max),
            recovery: class(percent(25.0), 1.0, percent(100.0)),
            best_effort: class(percent(25.0), 2.0, Max),
        },
        Profile {
            name: "balanced",
            client: class(percent(40.0), 1.0, percent(100.0)),
            recovery: class(percent(40.0), 1.0, percent(150.0)),
            best_effort: class(percent(20.0), 2.0, Max),
        },
        Profile {
            name: "high_recovery_ops",
            client: class(percent(30.0), 1.0, percent(80.0)),
            recovery: class(percent(60.0), 2.0, percent(200.0)),
            best_effort: class(Min, 2.0, Max),
        },
    ],
};

/// The same as first printed: best effort had weight 1 on paper, never in code.
pub const QUINCY_MISPRINTED: ProfileTable = ProfileTable {
    name: "quincy-misprinted",
    source: "the recovery study's first edition, 9 April 2021 (qos.md 5.1)",
    profiles: &[
        Profile { best_effort: class(percent(25.0), 1.0, Max), ..QUINCY.profiles[0] },
        Profile { best_effort: class(percent(20.0), 1.0, Max), ..QUINCY.profiles[1] },
        Profile { best_effort: class(Min, 1.0, Max), ..QUINCY.profiles[2] },
    ],
    ..QUINCY
};

/// The build of the snapshot trim study, which limited best effort.
pub const QUINCY_STUDY_BUILD: ProfileTable = ProfileTable {
    name: "quincy-17.0.0-12483",
    source: "the snapshot trim study's build, 2022 (qos.md 5.2)",
    profiles: &[
        Profile { best_effort: class(percent(25.0), 1.0, percent(30.0)), ..QUINCY.profiles[0] },
        Profile { best_effort: class(percent(20.0), 1.0, percent(50.0)), ..QUINCY.profiles[1] },
        Profile { best_effort: class(percent(10.0), 1.0, percent(40.0)), ..QUINCY.profiles[2] },
    ],
    ..QUINCY
};

/// A manual's text for the time of the 10/10/20 admission limits; whether a release had it is unknown.
pub const QUINCY_TIGHT: ProfileTable = ProfileTable {
    name: "quincy-60-25-15",
    source: "late manual text beside the 10/10/20 limits, release unknown (qos.md 5.2)",
    profiles: &[
        Profile {
            name: "high_client_ops",
            client: class(percent(60.0), 2.0, Max),
            recovery: class(percent(25.0), 1.0, percent(50.0)),
            best_effort: class(percent(15.0), 1.0, percent(30.0)),
        },
        Profile {
            name: "balanced",
            client: class(percent(40.0), 1.0, percent(100.0)),
            recovery: class(percent(40.0), 1.0, percent(80.0)),
            best_effort: class(percent(20.0), 1.0, percent(50.0)),
        },
        Profile {
            name: "high_recovery_ops",
            client: class(percent(30.0), 1.0, percent(80.0)),
            recovery: class(percent(60.0), 2.0, percent(100.0)),
            best_effort: class(percent(10.0), 1.0, percent(40.0)),
        },
    ],
    ..QUINCY
};

/// The scrub study: 17.2.0's profiles, and a custom one that gives nearly everything to scrub.
pub const QUINCY_SCRUB_STUDY: ProfileTable = ProfileTable {
    name: "quincy-scrub-study",
    source: "the scrub study, 2022, with its custom test profile (qos.md 5.2)",
    profiles: &[
        QUINCY.profiles[0],
        QUINCY.profiles[1],
        QUINCY.profiles[2],
        Profile {
            name: "scrub_first",
            client: class(Units(1), 1.0, percent(80.0)),
            recovery: class(percent(5.0), 1.0, percent(100.0)),
            best_effort: class(percent(90.0), 2.0, Max),
        },
    ],
    ..QUINCY
};

/// 18.2.0 and later.
pub const REEF: ProfileTable = ProfileTable {
    name: "reef",
    source: "code of 18.2.0 (qos.md 5.3)",
    unit: CostUnit::Bytes,
    default_profile: "balanced",
    profiles: &[
        Profile {
            name: "balanced",
            client: class(Fraction(0.5), 1.0, Max),
            recovery: class(Fraction(0.5), 1.0, Max),
            best_effort: class(Min, 1.0, Fraction(0.9)),
        },
        Profile {
            name: "high_client_ops",
            client: class(Fraction(0.6), 2.0, Max),
            recovery: class(Fraction(0.4), 1.0, Max),
            best_effort: class(Min, 1.0, Fraction(0.7)),
        },
        Profile {
            name: "high_recovery_ops",
            client: class(Fraction(0.3), 1.0, Max),
            recovery: class(Fraction(0.7), 2.0, Max),
            best_effort: class(Min, 1.0, Max),
        },
    ],
};

/// Loadline's own, derived from Reef's fractions.
///
/// - A twentieth moves from recovery's reservation to best effort, which Reef lets starve whenever the other
///   two use theirs up (qos.md 2.8); Ceph did the same later, above 100 % (qos.md 15.2).
/// - Weights are Reef's, but for `high_recovery_ops`: there what is beyond the told capacity is shared as that is, 3 to 7, where
///   Reef's 1 to 2 gives clients more than they are promised. Best effort's weight is recovery's: a backfill while as many
///   copies serve as are wanted is best effort, and who chooses that profile wants it to end soon.
/// - Background limits say what a class gets *against others*, so they conserve work: recovery's is its
///   reservation plus the spare half of the client's, best effort's is Reef's. `high_recovery_ops` limits
///   recovery no more than Reef does.
/// - No limit on best effort is hard, not that of `high_client_ops` either: a store's checkpoint is of this class, and
///   where the told capacity is below the disk's clients wait for what a hard limit holds back. What keeps
///   headroom for the next client operation is the gate's latency goal.
pub const LOADLINE: ProfileTable = ProfileTable {
    name: "loadline",
    source: "derived from Reef's fractions",
    unit: CostUnit::Bytes,
    default_profile: "balanced",
    profiles: &[
        Profile {
            name: "balanced",
            client: class(Fraction(0.5), 1.0, Max),
            recovery: conserving(Fraction(0.45), 1.0, Fraction(0.7)),
            best_effort: conserving(Fraction(0.05), 1.0, Fraction(0.9)),
        },
        Profile {
            name: "high_client_ops",
            client: class(Fraction(0.6), 2.0, Max),
            recovery: conserving(Fraction(0.35), 1.0, Fraction(0.65)),
            best_effort: conserving(Fraction(0.05), 1.0, Fraction(0.7)),
        },
        Profile {
            name: "high_recovery_ops",
            client: class(Fraction(0.3), 3.0, Max),
            recovery: class(Fraction(0.65), 7.0, Max),
            best_effort: class(Fraction(0.05), 7.0, Max),
        },
    ],
};
