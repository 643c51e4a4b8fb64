//! A study in simulation on a cluster that `loadline ceph facts` described: its OSDs, its groups where they are, its settings in force.

use super::file::{RecoverySetupSection, StudyFile};
use super::of_options::CephOptions;
use crate::input::{InputError, Source};
use crate::inputs::Inputs;
use crate::on_ceph::{self, SetupSection};
use crate::setup::SchedulerName;
use loadline_cluster::Placement;
use loadline_cluster::settings::Settings;
use loadline_device::Medium;
use loadline_osd::OsdId;
use loadline_testbed::{DescribedCluster, DescribedGroup, DescribedOsd, DescribedPool};
use std::collections::BTreeMap;
use toml::Spanned;

/// The setup that has the cluster's settings.
const IN_FORCE: &str = "in force";

/// What a description says and `--set` therefore cannot.
const SAYS: [&str; 5] = ["osds", "copies", "pgs", "placement", "store"];

const OSDS_MAX: usize = 64;
const GROUPS_MAX: u64 = 4096;

/// What of a described cluster is no figure of a study's file.
#[derive(Debug)]
pub(super) struct DescribedGround {
    /// Each group where it is.
    pub(super) placement: Placement,
    /// What its OSDs reckon with, in the place of what was measured of the study's drive.
    pub(super) measured: BTreeMap<String, String>,
    /// What is not simulated, as sentences.
    pub(super) left_out: Vec<String>,
}

/// Makes the study's cluster the described one, if one is described.
///
/// # Errors
/// [`InputError`] if it cannot be read, or not be simulated.
pub(super) fn fit(
    file: &mut StudyFile,
    inputs: &Inputs,
    medium: Medium,
) -> Result<Option<DescribedGround>, InputError> {
    let Some(described) = &inputs.described else { return Ok(None) };
    if let Some(key) = SAYS.into_iter().find(|key| inputs.is_set(key)) {
        let reason = format!("--described says that already: leave `--set {key}` out");
        return Err(inputs.refuse(key, reason));
    }
    let Source { file: name, text, .. } = described;
    let refuse = |reason: String| InputError::new(format!("--described {name}"), reason);
    let cluster = DescribedCluster::parse(text).map_err(refuse)?;
    let ground = fit_to(file, &cluster, medium).map_err(refuse)?;
    // The file's is one of its own OSDs.
    if !inputs.is_set("returning") {
        file.cluster.returning = file.cluster.returning.filter(|osd| *osd < file.cluster.osds);
    }
    Ok(Some(ground))
}

fn fit_to(
    file: &mut StudyFile,
    cluster: &DescribedCluster,
    medium: Medium,
) -> Result<DescribedGround, String> {
    let osds: Vec<&DescribedOsd> = cluster.osds.iter().filter(|osd| osd.is_in).collect();
    if !(2..=OSDS_MAX).contains(&osds.len()) {
        return Err(format!(
            "{} of its OSDs are in: a simulated cluster has 2 to {OSDS_MAX}",
            osds.len()
        ));
    }
    let mut left_out = Vec::new();
    check_media(&osds, medium)?;
    let pool = placed_as(cluster, &mut left_out)?;
    if pool.size >= osds.len() as u64 {
        return Err(format!(
            "{} copies on {} OSDs: one is taken out, and its copies must find a place",
            pool.size,
            osds.len()
        ));
    }
    file.cluster.osds = osds.len() as u32;
    file.cluster.copies = pool.size as u32;
    file.cluster.pgs = pool.groups as u32;
    // What a file expects is of its own cluster.
    file.expectations.clear();
    file.companions.spread_placements = 0;
    file.setups.iter_mut().for_each(|setup| as_released(setup.get_mut(), cluster, osds[0]));
    match in_force(cluster, &osds, medium, &mut left_out) {
        Ok(setup) => {
            let name = setup.name.clone();
            file.sets.values_mut().for_each(|set| set.push(name.clone()));
            file.setups.push(Spanned::new(0..0, setup));
        }
        Err(why) => left_out.push(format!("There is no setup `{IN_FORCE}`: {why}.")),
    }
    Ok(DescribedGround {
        placement: Placement::Given(groups(cluster, pool, &osds).into()),
        measured: capacities(&osds, medium),
        left_out,
    })
}

