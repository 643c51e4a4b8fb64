//! Reads a study file of this kind, and refuses what cannot be used.

use super::file::{SERVICES_KEYS, ServicesFile, TimesSection};
use super::setup::read_setups;
use super::study::{ServicesCluster, ServicesSteps, ServicesStudy};
use crate::declared::QuickKey;
use crate::given_load;
use crate::input::{InputError, Source};
use crate::inputs::{Inputs, NamedFiles};
use crate::on_ceph;
use crate::overrides::{Override, apply_overrides};
use crate::place::Place;
use crate::study::{Study, StudyQuestion};
use loadline_base::{Bytes, Span};
use loadline_testbed::CephTestPlace;

fn read_file(source: &Source, overrides: &[Override]) -> Result<ServicesFile, InputError> {
    let mut file: ServicesFile =
        toml::from_str(&source.text).map_err(|error| source.toml_error(&error))?;
    let has = ("a study of services has", " and every option of an OSD");
    let own = overrides.iter().filter(|change| !change.is_option());
    apply_overrides(&mut file, SERVICES_KEYS, has, own)?;
    Ok(file)
}

pub(super) fn named_in(study: &Source, overrides: &[Override]) -> Result<NamedFiles, InputError> {
    let ServicesFile { drive, published, .. } = read_file(study, overrides)?;
    Ok(NamedFiles { drive, published })
}

/// What `--quick` sets: a twentieth of the published work, or what is done on real disks where the study says how much that is.
pub(super) fn quick(inputs: &Inputs) -> QuickKey {
    let ServicesFile { steps, .. } = read_file(&inputs.study, &[])?;
    let scale = steps.on_disks.unwrap_or_else(|| inputs.quick_scale(false, 0.05));
    Ok(("scale", scale.to_string()))
}

/// What may be set beside published figures: how much of their work is done.
const BESIDE_PUBLISHED: [&str; 1] = ["scale"];

/// The objects of each section that has some; the error names section and field.
fn check_objects(file: &ServicesFile) -> Result<(), (&'static str, &'static str, String)> {
    let ServicesFile { scrub, trim, removal, recovery, .. } = file;
    let sections = [
        ("scrub", scrub.map(|it| (it.objects, it.object_size))),
        ("trim", trim.map(|it| (it.objects, it.object_size))),
        ("removal", removal.map(|it| (it.objects, it.object_size))),
        ("recovery", recovery.map(|it| (it.objects, it.object_size))),
    ];
    for (section, (objects, size)) in
        sections.into_iter().filter_map(|(name, it)| Some((name, it?)))
    {
        let sizes = Bytes::from_kib(4)..=Bytes::from_mib(64);
        let checks = [
            ((1..=100_000_000).contains(&objects), "objects", "from 1 to 100000000"),
            (sizes.contains(&size), "object_size", "from 4 KiB to 64 MiB"),
        ];
        if let Some((_, field, wanted)) = checks.into_iter().find(|(good, ..)| !good) {
            return Err((section, field, format!("`{field}` of `[{section}]` must be {wanted}")));
        }
    }
    Ok(())
}

/// What the readers of single fields cannot see; the error names the field.
fn check(file: &ServicesFile) -> Result<(), (&'static str, String)> {
    let ServicesFile { cluster, steps, scrub, trim, removal, recovery, .. } = file;
    let has_service = [scrub.is_some(), trim.is_some(), removal.is_some(), recovery.is_some()];
    let spare = u32::from(recovery.is_some());
    let is_judged = steps.begin > Span::ZERO && recovery.is_none() && file.load.rate.is_some();
    let checks = [
        ((1..=64).contains(&cluster.osds), "osds", "from 1 to 64"),
        (
            cluster.copies >= 1 && cluster.copies + spare <= cluster.osds,
            "copies",
            "at least 1 and at most `osds`, and less than those where one of them is taken out",
        ),
        ((1..=4096).contains(&cluster.pgs), "pgs", "from 1 to 4096"),
        (
            has_service.contains(&true),
            "steps",
            "followed by at least one of `[scrub]`, `[trim]`, `[removal]` and `[recovery]`",
        ),
        (
            trim.is_none_or(|trim| trim.clones >= 1 && trim.clones <= trim.objects),
            "clones",
            "at least 1 and at most `objects`",
        ),
        (
            recovery.is_none_or(|recovery| recovery.returning < cluster.osds),
            "returning",
            "the number of one of the `osds`, counted from 0",
        ),
        (steps.clients >= Span::from_secs(1), "clients", "at least `1 s`"),
        (steps.limit >= steps.clients, "limit", "at least as long as `clients`"),
        (
            steps.on_disks.is_none_or(|share| share > 0.0 && share <= 1.0),
            "on_disks",
            "a share of the work, more than 0 and at most 1",
        ),
        (
            steps.deadline.is_none() || is_judged,
            "deadline",
            "left out, unless clients are alone before (`begin`, and no `[recovery]`) and ask for so much (`rate`): by both they are judged",
        ),
    ];
    if let Some((_, field, wanted)) = checks.into_iter().find(|(good, ..)| !good) {
        return Err((field, format!("`{field}` must be {wanted}")));
    }
    file.load.check(OBJECT).map_err(|problem| (problem.field, problem.to_string()))
}

