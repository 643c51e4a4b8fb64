//! A recovery study's setups: what its OSDs are set to, whether one of them returns, and what is in the way.

use super::file::{RecoverySetupSection, StudyFile};
use crate::input::{InputError, Source, unknown};
use crate::overrides::Override;
use crate::place::Place;
use crate::sets::refuse_twins;
use crate::setup::{OsdSetup, SchedulerName, SetupGround, TypedOptions, TypedSetup};
use loadline_base::Span;
use loadline_cluster::Placement;
use loadline_cluster::images::ImageQos;
use loadline_cluster::settings::DriveLimits;
use loadline_device::Medium;
use loadline_osd::OsdId;
use loadline_qos::{MclockForm, preset};
use loadline_testbed::IMAGE;

/// One configuration under test.
#[derive(Clone, Debug)]
pub(crate) struct RecoverySetup {
    pub(crate) osds: OsdSetup,
    /// Whether an OSD returns and is filled.
    pub(crate) recovery: bool,
    /// How long clients go on, at most until recovery ends; `None` for until then.
    pub(crate) clients: Option<Span>,
    /// What the images are promised and allowed that are there, the clients' own first.
    pub(crate) images: Vec<ImageTerms>,
}

/// An image of a setup.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct ImageTerms {
    /// Its name.
    pub(crate) name: String,
    /// Its place among the study's neighbours; `None` for the clients' own.
    pub(crate) neighbour: Option<usize>,
    /// What it is promised and allowed.
    pub(crate) qos: ImageQos,
}

impl RecoverySetup {
    /// Its name.
    pub(crate) fn name(&self) -> &str {
        self.osds.name()
    }

    /// Whether what single images get is worth telling.
    pub(super) fn has_several_images(&self) -> bool {
        self.images.len() > 1 || self.images.iter().any(|image| image.qos != ImageQos::default())
    }

    /// Everything that a run of this setup depends on beside the study's steps, as text.
    pub(super) fn identity(&self) -> String {
        let of = format!("{:?} {:?} {:?}", self.osds.engine(0, 0), self.clients, self.recovery);
        if self.has_several_images() { format!("{of} {:?}", self.images) } else { of }
    }
}

/// All setups of a study, each checked against the options that exist under its preset.
pub(super) fn read_setups(
    file: &StudyFile,
    source: &Source,
    (shape, measured): (&ClusterShape, Vec<(String, String)>),
    medium: Medium,
    (overrides, place): (&[Override], &Place),
) -> Result<Vec<RecoverySetup>, InputError> {
    let ground = SetupGround {
        source,
        media: vec![medium; shape.osds as usize],
        limits: DriveLimits::default(),
        measured,
        overrides,
    };
    refuse_twins(source, file.setups.iter().map(|section| &section.get_ref().name))?;
    // What the disks of a cluster do its operators have stored.
    let of_place = Some(&file.settings_on_disks).filter(|_| matches!(place, Place::Host(_)));
    let setups = file.setups.iter();
    setups
        .map(|section| {
            let images = images_of(file, section.get_ref(), source)?;
            let clients = section.get_ref().clients.or(file.recovery.clients);
            let options: Vec<&TypedOptions> =
                of_place.into_iter().chain([&section.get_ref().settings]).collect();
            let setup = read(&ground, section.get_ref(), &options, (images, clients))?;
            let at = section.get_ref().name.span().start;
            check_promises(&setup, shape).map_err(|reason| source.error_at(at, reason))?;
            Ok(setup)
        })
        .collect()
}

/// The images of a setup with their terms, each of which must be there.
fn images_of(
    file: &StudyFile,
    section: &RecoverySetupSection,
    source: &Source,
) -> Result<Vec<ImageTerms>, InputError> {
    let known: Vec<&str> = file.neighbours.iter().map(|it| it.get_ref().name.as_str()).collect();
    let none = ImageTerms { name: IMAGE.to_owned(), neighbour: None, qos: ImageQos::default() };
    let mut images = vec![none.clone()];
    for name in &section.neighbours {
        let at = name.span().start;
        let place = known.iter().position(|known| known == name.get_ref());
        let place = place.ok_or_else(|| {
            source.error_at(at, unknown("neighbour", name.get_ref(), known.iter().copied()))
        })?;
        if images.iter().any(|image| image.neighbour == Some(place)) {
            let reason =
                format!("`{}` is there twice: each neighbour is one image", name.get_ref());
            return Err(source.error_at(at, reason));
        }
        images.push(ImageTerms {
            name: name.get_ref().clone(),
            neighbour: Some(place),
            ..none.clone()
        });
    }
    for (name, terms) in &section.images {
        let at = name.span().start;
        let names: Vec<String> = images.iter().map(|image| image.name.clone()).collect();
        let image = images.iter_mut().find(|image| image.name == *name.get_ref());
        let image = image.ok_or_else(|| {
            let names = names.iter().map(String::as_str);
            source.error_at(at, unknown("image of this setup", name.get_ref(), names))
        })?;
        let weight = terms.weight.map_or(100.0, |weight| (weight * 100.0).round());
        image.qos = ImageQos {
            reservation: terms.reservation,
            limit: terms.limit,
            burst: terms.burst,
            weight_percent: weight.clamp(0.0, f64::from(u32::MAX)) as u32,
        };
        let checked = image.qos.check();
        checked.map_err(|reason| source.error_at(at, format!("{}: {reason}", name.get_ref())))?;
    }
    let is_divided = images.iter().any(|image| image.qos != ImageQos::default());
    let knows_images = preset(section.preset.get_ref())
        .is_some_and(|preset| preset.mclock == MclockForm::Loadline)
        && section.scheduler == SchedulerName::Mclock;
    if is_divided && !knows_images {
        let reason = "images have promises and limits under preset `loadline` with scheduler `mclock` alone: take those, or leave `images` out";
        return Err(source.error_at(section.name.span().start, reason));
    }
    Ok(images)
}

/// A node promises images no more than its disks keep for clients, where it knows those; each write is one on every copy.
fn check_promises(setup: &RecoverySetup, shape: &ClusterShape) -> Result<(), String> {
    let promised: f64 = setup.images.iter().map(|image| f64::from(image.qos.reservation)).sum();
    let osds = &setup.osds;
    let Some((share, each)) = osds.reserved_for_clients().zip(osds.stored_capacity_iops()) else {
        return Ok(());
    };
    let most = share * each * f64::from(shape.osds) / f64::from(shape.copies);
    match promised > most {
        true => Err(format!(
            "its images are promised {promised:.0} IOPS together, and the disks keep {most:.0} for clients: promise at most that"
        )),
        false => Ok(()),
    }
}

fn read(
    ground: &SetupGround<'_>,
    section: &RecoverySetupSection,
    options: &[&TypedOptions],
    (images, clients): (Vec<ImageTerms>, Option<Span>),
) -> Result<RecoverySetup, InputError> {
    let typed = TypedSetup {
        name: &section.name,
        about: &section.about,
        preset: &section.preset,
        profiles: None,
        scheduler: section.scheduler,
        profile: section.profile.as_ref(),
        options,
    };
    let osds = ground.read_with_traits(&typed)?;
    Ok(RecoverySetup { osds, recovery: section.recovery, clients, images })
}

/// How many OSDs and copies there are, and where groups fall.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct ClusterShape {
    /// OSDs, one drive each.
    pub osds: u32,
    /// Copies of each object.
    pub copies: u32,
    /// Placement groups of each of the two pools.
    pub pgs: u32,
    /// How objects and groups are placed.
    pub placement: Placement,
    /// The OSD that goes and returns.
    pub returning: OsdId,
}
