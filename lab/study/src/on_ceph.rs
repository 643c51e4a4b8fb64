//! What a Ceph cluster can run of a study: setups as its own release means them, pools whose groups have something to do, and what would be
//! done there, in words.

use crate::input::InputError;
use crate::setup::{OsdSetup, SchedulerName, SettingValue, TypedOptions};
use loadline_qos::{Rate, preset};
use loadline_testbed::{CephFound, CephSpec, CephTestPlace};
use std::collections::BTreeMap;
use std::fmt::Write;
use toml::Spanned;

/// The options that a built-in profile of mClock takes back unless it is told not to.
const HELD: [&str; 4] = [
    "osd_max_backfills",
    "osd_recovery_max_active",
    "osd_recovery_max_active_hdd",
    "osd_recovery_max_active_ssd",
];
pub(crate) const OVERRIDE: &str = "osd_mclock_override_recovery_settings";

/// A group with fewer objects is brought back by its log and copies nothing as a whole; what else is done to it is mostly waiting for its turn.
const OBJECTS_PER_GROUP: u64 = 4;

/// A setup's section, of whichever kind of study, as far as a cluster's release decides what it means.
pub(crate) struct SetupWords<'a> {
    pub(crate) name: &'a Spanned<String>,
    pub(crate) about: &'a mut String,
    pub(crate) preset: &'a mut Spanned<String>,
    pub(crate) scheduler: &'a mut SchedulerName,
    pub(crate) profile: Option<&'a str>,
    /// Whether its profile is one of another table than its preset's.
    pub(crate) of_other_table: bool,
    pub(crate) settings: &'a mut TypedOptions,
    /// Whether anything runs beside its clients.
    pub(crate) has_background: bool,
}

/// What a cluster's release can be asked about.
pub(crate) trait SetupSection {
    /// Its words.
    fn words(&mut self) -> SetupWords<'_>;
}

impl SetupWords<'_> {
    /// Clients alone are what the others are measured by, under whichever queue a cluster runs with.
    pub(crate) fn is_clients_alone(&self) -> bool {
        !self.has_background && self.profile.is_none() && self.settings.is_empty()
    }
}

/// Takes out what the cluster cannot run, and makes the rest its own; the answer is what was left out, as sentences.
///
/// # Errors
/// [`InputError`] if nothing is left.
pub(crate) fn fit<S: SetupSection>(
    setups: &mut Vec<Spanned<S>>,
    sets: &mut BTreeMap<String, Vec<Spanned<String>>>,
    place: &CephTestPlace,
) -> Result<Vec<String>, InputError> {
    let mut without: BTreeMap<String, Vec<String>> = BTreeMap::new();
    let mut kept: Vec<String> = Vec::new();
    setups.retain_mut(|setup| {
        let words = setup.get_mut().words();
        let name = words.name.get_ref().clone();
        match of_release(words, place) {
            Ok(()) => kept.push(name),
            Err(why) => {
                without.entry(why).or_default().push(name);
                return false;
            }
        }
        true
    });
    let left_out: Vec<String> = without
        .iter()
        .map(|(why, names)| format!("Left out, since {why}: {}.", names.join(", ")))
        .collect();
    if setups.is_empty() {
        let reason = format!("it can run no setup of this study; {}", left_out.join(" "));
        return Err(InputError::new(format!("--on {}", place.cluster), reason));
    }
    sets.values_mut().for_each(|names| names.retain(|name| kept.contains(name.get_ref())));
    Ok(left_out)
}

/// Refuses what cannot, or may not, be done there.
pub(crate) fn check(spec: &CephSpec) -> Result<(), InputError> {
    loadline_testbed::check_ceph(spec)
        .map_err(|reason| InputError::new(format!("--on {}", spec.place.cluster), reason))
}

/// What a reader of results must know of its setups.
pub(crate) fn warnings(place: &CephTestPlace, left_out: &[String]) -> Vec<String> {
    let release = format!(
        "Profiles are those of the cluster's own release {}, whichever a setup was written for.",
        place.found.release
    );
    left_out.iter().cloned().chain([release]).collect()
}