/// The times that shrink with the work on real disks, as a run has them; the error names the field.
fn check_times(times: &TimesSection) -> Result<(), (&'static str, String)> {
    let ends = |deadline| times.begin + deadline <= times.clients;
    let checks = [
        (times.begin < times.clients, "begin", "less than `clients`"),
        (
            times.deadline.is_none_or(ends),
            "deadline",
            "at most `clients` less `begin`, or a service could meet it that waited until they had gone",
        ),
    ];
    match checks.into_iter().find(|(good, ..)| !good) {
        Some((_, field, wanted)) => Err((field, format!("`{field}` must be {wanted}"))),
        None => Ok(()),
    }
}

/// Size of the objects that the clients' image is made of.
pub(super) const OBJECT: Bytes = Bytes::from_mib(4);

/// Why a study of what an OSD has missed beside other services does not run on real disks.
const FILLED_BEFORE: &str = "on real disks pools are filled before an OSD is taken out, and would be recovered with the rest: take this study in the simulated world";

/// Why what an OSD has missed is no service on a cluster.
const MISSED: &str = "on a cluster what an OSD has missed is studied alone, since every pool that was filled before would be recovered with it: take a study of recovery, or this one in the simulated world";

/// The study as a cluster can run it; the answer is what was left out, as sentences.
fn fit_to_cluster(
    file: &mut ServicesFile,
    place: &CephTestPlace,
) -> Result<Vec<String>, InputError> {
    let left_out = on_ceph::fit(&mut file.setups, &mut file.sets, place)?;
    // What a file expects is of the engine and its drives, and a table of profiles of another build.
    file.expectations.clear();
    file.setups.iter_mut().for_each(|setup| setup.get_mut().profiles = None);
    file.cluster.osds = place.found.osds.len() as u32;
    Ok(left_out)
}

impl ServicesStudy {
    pub(super) fn read(inputs: &Inputs) -> Result<Study, InputError> {
        let source = &inputs.study;
        let mut file = read_file(source, &inputs.overrides)?;
        let small = file.steps.on_disks.filter(|_| inputs.place != Place::Sim);
        let scale = match small {
            Some(small) if !inputs.is_set("scale") => small,
            _ => inputs.scale(false)?,
        };
        if let Some(load) = &inputs.load {
            let given = given_load::read(load, &inputs.overrides, file.load.image, OBJECT)?;
            given.check_unramped(load, "a study of services")?;
            file.load = given.spec;
            file.steps.clients = given.runtime.unwrap_or(file.steps.clients);
        }
        check(&file).map_err(|(field, reason)| inputs.refuse(field, reason))?;
        check_objects(&file)
            .map_err(|(section, field, reason)| inputs.refuse_in(section, field, reason))?;
        let others = file.scrub.is_some() || file.trim.is_some() || file.removal.is_some();
        if file.recovery.is_some() {
            let refused = match &inputs.place {
                Place::Sim => None,
                Place::Host(place) => others.then(|| (place.disks.to_string(), FILLED_BEFORE)),
                Place::Ceph(place) => Some((place.cluster.to_string(), MISSED)),
            };
            if let Some((place, reason)) = refused {
                return Err(InputError::new(format!("--on {place}"), reason));
            }
        }
        let left_out = match &inputs.place {
            Place::Ceph(place) => fit_to_cluster(&mut file, place)?,
            Place::Sim | Place::Host(_) => Vec::new(),
        };
        let drive = inputs.calibrated_drive()?;
        let setups = read_setups(&file, source, &drive, (&inputs.overrides, &inputs.place))?;
        let ServicesFile { cluster, .. } = &file;
        let mut study = ServicesStudy {
            drive,
            cluster: ServicesCluster {
                osds: cluster.osds,
                copies: cluster.copies,
                pgs: cluster.pgs,
                placement: cluster.placement.of_cluster(inputs.place == Place::Sim),
            },
            steps: ServicesSteps {
                scale,
                times: file.steps,
                scrub: file.scrub,
                trim: file.trim,
                removal: file.removal,
                recovery: file.recovery,
            },
            load: file.load,
            setups,
            left_out,
            place: inputs.place.clone(),
        };
        if inputs.place != Place::Sim {
            study.fit(inputs);
        }
        check_times(&study.steps.times).map_err(|(field, reason)| inputs.refuse(field, reason))?;
        let asked = StudyQuestion {
            title: file.title,
            question: file.question,
            load: study.load.to_string(),
            scale,
            departs: inputs.departures(&BESIDE_PUBLISHED),
            setups: study.setups.iter().map(|setup| setup.osds.configuration.clone()).collect(),
            sets: file.sets,
            expectations: file.expectations,
        };
        Study::of(inputs, asked, study)
    }
}
