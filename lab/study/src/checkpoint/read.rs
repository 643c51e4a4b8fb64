//! Reads a study file of this kind, and refuses what cannot be used.

use super::drive::StoreDrive;
use super::file::{CheckpointFile, CheckpointSetupSection, QueueSection};
use super::keys::CHECKPOINT_KEYS;
use super::layout;
use super::study::{CheckpointSetup, CheckpointStudy};
use crate::input::{InputError, Source, unknown};
use crate::inputs::{Inputs, NamedFiles};
use crate::overrides::{Override, apply_overrides};
use crate::place::Place;
use crate::result::{Configuration, NamedValue};
use crate::sets::refuse_twins;
use crate::study::{Study, StudyQuestion};
use loadline_base::{Bytes, Span};
use loadline_cluster::settings::{Enforcement, LevelTarget, Scope, Settings, SettingsChange};
use loadline_cluster::{Config, Placement};
use loadline_device::Medium;
use loadline_kv::DbOptions;
use loadline_load::puts::PutKind;
use loadline_osd::{OsdId, OsdOptions, Policy};
use loadline_qos::{PRESETS, preset};
use loadline_store::paged::image::Compression;
use loadline_store::paged::throttle::ThrottlePolicy;
use loadline_store::paged::{FormatError, LogMode, Protection};
use loadline_testbed::{ClientKind, HostPlace};
use std::str::FromStr;
use toml::Spanned;

pub(super) fn read_file(
    source: &Source,
    place: &Place,
    overrides: &[Override],
) -> Result<CheckpointFile, InputError> {
    let mut file: CheckpointFile =
        toml::from_str(&source.text).map_err(|error| source.toml_error(&error))?;
    if *place != Place::Sim {
        file = file.on_disks();
    }
    apply_overrides(&mut file, CHECKPOINT_KEYS, ("a checkpoint study has", ""), overrides)?;
    Ok(file)
}

pub(super) fn named_in(study: &Source, overrides: &[Override]) -> Result<NamedFiles, InputError> {
    let CheckpointFile { drive, published, .. } = read_file(study, &Place::Sim, overrides)?;
    Ok(NamedFiles { drive, published })
}

/// What may be set beside published figures: how large the node is, and how long it is looked at.
const BESIDE_PUBLISHED: [&str; 3] = ["scale", "warm_up", "periods"];

/// The study that the inputs describe.
pub(super) fn read(inputs: &Inputs) -> Result<Study, InputError> {
    let (script, asked) = asked(inputs)?;
    Study::of(inputs, asked, script)
}

/// Its steps, and what they are to answer.
pub(super) fn asked(inputs: &Inputs) -> Result<(CheckpointStudy, StudyQuestion), InputError> {
    let source = &inputs.study;
    if let Some(load) = &inputs.load {
        let reason =
            "a checkpoint study's clients put keys, which no fio job describes: leave --load out";
        return Err(InputError::new(format!("--load {}", load.file), reason));
    }
    if let Place::Host(place) = &inputs.place {
        check_place(place, inputs)?;
    }
    let file = read_file(source, &inputs.place, &inputs.overrides)?;
    check(&file).map_err(|(field, reason)| inputs.refuse(field, reason))?;
    let drive = StoreDrive::parse(&inputs.drive)?;
    let osd = osd(&file.queue, &drive).map_err(|(field, reason)| inputs.refuse(field, reason))?;
    let setups = read_setups(&file.setups, source)?;
    let asked = StudyQuestion {
        title: file.title,
        question: file.question,
        load: file.load.to_string(),
        scale: file.work.scale,
        departs: inputs.departures(&BESIDE_PUBLISHED),
        setups: setups.iter().map(|setup| setup.configuration.clone()).collect(),
        sets: file.sets,
        expectations: file.expectations,
    };
    let script = CheckpointStudy {
        drive_name: inputs.drive.name.clone(),
        drive,
        work: file.work,
        store: file.store,
        load: file.load,
        osd,
        profile: file.queue.profile,
        setups,
        place: inputs.place.clone(),
    };
    check_layout(&script).map_err(|(field, reason)| inputs.refuse(field, reason))?;
    Ok((script, asked))
}

/// Whether the store's regions find their places on its device; the error names the field.
fn check_layout(study: &CheckpointStudy) -> Result<(), (&'static str, String)> {
    let refused = |error: FormatError| match error {
        FormatError::TooSmall => {
            ("log", "`log` and `recovery` must leave room for pages in the store's `size`")
        }
        FormatError::TooLarge => ("size", "`size` must be smaller: no tree names so many pages"),
        FormatError::Recovery => (
            "recovery",
            "`recovery` must be larger: at the study's scale a transaction's pages do not fit",
        ),
        FormatError::Block | FormatError::Segment | FormatError::Log => {
            ("log", "`log` must be larger: at the study's scale it has too few segments")
        }
    };
    let layout = layout::format(study).layout().map_err(refused);
    layout.map(drop).map_err(|(field, reason)| (field, reason.to_owned()))
}

/// What an embedded store has not, and what cannot be its client.
fn check_place(place: &HostPlace, inputs: &Inputs) -> Result<(), InputError> {
    if place.client != ClientKind::Own {
        let reason = "fio puts no keys, and a checkpoint study's clients put nothing else: leave --client out";
        return Err(InputError::new("--client fio", reason));
    }
    let modelled = [
        ("drive", "a modelled drive, and this one is real"),
        ("preset", "the scheduler of an OSD, and an embedded store has none before it"),
        ("profile", "the scheduler of an OSD, and an embedded store has none before it"),
    ];
    match modelled.into_iter().find(|(key, _)| inputs.is_set(key)) {
        Some((key, names)) => {
            let typed = inputs.overrides.iter().rfind(|change| change.key == key);
            let place = typed.map_or_else(String::new, ToString::to_string);
            Err(InputError::new(
                place,
                format!("it names {names}: leave it out, or leave --on out"),
            ))
        }
        None => Ok(()),
    }
}