/// The cluster, what is in the way, and what would be done there: `own` are a study's own lines.
pub(crate) fn describe(
    spec: &CephSpec,
    own: &[(&str, String)],
    (runs, left_out): (&[&OsdSetup], &[String]),
) -> String {
    let mut text = loadline_testbed::plan_on_ceph(spec)
        .unwrap_or_else(|reason| format!("in the way: {reason}\n"));
    let images: Vec<String> =
        spec.images.iter().map(|image| image.load.image.to_string()).collect();
    let images = format!("{}, written once before each run", images.join(" and "));
    let logs = if spec.victim.is_some() { ", logs of one entry" } else { "" };
    let beside = format!(
        "noscrub, nodeep-scrub (which stop no scrub that is asked for), the balancer at rest{logs}"
    );
    let first = [("images", images)];
    let last = [
        ("clients", "fio's rbd engine".to_owned()),
        ("beside", beside),
        ("folder", spec.place.folder.display().to_string()),
    ];
    let runs = runs.iter().map(|setup| {
        let settings = setup.for_ceph();
        let settings = settings.iter().map(|(name, value)| format!("{name}={value}"));
        ("run", format!("{}: {}", setup.name(), settings.collect::<Vec<_>>().join(" ")))
    });
    let without = left_out.iter().map(|why| ("setups", why.clone()));
    let all = first.into_iter().chain(own.iter().cloned()).chain(last).chain(runs).chain(without);
    for (name, value) in all {
        writeln!(text, "{name:<10}{value}").expect("writing to a string");
    }
    text
}

/// So many groups, at most, that each has something to do.
pub(crate) fn groups(pgs: u32, objects: u64) -> u32 {
    let most = (objects / OBJECTS_PER_GROUP).clamp(1, u64::from(pgs.max(1)));
    1 << most.ilog2()
}

/// The preset that behaves as a release, such as `18.2.7`. Quincy has Reef's fractions and its default profile from 17.2.7 on (Ceph's pull
/// request 49973).
pub(crate) fn preset_of(release: &str, is_mclock: bool) -> Option<&'static str> {
    let numbers = loadline_testbed::release_numbers(release);
    if numbers.as_slice() < [17].as_slice() && is_mclock {
        None
    } else if numbers.as_slice() < [17, 2, 7].as_slice() {
        Some("quincy")
    } else {
        Some("reef")
    }
}

/// The queue that an OSD's `osd_op_queue` names.
pub(crate) fn queue_of(option: &str) -> Option<SchedulerName> {
    let all = [SchedulerName::Mclock, SchedulerName::Wpq];
    all.into_iter().find(|scheduler| scheduler.option() == option)
}

/// Whether a built-in profile of mClock holds an option, unless [`OVERRIDE`] is set.
pub(crate) fn is_held(option: &str) -> bool {
    HELD.contains(&option)
}

/// A setup as the cluster's release means it.
fn of_release(setup: SetupWords<'_>, place: &CephTestPlace) -> Result<(), String> {
    let CephFound { queue, release, .. } = &place.found;
    if setup.preset.get_ref() == "loadline" || *setup.scheduler == SchedulerName::Fifo {
        return Err("no Ceph has this scheduler".to_owned());
    }
    if place.found.hides_queue() {
        let why =
            "its OSDs do not tell with which queue they run (`perf dump`, `dump_op_pq_state`)";
        return Err(why.to_owned());
    }
    let is_clients_alone = setup.is_clients_alone();
    if is_clients_alone {
        *setup.scheduler = queue_of(queue).unwrap_or(*setup.scheduler);
    }
    let is_mclock = *setup.scheduler == SchedulerName::Mclock;
    let behaves_as = preset_of(release, is_mclock)
        .ok_or_else(|| format!("release {release} has other profiles"))?;
    let table = preset(behaves_as).expect("it is of a release").profiles;
    if let Some(profile) = setup.profile.filter(|name| table.names().all(|known| known != *name)) {
        return Err(format!("release {release} has no profile {profile} built in"));
    }
    if setup.scheduler.option() != queue && place.restart.is_none() {
        return Err(format!("its OSDs run with {queue}, and another queue needs --restart-osd"));
    }
    let is_meant = setup.preset.get_ref() == behaves_as
        && is_named_after(behaves_as, release)
        && !setup.of_other_table;
    if is_mclock && !is_clients_alone && !is_meant {
        *setup.about = about(setup.profile, behaves_as, release);
    }
    *setup.preset = Spanned::new(setup.preset.span(), behaves_as.to_owned());
    let has = |what: &dyn Fn(&str) -> bool| setup.settings.keys().any(|key| what(key.get_ref()));
    if is_mclock && behaves_as != "quincy" && has(&is_held) && !has(&|key| key == OVERRIDE) {
        let key = Spanned::new(setup.name.span(), OVERRIDE.to_owned());
        setup.settings.insert(key, SettingValue::Flag(true));
    }
    Ok(())
}

