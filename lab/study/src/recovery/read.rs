//! Reads a study file of this kind, and refuses what cannot be used.

use super::as_twin;
use super::described;
use super::file::{NeighbourSection, STUDY_KEYS, StoreKind, StudyFile};
use super::setup::ClusterShape;
use super::setup::read_setups;
use super::study::{RecoverySteps, RecoveryStudy};
use super::work;
use crate::given_load;
use crate::input::{InputError, Source};
use crate::inputs::{Inputs, NamedFiles};
use crate::on_ceph;
use crate::overrides::{Override, apply_overrides};
use crate::place::Place;
use crate::setup::measured;
use crate::study::{Study, StudyQuestion};
use loadline_base::{Bytes, Span};
use loadline_osd::OsdId;
use loadline_sim::SimHost;
use loadline_testbed::{CephTestPlace, IMAGE};
use toml::Spanned;

pub(super) fn read_file(source: &Source, overrides: &[Override]) -> Result<StudyFile, InputError> {
    let mut file: StudyFile =
        toml::from_str(&source.text).map_err(|error| source.toml_error(&error))?;
    let has = ("a study has", " and every option of an OSD");
    let own = overrides.iter().filter(|change| !change.is_option());
    apply_overrides(&mut file, STUDY_KEYS, has, own)?;
    Ok(file)
}

pub(super) fn named_in(study: &Source, overrides: &[Override]) -> Result<NamedFiles, InputError> {
    let StudyFile { drive, published, .. } = read_file(study, overrides)?;
    Ok(NamedFiles { drive, published })
}

/// What may be set beside published figures: how much of their work is done, what nobody printed, and the runs beside.
const BESIDE_PUBLISHED: [&str; 5] =
    ["scale", "returning", "variant_scale", "spread_placements", "spread_scale"];

/// What the readers of single fields cannot see; the error names the field.
fn check(file: &StudyFile) -> Result<(), (&'static str, String)> {
    let StudyFile { cluster, recovery, companions, .. } = file;
    let is_share = |scale: f64| scale > 0.0 && scale <= 1.0;
    let checks = [
        (is_share(companions.variant_scale), "variant_scale", "more than 0 and at most 1"),
        (is_share(companions.spread_scale), "spread_scale", "more than 0 and at most 1"),
        (companions.spread_placements <= 1000, "spread_placements", "at most 1000"),
        ((2..=64).contains(&cluster.osds), "osds", "from 2 to 64"),
        (
            cluster.copies >= 1 && cluster.copies < cluster.osds,
            "copies",
            "at least 1 and less than `osds`: one OSD is taken out and its copies must find a place",
        ),
        ((1..=4096).contains(&cluster.pgs), "pgs", "from 1 to 4096"),
        (
            cluster.returning.is_none_or(|osd| osd < cluster.osds),
            "returning",
            "the number of one of the `osds`, counted from 0",
        ),
        ((1..=100_000_000).contains(&recovery.objects), "objects", "from 1 to 100000000"),
        (
            recovery.object_size >= Bytes::from_kib(4)
                && recovery.object_size <= Bytes::from_mib(64),
            "object_size",
            "from 4 KiB to 64 MiB",
        ),
        (recovery.baseline >= Span::from_secs(1), "baseline", "at least `1 s`"),
        (recovery.limit >= recovery.baseline, "limit", "at least as long as `baseline`"),
    ];
    if let Some((_, field, wanted)) = checks.into_iter().find(|(good, ..)| !good) {
        return Err((field, format!("`{field}` must be {wanted}")));
    }
    let neighbours = file.neighbours.iter().map(|neighbour| &neighbour.get_ref().load);
    [&file.load].into_iter().chain(neighbours).try_for_each(|load| {
        load.check(recovery.object_size).map_err(|problem| (problem.field, problem.to_string()))
    })
}