/// What the readers of single fields cannot see; the error names the field.
fn check(file: &CheckpointFile) -> Result<(), (&'static str, String)> {
    let CheckpointFile { work, store, .. } = file;
    let checks = [
        (work.scale > 0.0 && work.scale <= 1.0, "scale", "more than 0 and at most 1"),
        (work.keys as f64 * work.scale >= 100.0, "keys", "at least 100 at the study's scale"),
        (work.filled <= work.keys, "filled", "at most `keys`"),
        ((1..=10_000).contains(&work.periods), "periods", "from 1 to 10000"),
        (work.warm_up <= 10_000, "warm_up", "at most 10000"),
        (work.period >= Span::from_millis(100), "period", "at least `100 ms`"),
        ((1..=100).contains(&store.log_trigger_percent), "log_trigger_percent", "from 1 to 100"),
        (
            store.cache.get() as f64 * work.scale >= f64::from(256 << 12),
            "cache",
            "at least 1 MiB at the study's scale",
        ),
        (store.recovery >= store.cache, "recovery", "at least as large as `cache`"),
        (store.size <= Bytes::new(4 << 50), "size", "at most 4096 TiB"),
        (store.log < store.size, "log", "less than the store's `size`, which holds it"),
        (store.recovery < store.size, "recovery", "less than the store's `size`, which holds it"),
    ];
    if let Some((_, field, wanted)) = checks.into_iter().find(|(good, ..)| !good) {
        return Err((field, format!("`{field}` must be {wanted}")));
    }
    file.load.check().map_err(|problem| (problem.field, problem.to_string()))
}

/// The one OSD: one queue with one worker, which is the processor, and all of the drive.
fn osd(queue: &QueueSection, drive: &StoreDrive) -> Result<Config, (&'static str, String)> {
    let preset = *preset(&queue.preset).ok_or_else(|| {
        let known: Vec<&str> = PRESETS.iter().map(|preset| preset.name).collect();
        ("preset", unknown("preset", &queue.preset, known))
    })?;
    if preset.profiles.profile(&queue.profile).is_none() {
        let known: Vec<&str> = preset.profiles.names().collect();
        return Err(("profile", unknown("profile", &queue.profile, known)));
    }
    let mut settings = Settings::new(preset, &[Medium::Ssd], Enforcement::Refuse);
    let stored = [
        ("osd_op_num_shards_ssd", "1".to_owned()),
        ("osd_mclock_max_capacity_iops_ssd", drive.capacity_iops.to_string()),
        ("osd_mclock_max_sequential_bandwidth_ssd", drive.bandwidth.get().to_string()),
        ("osd_mclock_profile", queue.profile.clone()),
    ];
    for (option, value) in stored {
        // A preset may not know the bandwidth.
        if settings.option(option).is_ok() {
            let change = SettingsChange::set(LevelTarget::Stored(Scope::Osds), option, &value);
            settings.apply(&change).map_err(|refused| ("preset", refused.to_string()))?;
        }
    }
    let first = OsdId::new(0);
    settings.start(first);
    Ok(Config {
        osds: 1,
        placement: Placement::Even,
        placement_seed: 0,
        policy: Policy { plan: settings.plan(first), seed: 0 },
        options: OsdOptions { threads_per_shard: 1, ..settings.osd_options(first) },
    })
}

/// The trait of the setup whose options are those that a store has by itself.
pub const SHIPPED_DEFAULT: &str = "shipped default";

fn read_setups(
    sections: &[Spanned<CheckpointSetupSection>],
    source: &Source,
) -> Result<Vec<CheckpointSetup>, InputError> {
    refuse_twins(source, sections.iter().map(|section| &section.get_ref().name))?;
    let mut setups: Vec<CheckpointSetup> = Vec::new();
    for section in sections {
        let CheckpointSetupSection {
            name,
            about,
            protection,
            log_mode,
            compression,
            throttle,
            puts,
        } = section.get_ref();
        let protection: Protection = word(protection, source)?;
        let log_mode: LogMode = word(log_mode, source)?;
        let compression: Compression = word(compression, source)?;
        let throttle: ThrottlePolicy = word(throttle, source)?;
        let puts: PutKind = word(puts, source)?;
        let own = DbOptions::default();
        let is_default = (protection, log_mode, compression, throttle)
            == (own.protection, own.log_mode, own.compression, own.throttle);
        let traits = [
            ("protection", protection.to_string()),
            ("log mode", log_mode.to_string()),
            ("compression of images", compression.to_string()),
            ("throttle", throttle.to_string()),
            ("puts", puts.to_string()),
            (SHIPPED_DEFAULT, if is_default { "yes" } else { "no" }.to_owned()),
        ];
        let configuration = Configuration {
            name: name.get_ref().clone(),
            about: about.clone(),
            traits: traits.map(NamedValue::from).into(),
            ..Configuration::default()
        };
        setups.push(CheckpointSetup {
            configuration,
            protection,
            log_mode,
            compression,
            puts,
            throttle,
        });
    }
    Ok(setups)
}

/// One of the words that a setting knows.
fn word<T: FromStr<Err: std::fmt::Display>>(
    typed: &Spanned<String>,
    source: &Source,
) -> Result<T, InputError> {
    typed.get_ref().parse().map_err(|error: T::Err| {
        source.error_at(typed.span().start, format!("`{}`: {error}", typed.get_ref()))
    })
}