/// All OSDs are alike, and as the drive.
fn check_media(osds: &[&DescribedOsd], drive: Medium) -> Result<(), String> {
    let medium = |osd: &DescribedOsd| match (osd.rotational, osd.has_database_disk) {
        (false, _) => Medium::Ssd,
        (true, false) => Medium::Hdd,
        (true, true) => Medium::Hybrid,
    };
    let word = |medium: Medium| match medium {
        Medium::Ssd => "flash",
        Medium::Hdd => "rotating disks",
        Medium::Hybrid => "rotating disks with their database on flash",
    };
    match osds.iter().find(|osd| medium(osd) != drive) {
        None => Ok(()),
        Some(osd) => Err(format!(
            "osd.{} stands on {}, and the drive under test is {}: name one of that kind with --drive (`loadline drive list`); OSDs on \
             disks of different kinds are not simulated",
            osd.id,
            word(medium(osd)),
            word(drive)
        )),
    }
}

/// The pool whose groups are simulated: the one with most of them that keeps whole copies.
fn placed_as<'a>(
    cluster: &'a DescribedCluster,
    left_out: &mut Vec<String>,
) -> Result<&'a DescribedPool, String> {
    // A description of before has no bytes of its pools.
    let held =
        |pool: &DescribedPool| DescribedGroup::held(&cluster.groups, pool.id, |group| group.bytes);
    let of_owner = || cluster.pools.iter().filter(|pool| !pool.is_of_manager);
    if of_owner().next().is_none() && !cluster.pools.is_empty() {
        return Err("it has no pool but the manager's own: make the pools that are to be studied, and describe it again".to_owned());
    }
    let whole = of_owner().filter(|pool| !pool.is_erasure_coded);
    let largest = whole.max_by_key(|pool| (pool.groups, held(pool), std::cmp::Reverse(pool.id)));
    let coded = cluster.pools.iter().filter(|pool| pool.is_erasure_coded);
    let coded: Vec<String> = coded.map(|pool| pool.id.to_string()).collect();
    let pool = largest.ok_or_else(|| match coded.is_empty() {
        true => "it has no pool whose groups could be simulated".to_owned(),
        false => format!(
            "its pools ({}) are erasure-coded, which the engine does not have: only pools of whole copies can be simulated",
            coded.join(", ")
        ),
    })?;
    if !(1..=GROUPS_MAX).contains(&pool.groups) {
        return Err(format!(
            "pool {} has {} groups: a simulated one has 1 to {GROUPS_MAX}",
            pool.id, pool.groups
        ));
    }
    if !(1..=OSDS_MAX as u64).contains(&pool.size) {
        return Err(format!("pool {} has {} copies of each object", pool.id, pool.size));
    }
    if !coded.is_empty() {
        left_out.push(format!(
            "Erasure-coded pools ({}) are not simulated: the engine does not have them.",
            coded.join(", ")
        ));
    }
    left_out.push(format!(
        "Both pools of the study have the groups of the described pool {}, where they are; objects, clients and disks are the study's.",
        pool.id
    ));
    Ok(pool)
}

/// Where each group is. OSDs are numbered anew, in their order; who is not in is nobody.
fn groups(
    cluster: &DescribedCluster,
    pool: &DescribedPool,
    osds: &[&DescribedOsd],
) -> Vec<Vec<OsdId>> {
    let mut groups = vec![Vec::new(); pool.groups as usize];
    for group in cluster.groups.iter().filter(|group| group.pool() == Some(pool.id)) {
        let place = group.number().and_then(|number| groups.get_mut(number as usize));
        let number = |id: &i64| osds.iter().position(|osd| i64::from(osd.id) == *id);
        if let Some(place) = place {
            let up = group.up.iter().filter_map(number);
            *place = up.map(|number| OsdId::new(number as u32)).collect();
        }
    }
    groups
}

/// What OSDs reckon with: the median of each figure.
fn capacities(osds: &[&DescribedOsd], medium: Medium) -> BTreeMap<String, String> {
    let suffix = if medium == Medium::Ssd { "ssd" } else { "hdd" };
    let figure = |name: &str| {
        let name = format!("osd_mclock_max_{name}_{suffix}");
        let read = |osd: &&DescribedOsd| osd.options.get(&name)?.parse::<f64>().ok();
        let known = osds.iter().filter_map(read);
        let mut known: Vec<f64> = known.filter(|it| it.is_finite() && *it > 0.0).collect();
        known.sort_by(f64::total_cmp);
        let median = known.get(known.len() / 2)?.to_string();
        Some((name, median))
    };
    ["capacity_iops", "sequential_bandwidth"].into_iter().filter_map(figure).collect()
}