/// Each neighbour has a name of its own, which is not the clients' image's.
fn check_names(
    neighbours: &[Spanned<NeighbourSection>],
    source: &Source,
) -> Result<(), InputError> {
    for (at, neighbour) in neighbours.iter().enumerate() {
        let name = &neighbour.get_ref().name;
        let before = neighbours[..at].iter().map(|other| &other.get_ref().name);
        if name == IMAGE || before.into_iter().any(|other| other == name) {
            let reason =
                format!("another image is called `{name}`: give this one a name of its own");
            return Err(source.error_at(neighbour.span().start, reason));
        }
    }
    Ok(())
}

/// The study as a cluster can run it; the answer is what was left out, as sentences.
fn fit_to_cluster(file: &mut StudyFile, place: &CephTestPlace) -> Result<Vec<String>, InputError> {
    let left_out = on_ceph::fit(&mut file.setups, &mut file.sets, place)?;
    // What a file expects is of the engine and its drives.
    file.expectations.clear();
    let (cluster, osds) = (&mut file.cluster, &place.found.osds);
    cluster.osds = osds.len() as u32;
    let returning = cluster.returning.unwrap_or(cluster.osds.saturating_sub(1));
    cluster.returning = Some(osds.get(returning as usize).copied().unwrap_or(returning));
    Ok(left_out)
}

impl RecoveryStudy {
    pub(super) fn read(inputs: &Inputs) -> Result<Study, InputError> {
        let (script, asked) = RecoveryStudy::asked(inputs)?;
        Study::of(inputs, asked, script)
    }

    /// The steps that the inputs describe.
    ///
    /// # Errors
    /// [`InputError`] naming file, line and field for anything that cannot be used.
    pub fn new(inputs: &Inputs) -> Result<RecoveryStudy, InputError> {
        Ok(RecoveryStudy::asked(inputs)?.0)
    }