/// Whether a preset is called as the release is, and not as an earlier one that it behaves as.
fn is_named_after(preset: &str, release: &str) -> bool {
    let named = match preset {
        "quincy" => "17.",
        _ => "18.",
    };
    release.starts_with(named)
}

/// What a setup of mClock is on this cluster, where its file speaks of another release.
fn about(profile: Option<&str>, behaves_as: &str, release: &str) -> String {
    let table = preset(behaves_as).expect("it is of a release").profiles;
    let name = profile.unwrap_or(table.default_profile);
    let reserved = match table.profile(name).map(|profile| profile.client.reservation) {
        Some(Rate::Fraction(part)) => {
            format!(": {:.0} % of each disk is reserved for clients", part * 100.0)
        }
        _ => String::new(),
    };
    format!("mClock as Ceph {release} has it, profile {name}{reserved}")
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::library::Library;
    use crate::place::Place;
    use crate::recovery::RecoveryStudy;
    use crate::study::Study;

    fn place(release: &str, hook: Option<&str>) -> CephTestPlace {
        CephTestPlace {
            cluster: "ceph:ceph.conf".parse().expect("it is a place"),
            restart: hook.map(|hook| hook.parse().expect("it is a hook")),
            found: CephFound {
                fsid: "f".to_owned(),
                release: release.to_owned(),
                queue: "mclock_scheduler".to_owned(),
                osds: vec![0, 1, 2, 5],
            },
            allowed: None,
            folder: "run".into(),
        }
    }

    fn study(place: CephTestPlace, set: &[&str]) -> (RecoveryStudy, Study) {
        let set = set.iter().map(|text| text.parse().expect("an override")).collect();
        let mut inputs = Library::built_in().inputs("recovery-nvme", set).expect("it is there");
        inputs.place = Place::Ceph(place);
        let script = RecoveryStudy::new(&inputs).expect("it can be used");
        (script, Study::new(&inputs).expect("it can be used"))
    }

    #[test]
    fn a_cluster_runs_what_its_release_has() {
        let (script, study) = study(place("18.2.7", None), &["scale=0.0015"]);
        let names: Vec<&str> = study.setups.iter().map(|setup| setup.name.as_str()).collect();
        assert_eq!(names[0], "baseline", "clients alone need no other queue");
        assert!(names.contains(&"balanced") && names.contains(&"balanced (reef)"), "{names:?}");
        assert!(!names.iter().any(|name| name.starts_with("WPQ") || name.contains("loadline")));
        assert!(study.setups.iter().all(|setup| setup.preset == "reef"));
        let says = |word: &str| script.left_out.iter().any(|why| why.contains(word));
        assert!(
            says("another queue needs --restart-osd: WPQ(Def), WPQ(BST)."),
            "{:?}",
            script.left_out
        );
        assert!(says(
            "no Ceph has this scheduler: high_client_ops (loadline), balanced (loadline)"
        ));
        assert_eq!((script.cluster.osds, script.cluster.pgs), (4, 32));
    }

    /// The file speaks of Quincy, whose `balanced` reserves 40 %.
    #[test]
    fn what_a_setup_is_is_said_of_the_release_that_runs_it() {
        let check = |release: &str, setup: &str, about: &str| {
            let (_, study) = study(place(release, Some("hook {id}")), &["scale=0.0015"]);
            let mut found = study.setups.iter().filter(|it| it.name == setup);
            assert_eq!(found.next().expect("it is there").about, about, "{release} {setup}");
        };
        let quincy = "mClock as Ceph Quincy had it, clients and recovery alike: 40 % of each disk is reserved for clients";
        let reef = "mClock as Ceph Reef has it, clients and recovery alike: 50 % of each disk is reserved for clients";
        let of = |release: &str, part: u32| {
            format!(
                "mClock as Ceph {release} has it, profile balanced: {part} % of each disk is reserved for clients"
            )
        };
        check("17.2.5", "balanced", quincy);
        check("17.2.5", "balanced (reef)", &of("17.2.5", 40));
        check("17.2.6", "balanced", quincy);
        check("17.2.7", "balanced", &of("17.2.7", 50));
        check("18.2.7", "balanced", &of("18.2.7", 50));
        check("18.2.7", "balanced (reef)", reef);
        check("19.2.1", "balanced (reef)", &of("19.2.1", 50));
        check("18.2.7", "baseline", "clients alone, nothing recovers");
        let wpq = "the weighted priority queue with the recovery limits that Ceph has by default";
        check("18.2.7", "WPQ(Def)", wpq);
    }

    /// A queue that nobody knows was called WPQ, and what was measured under it, too.
    #[test]
    fn no_setup_runs_where_the_queue_is_not_told() {
        let mut inputs =
            Library::built_in().inputs("recovery-nvme", Vec::new()).expect("it is there");
        let mut hidden = place("17.2.7", Some("hook {id}"));
        hidden.found.queue = "unknown".to_owned();
        inputs.place = Place::Ceph(hidden);
        let why = RecoveryStudy::new(&inputs).expect_err("nobody knows it").to_string();
        assert!(why.contains("do not tell with which queue they run"), "{why}");
    }

    #[test]
    fn with_a_hook_the_other_queue_runs_too() {
        let hook = Some("systemctl {action} ceph-osd@{id}");
        let (_, study) = study(place("18.2.7", hook), &["returning=3"]);
        assert!(study.setups.iter().any(|setup| setup.name == "WPQ(BST)"));
    }

    /// A table of profiles of another build has no place on a cluster: a profile's name means what the release means by it, if it has one so
    /// called.
    #[test]
    fn services_run_under_the_profiles_that_the_release_has() {
        let study = |name: &str, scale: &str| {
            let set = vec![scale.parse().expect("an override")];
            let mut inputs = Library::built_in().inputs(name, set).expect("it is there");
            inputs.place = Place::Ceph(place("18.2.7", Some("hook {id}")));
            Study::new(&inputs).expect("it can be used")
        };
        let scrub = study("scrub-nvme", "scale=0.0002");
        let names: Vec<&str> = scrub.setups.iter().map(|setup| setup.name.as_str()).collect();
        assert!(names.contains(&"WPQ, 10 slots") && names.contains(&"balanced, 20 MiB"));
        assert!(!names.contains(&"scrub first"), "{names:?}");
        let trim = study("snaptrim-nvme", "scale=0.001");
        let balanced = trim.setups.iter().find(|setup| setup.name == "balanced");
        let about = "mClock as Ceph 18.2.7 has it, profile balanced: 50 % of each disk is reserved for clients";
        assert_eq!(balanced.expect("it is there").about, about);
        assert!(trim.setups.iter().all(|setup| setup.preset == "reef"));
    }

    /// Limits that the profile of the release takes back are set with the word that lets them stand, after it.
    #[test]
    fn settings_are_those_of_the_release_in_an_order_that_it_takes() {
        let (script, _) = study(place("18.2.7", None), &["returning=3"]);
        let balanced =
            script.setups.iter().find(|setup| setup.name() == "balanced").expect("it is there");
        let settings = balanced.osds.for_ceph();
        let settings: Vec<String> =
            settings.iter().map(|(name, value)| format!("{name}={value}")).collect();
        assert_eq!(
            settings,
            [
                "osd_op_queue=mclock_scheduler",
                "osd_mclock_profile=balanced",
                "osd_mclock_override_recovery_settings=true",
                "osd_async_recovery_min_cost=1",
                "osd_max_backfills=1000",
                "osd_recovery_max_active=1000",
            ]
        );
        assert_eq!(script.cluster.returning.get(), 5, "the fourth of its OSDs");
    }

    #[test]
    fn every_group_has_something_to_do() {
        assert_eq!(
            [150, 200, 100_000, 3, 0].map(|objects| groups(64, objects)),
            [32, 32, 64, 1, 1]
        );
    }
}