/// What is no era's mClock is the described release's, as in a run on the cluster itself: WPQ, and clients alone under the queue
/// that it has.
fn as_released(setup: &mut RecoverySetupSection, cluster: &DescribedCluster, osd: &DescribedOsd) {
    if setup.preset.get_ref() == "loadline" {
        return;
    }
    if setup.words().is_clients_alone() {
        let queue = osd.options.get("osd_op_queue").and_then(|queue| on_ceph::queue_of(queue));
        setup.scheduler = queue.unwrap_or(setup.scheduler);
    } else if setup.scheduler == SchedulerName::Mclock {
        return;
    }
    let is_mclock = setup.scheduler == SchedulerName::Mclock;
    if let Some(preset) = on_ceph::preset_of(&oldest(cluster), is_mclock) {
        setup.preset = Spanned::new(setup.preset.span(), preset.to_owned());
    }
}

/// The oldest release of its OSDs.
fn oldest(cluster: &DescribedCluster) -> String {
    let all =
        cluster.releases.iter().min_by_key(|release| loadline_testbed::release_numbers(release));
    all.cloned().unwrap_or_default()
}

/// A setup with what is in force in the first OSD, as far as the engine knows it.
fn in_force(
    cluster: &DescribedCluster,
    osds: &[&DescribedOsd],
    medium: Medium,
    left_out: &mut Vec<String>,
) -> Result<RecoverySetupSection, String> {
    let options = osds[0].options.iter().filter(|(option, _)| !is_capacity(option));
    let options: BTreeMap<String, String> =
        options.map(|(option, value)| (option.clone(), value.clone())).collect();
    let queue = options.get("osd_op_queue").ok_or("its queue is not described")?;
    let is_mclock = on_ceph::queue_of(queue) == Some(SchedulerName::Mclock);
    let preset = on_ceph::preset_of(&oldest(cluster), is_mclock)
        .ok_or_else(|| format!("release {} has other profiles", cluster.releases.join(", ")))?;
    let of = CephOptions { name: IN_FORCE, preset, medium, options: &options };
    let about = "the settings that are in force on the described cluster";
    let (setup, settings) = of.setup(about, left_out)?;
    left_out.extend(differing(osds, &settings));
    Ok(setup)
}

/// What a capacity is called: all setups have that of the description.
fn is_capacity(option: &str) -> bool {
    option.starts_with("osd_mclock_max_")
}