    fn asked(inputs: &Inputs) -> Result<(RecoveryStudy, StudyQuestion), InputError> {
        let source = &inputs.study;
        let mut file = read_file(source, &inputs.overrides)?;
        let twin = as_twin::fit(&mut file, inputs)?;
        let scale = inputs.scale(file.cluster.store == StoreKind::Paged)?;
        if let Some(load) = &inputs.load {
            let object = file.recovery.object_size;
            let given = given_load::read(load, &inputs.overrides, file.load.image, object)?;
            given.check_unramped(load, "a recovery study")?;
            file.load = given.spec;
            file.recovery.baseline = given.runtime.unwrap_or(file.recovery.baseline);
        }
        let drive = inputs.calibrated_drive()?;
        let drive = if twin.is_some() { drive.on_one_host() } else { drive };
        let described = described::fit(&mut file, inputs, drive.medium)?;
        check(&file).map_err(|(field, reason)| inputs.refuse(field, reason))?;
        check_names(&file.neighbours, source)?;
        let mut left_out = match &inputs.place {
            Place::Ceph(place) => fit_to_cluster(&mut file, place)?,
            Place::Sim | Place::Host(_) => Vec::new(),
        };
        if inputs.place != Place::Sim
            && file.cluster.store == StoreKind::Direct
            && inputs.is_set("store")
        {
            let reason = "real disks hold paged stores: leave `--set store` out".to_owned();
            return Err(inputs.refuse("store", reason));
        }
        let StudyFile { cluster, recovery, .. } = &file;
        let shared = file
            .host
            .of_cluster(cluster.osds, cluster.copies)
            .map_err(|(field, reason)| inputs.refuse(field, reason))?;
        if inputs.place != Place::Sim && shared != SimHost::default() {
            let field = if shared.devices.is_empty() { "cores" } else { "devices" };
            let reason = "a simulated host alone has other devices and processors than there are";
            return Err(inputs.refuse(field, reason.to_owned()));
        }
        let shape = ClusterShape {
            osds: cluster.osds,
            copies: cluster.copies,
            pgs: cluster.pgs,
            placement: match &described {
                Some(described) => described.placement.clone(),
                None => {
                    let is_direct = cluster.store == StoreKind::Direct;
                    cluster.placement.of_cluster(inputs.place == Place::Sim && is_direct)
                }
            },
            returning: OsdId::new(cluster.returning.unwrap_or(cluster.osds - 1)),
        };
        let mut measured = measured(&drive, &inputs.place);
        if let Some(iops) = twin {
            // A node measures its own disks, and nothing of their bandwidth.
            let is_of_drive = |(option, _): &(String, String)| option.contains("bandwidth");
            measured.retain(|of| !is_of_drive(of));
            let capacity = measured.iter_mut().filter(|(option, _)| option.contains("capacity"));
            capacity.for_each(|(_, value)| *value = iops.to_string());
        }
        if let Some(described) = described {
            for (option, value) in &mut measured {
                *value = described.measured.get(option).unwrap_or(value).clone();
            }
            left_out.extend(described.left_out);
        }
        let ground = (inputs.overrides.as_slice(), &inputs.place);
        let setups = read_setups(&file, source, (&shape, measured), drive.medium, ground)?;
        let mut study = RecoveryStudy {
            cluster: shape,
            store: cluster.store,
            host: shared,
            is_twin: twin.is_some(),
            steps: RecoverySteps {
                scale,
                objects: recovery.objects,
                object_size: recovery.object_size,
                baseline: recovery.baseline,
                limit: recovery.limit,
                first: recovery.first,
            },
            load: file.load,
            neighbours: file.neighbours.into_iter().map(Spanned::into_inner).collect(),
            companions: file.companions,
            drive,
            setups,
            left_out,
            place: inputs.place.clone(),
        };
        if inputs.place != Place::Sim || study.store == StoreKind::Paged {
            study = work::fitted(study, inputs);
        }
        let asked = StudyQuestion {
            title: file.title,
            question: file.question,
            load: study.loads(),
            scale,
            departs: inputs.departures(&BESIDE_PUBLISHED),
            setups: study.setups.iter().map(|setup| setup.osds.configuration.clone()).collect(),
            sets: file.sets,
            expectations: file.expectations,
        };
        Ok((study, asked))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::library::Library;
    use loadline_testbed::{ClientKind, HostPlace, RealDisks};

    /// What a real disk does was also told of the modelled one, which does seven times as much.
    #[test]
    fn what_is_true_of_real_disks_is_told_of_them_alone() {
        let disks = RealDisks::Files("disk".into());
        let client = ClientKind::Own;
        let host = Place::Host(HostPlace { disks, client, keep_files: false, overwrite: false });
        let capacity = |place: &Place, set: &[&str]| {
            let set = set.iter().map(|text| text.parse().expect("an override")).collect();
            let inputs = Library::built_in().inputs("reservation", set).expect("it is there");
            let inputs = Inputs { place: place.clone(), ..inputs };
            let study = RecoveryStudy::new(&inputs).expect("it can be used");
            let all = study.setups.iter().map(|setup| setup.osds.plan().capacity.iops);
            let mut all: Vec<f64> = all.collect();
            all.dedup();
            all
        };
        assert_eq!(capacity(&Place::Sim, &[]), [21_500.0]);
        assert_eq!(capacity(&host, &[]), [3_000.0]);
        // What is typed counts.
        let set = ["osd_mclock_max_capacity_iops_ssd=1000"];
        assert_eq!(capacity(&Place::Sim, &set), [1_000.0]);
        assert_eq!(capacity(&host, &set), [1_000.0]);
    }

    /// A study whose file had the paged store began with the whole published work, two terabytes that a simulated disk holds.
    #[test]
    fn what_holds_every_byte_is_small_whoever_says_so() {
        let scale = |file: &str, set: &[&str]| {
            let set = set.iter().map(|text| text.parse().expect("an override")).collect();
            let mut inputs = Library::built_in().inputs("recovery-nvme", set).expect("it is there");
            inputs.study.text = inputs.study.text.replace("[cluster]\n", file);
            RecoveryStudy::new(&inputs).expect("it can be used").steps.scale
        };
        let (direct, paged) = ("[cluster]\n", "[cluster]\nstore = \"paged\"\n");
        let small = scale(direct, &["store=paged"]);
        assert!(scale(direct, &[]) > 100.0 * small);
        assert_eq!(scale(paged, &[]), small);
        assert_eq!(scale(paged, &["scale=0.5"]), 0.5);
        assert!(scale(paged, &["store=direct"]) > 100.0 * small);
    }
}