/// In what the other OSDs differ from the first, as far as the engine has it.
fn differing(osds: &[&DescribedOsd], settings: &Settings) -> Option<String> {
    let options = &osds[0].options;
    let differs = |option: &&String| {
        let is_known = settings.option(option).is_ok() && !is_capacity(option);
        is_known && osds.iter().any(|osd| osd.options.get(*option) != options.get(*option))
    };
    let differ: Vec<&str> = options.keys().filter(differs).map(String::as_str).collect();
    (!differ.is_empty()).then(|| {
        format!(
            "All OSDs are simulated with the options of osd.{}; the described ones differ in {}.",
            osds[0].id,
            differ.join(", ")
        )
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::library::Library;
    use crate::recovery::RecoveryStudy;
    use crate::study::Study;

    /// What `loadline ceph facts` wrote of a cluster of release 18.2.7, four OSDs on loop devices.
    const FACTS: &str = include_str!("../../../../worlds/ceph/tests/samples/facts.json");

    fn inputs(facts: &str, set: &[&str]) -> Inputs {
        let set = set.iter().map(|text| text.parse().expect("an override")).collect();
        let mut inputs = Library::built_in().inputs("recovery-nvme", set).expect("it is there");
        let (name, file) = ("facts".to_owned(), "facts.json".to_owned());
        inputs.described = Some(Source { name, file, text: facts.to_owned() });
        inputs
    }

    fn with(change: impl Fn(&mut DescribedCluster)) -> String {
        let mut cluster = DescribedCluster::parse(FACTS).expect("it was written");
        change(&mut cluster);
        serde_json::to_string_pretty(&cluster).expect("it prints")
    }

    fn refusal(facts: &str, set: &[&str]) -> String {
        let error = RecoveryStudy::new(&inputs(facts, set)).expect_err("it cannot be used");
        error.to_string()
    }

    #[test]
    fn a_study_has_the_osds_groups_and_settings_that_are_described() {
        let inputs = inputs(FACTS, &["scale=0.001"]);
        let script = RecoveryStudy::new(&inputs).expect("it can be used");
        let shape = &script.cluster;
        assert_eq!((shape.osds, shape.copies, shape.pgs), (4, 3, 32));
        let Placement::Given(groups) = &shape.placement else { panic!("{:?}", shape.placement) };
        let cluster = DescribedCluster::parse(FACTS).expect("it was written");
        let told = |group: &[OsdId]| group.iter().map(|osd| i64::from(osd.get())).collect();
        for (number, group) in groups.iter().enumerate() {
            let told: Vec<i64> = told(group);
            let is_it = cluster.groups.iter().any(|it| {
                it.pool() != Some(1) && it.number() == Some(number as u32) && it.up == told
            });
            assert!(is_it, "group {number} is {told:?}");
        }
        let study = Study::new(&inputs).expect("it can be used");
        let setup = study.setups.iter().find(|setup| setup.name == IN_FORCE).expect("it is there");
        assert_eq!((setup.preset.as_str(), setup.profile.as_deref()), ("reef", Some("balanced")));
        let row =
            |key: &str| setup.settings.iter().find(|row| row.key == key).map(|row| &*row.value);
        let mut capacities: Vec<f64> = cluster
            .osds
            .iter()
            .map(|osd| osd.options["osd_mclock_max_capacity_iops_ssd"].parse().expect("a number"))
            .collect();
        capacities.sort_by(f64::total_cmp);
        let capacity: f64 =
            row("osd_mclock_max_capacity_iops_ssd").expect("it is set").parse().expect("a number");
        assert_eq!(capacity, capacities[2]);
        let chosen = study.choose("default").expect("it is there");
        assert!(chosen.iter().any(|at| study.setups[*at].name == IN_FORCE));
        assert!(study.published.is_none(), "published figures are of another cluster");
        assert_eq!(study.departs, ["--described facts.json"]);
    }

    /// The twin of a cluster's run is compared with it: WPQ, and what is measured by, are its release's in both.
    #[test]
    fn wpq_and_clients_alone_are_those_of_the_described_release() {
        let of = |facts: &str| {
            let study = Study::new(&inputs(facts, &["scale=0.001"])).expect("it can be used");
            let setup = |name: &str| study.setups.iter().find(|it| it.name == name).cloned();
            ["baseline", "WPQ(Def)", "balanced"].map(|name| {
                let setup = setup(name).expect("it is there");
                let queue = setup.settings.iter().find(|row| row.key == "osd_op_queue");
                format!("{} {}", setup.preset, queue.expect("it is told").value)
            })
        };
        let (reef, quincy) = ("reef mclock_scheduler", "quincy mclock_scheduler");
        assert_eq!(of(FACTS), [reef, "reef wpq", quincy]);
        let wpq = with(|cluster| {
            for osd in &mut cluster.osds {
                osd.options.insert("osd_op_queue".to_owned(), "wpq".to_owned());
            }
        });
        assert_eq!(of(&wpq), ["reef wpq", "reef wpq", quincy]);
    }

    #[test]
    fn osds_that_are_out_hold_nothing_and_numbers_may_have_gaps() {
        let facts = with(|cluster| {
            let mut fifth = cluster.osds[3].clone();
            (fifth.id, fifth.is_in) = (4, false);
            cluster.osds.push(fifth);
            cluster.osds[3].id = 9;
            for osd in cluster.groups.iter_mut().flat_map(|group| &mut group.up) {
                *osd = if *osd == 3 { 9 } else { *osd };
            }
        });
        let places = |facts: &str| {
            RecoveryStudy::new(&inputs(facts, &["scale=0.001"])).expect("it can be used").cluster
        };
        assert_eq!(places(&facts), places(FACTS));
    }

    /// What is in force counts, also where it is no built-in profile's.
    #[test]
    fn settings_are_kept_as_far_as_the_engine_has_them() {
        let all = |options: &[(&str, &str)]| {
            with(|cluster| {
                for osd in &mut cluster.osds {
                    let own = options.iter();
                    osd.options.extend(own.map(|(name, value)| ((*name).into(), (*value).into())));
                }
            })
        };
        let setup = |facts: &str| {
            let inputs = inputs(facts, &["scale=0.001"]);
            let left_out = RecoveryStudy::new(&inputs).expect("it can be used").left_out;
            let study = Study::new(&inputs).expect("it can be used");
            let setup = study.setups.iter().find(|setup| setup.name == IN_FORCE).cloned();
            (setup, left_out)
        };
        let value = |facts: &str, key: &str| {
            let (setup, _) = setup(facts);
            let setup = setup.expect("it is there");
            let row = setup.settings.iter().find(|row| row.key == key);
            row.map(|row| row.value.clone())
        };
        let open = all(&[
            ("osd_max_backfills", "7"),
            ("osd_mclock_override_recovery_settings", "true"),
            ("osd_mclock_profile", "high_recovery_ops"),
        ]);
        assert_eq!(value(&open, "osd_max_backfills").as_deref(), Some("7"));
        assert_eq!(value(&open, "osd_mclock_profile").as_deref(), Some("high_recovery_ops"));
        let wpq = all(&[("osd_op_queue", "wpq"), ("osd_recovery_sleep_ssd", "0.250000")]);
        assert_eq!(value(&wpq, "osd_op_queue").as_deref(), Some("wpq"));
        assert_eq!(value(&wpq, "osd_recovery_sleep_ssd").as_deref(), Some("250 ms"));
        let (none, left_out) = setup(&all(&[("osd_op_queue", "debug_random")]));
        assert!(none.is_none());
        assert!(
            left_out.iter().any(|why| why.contains("no queue is called `debug_random`")),
            "{left_out:?}"
        );
        let one = with(|cluster| {
            cluster.osds[2].options.insert("osd_max_backfills".to_owned(), "3".to_owned());
        });
        let (_, left_out) = setup(&one);
        assert!(
            left_out.iter().any(|why| why.ends_with("differ in osd_max_backfills.")),
            "{left_out:?}"
        );
    }

    #[test]
    fn what_cannot_be_simulated_is_refused_in_a_sentence() {
        let check = |facts: &str, set: &[&str], says: &str| {
            let error = refusal(facts, set);
            assert!(error.contains(says), "{says}: {error}");
        };
        check("", &[], "--described facts.json: this is no description by `loadline ceph facts`");
        check(&FACTS[..FACTS.len() / 2], &[], "line ");
        check("{\"form\": 2}", &[], "form 2, and this program reads form 1");
        check(FACTS, &["pgs=16"], "--set pgs=16: --described says that already");
        check(FACTS, &["store=paged"], "leave `--set store` out");
        check(FACTS, &["returning=4"], "`returning` must be the number of one of the `osds`");
        check(FACTS, &["drive=hdd-constellation"], "osd.0 stands on flash");
        let coded = with(|it| it.pools.iter_mut().for_each(|pool| pool.is_erasure_coded = true));
        check(&coded, &[], "erasure-coded, which the engine does not have");
        check(&with(|it| it.pools.clear()), &[], "no pool whose groups");
        let of_manager = with(|it| it.pools.iter_mut().for_each(|pool| pool.is_of_manager = true));
        check(&of_manager, &[], "no pool but the manager's own");
        check(&with(|it| it.osds[1].id = 0), &[], "osd.0 is there twice");
        check(
            &with(|it| it.osds.iter_mut().for_each(|osd| osd.is_in = false)),
            &[],
            "0 of its OSDs",
        );
        check(&with(|it| it.osds[2].is_in = false), &[], "3 copies on 3 OSDs");
        check(&with(|it| it.osds[1].rotational = true), &[], "osd.1 stands on rotating disks");
        let groups = |number: u64| with(|it| it.pools.iter_mut().for_each(|it| it.groups = number));
        check(&groups(0), &[], "has 0 groups");
        check(&groups(1 << 40), &[], "a simulated one has 1 to 4096");
        check(&with(|it| it.pools.iter_mut().for_each(|it| it.size = 0)), &[], "0 copies");
    }

    /// One erasure-coded pool beside others is named, and the others are simulated.
    #[test]
    fn a_coded_pool_beside_others_is_left_out() {
        let facts = with(|cluster| {
            let coded = DescribedPool {
                id: 77,
                size: 6,
                groups: 256,
                is_erasure_coded: true,
                ..cluster.pools[0].clone()
            };
            cluster.pools.push(coded);
        });
        let study = RecoveryStudy::new(&inputs(&facts, &["scale=0.001"])).expect("it can be used");
        assert_eq!(study.cluster.pgs, 32);
        assert!(study.left_out.iter().any(|why| why.contains("(77)")), "{:?}", study.left_out);
    }

    /// Whatever a mail made of it: each byte of a description turned into another is read or refused, and nothing falls.
    #[test]
    fn no_description_makes_the_reader_fall() {
        let medium = Medium::Ssd;
        let file =
            || super::super::read::read_file(&inputs(FACTS, &[]).study, &[]).expect("it is there");
        let whole = file();
        for (at, other) in
            (0..FACTS.len()).step_by(13).zip([b'9', b'-', b'"', b'f'].into_iter().cycle())
        {
            let mut bytes = FACTS.as_bytes().to_vec();
            bytes[at] = other;
            let text = String::from_utf8(bytes).expect("it is ASCII");
            if let Ok(cluster) = DescribedCluster::parse(&text) {
                drop(fit_to(&mut whole.clone(), &cluster, medium));
            }
            drop(DescribedCluster::parse(&FACTS[..at]));
        }
    }
}
