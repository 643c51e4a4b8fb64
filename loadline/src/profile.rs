//! `loadline profile`

use crate::cli::{ProfileArgs, ProfileCommand};
use crate::failure::Failure;
use crate::library::library;
use crate::node;
use crate::show;
use loadline_base::Bytes;
use loadline_cluster::settings::{Enforcement, LevelTarget, Scope, Settings, SettingsChange};
use loadline_device::Medium;
use loadline_osd::OsdId;
use loadline_qos::{ClassFigures, CostUnit, PRESETS, Preset, RateFigures, ShardPlan, preset};
use loadline_sim::Drive;
use loadline_study::{Shelf, unknown};
use serde_json::{Value, json};

pub(crate) fn carry_out(command: ProfileCommand) -> Result<(), Failure> {
    match command {
        ProfileCommand::List(args) => list(args.json),
        ProfileCommand::Show(args) => show_one(&args),
        ProfileCommand::Switch(args) => node::switch_profile(args),
    }
}

fn list(as_json: bool) -> Result<(), Failure> {
    if as_json {
        let presets = PRESETS.iter().map(|preset| {
            json!({
                "preset": preset.name, "summary": preset.summary,
                "profiles": preset.profiles.names().collect::<Vec<_>>(),
                "default": preset.profiles.default_profile, "source": preset.profiles.source,
            })
        });
        return show::json(&json!({ "presets": presets.collect::<Vec<_>>() }));
    }
    let rows: Vec<[String; 3]> = PRESETS
        .iter()
        .flat_map(|preset| preset.profiles.names().map(move |profile| (preset, profile)))
        .map(|(preset, profile)| {
            let default = profile == preset.profiles.default_profile;
            let note = if default { "default; " } else { "" };
            [profile.to_owned(), preset.name.to_owned(), format!("{note}{}", preset.summary)]
        })
        .collect();
    show::text(&show::table(["profile", "preset", ""], &[1, 2], &rows))
}

/// What was meant.
struct Question {
    preset: &'static Preset,
    profile: String,
    medium: Medium,
    iops: Option<f64>,
    bandwidth: Option<Bytes>,
}

impl Question {
    fn of(args: &ProfileArgs, profile: &str) -> Result<Question, Failure> {
        let preset = preset(&args.preset).ok_or_else(|| {
            let known: Vec<&str> = PRESETS.iter().map(|preset| preset.name).collect();
            Failure::Input(unknown("preset", &args.preset, known))
        })?;
        let known: Vec<&str> = preset.profiles.names().collect();
        if !known.contains(&profile) {
            return Err(Failure::Input(unknown("profile", profile, known)));
        }
        let profile = profile.to_owned();
        if let Some(name) = &args.drive {
            let drive = drive(name)?;
            let (iops, bandwidth) = (Some(drive.capacity_iops), Some(drive.bandwidth));
            return Ok(Question { preset, profile, medium: drive.medium, iops, bandwidth });
        }
        if args.bandwidth.is_some() && preset.era.unit() == CostUnit::Mixed {
            return Err(Failure::Input(format!(
                "--bandwidth: preset {} reckons with IOPS alone, large transfers included: leave it out, or choose --preset reef or loadline",
                preset.name
            )));
        }
        let refused = |flag: &str, why: &str| Err(Failure::Input(format!("--{flag}: takes {why}")));
        if args.iops.is_some_and(|iops| !Drive::IOPS.contains(&iops)) {
            return refused("iops", "a number from 1 to 1000000000");
        }
        if args.bandwidth.is_some_and(|bandwidth| !Drive::BANDWIDTH.contains(&bandwidth)) {
            return refused("bandwidth", "a size from 1 B to 1000 GiB");
        }
        let medium = args.medium.map_or(Medium::Ssd, Medium::from);
        Ok(Question { preset, profile, medium, iops: args.iops, bandwidth: args.bandwidth })
    }

    /// The settings of an OSD with this profile on this capacity.
    fn plan(&self) -> Result<ShardPlan, Failure> {
        let mut settings = Settings::new(*self.preset, &[self.medium], Enforcement::Refuse);
        let form = if self.medium == Medium::Ssd { "ssd" } else { "hdd" };
        let mut change = SettingsChange::default();
        let mut set = |option: String, value: Option<String>| {
            if let Some(value) = value.filter(|_| settings.option(&option).is_ok()) {
                change = std::mem::take(&mut change).and_set(
                    LevelTarget::Stored(Scope::Osds),
                    &option,
                    &value,
                );
            }
        };
        set("osd_mclock_profile".to_owned(), Some(self.profile.clone()));
        let iops =
            self.iops.map(|iops| if iops < 1e15 { iops.to_string() } else { format!("{iops:e}") });
        set(format!("osd_mclock_max_capacity_iops_{form}"), iops);
        let bandwidth = self.bandwidth.map(|bandwidth| bandwidth.get().to_string());
        set(format!("osd_mclock_max_sequential_bandwidth_{form}"), bandwidth);
        settings.apply(&change).map_err(|refused| Failure::Input(refused.to_string()))?;
        Ok(settings.plan(OsdId::new(0)))
    }
}

fn drive(name: &str) -> Result<Drive, Failure> {
    let source = library().find(Shelf::Drives, name)?;
    Drive::parse(&source.name, &source.file, &source.text)
        .map_err(|error| Failure::Input(error.to_string()))
}

fn show_one(args: &ProfileArgs) -> Result<(), Failure> {
    let Some(profile) = &args.profile else { return node::profile(&args.node) };
    if args.node.is_named() {
        let reason = "a node shows the profile in force: leave the profile out, or the node";
        return Err(Failure::Input(reason.to_owned()));
    }
    let question = Question::of(args, profile)?;
    let plan = question.plan()?;
    let figures = plan.figures().map_err(|error| Failure::Input(format!("{error:?}")))?;
    if args.node.json() {
        return show::json(&profile_json(&question, &plan, &figures));
    }
    let capacity = &plan.capacity;
    let head = format!(
        "{} under preset {}: an OSD of {:.0} IOPS and {:.0} MiB/s in {}\n\n",
        question.profile,
        question.preset.name,
        capacity.iops,
        capacity.sequential_bandwidth / 1_048_576.0,
        if capacity.shards == 1 {
            "one queue".to_owned()
        } else {
            format!("{} shards", capacity.shards)
        }
    );
    let rows: Vec<[String; 7]> =
        figures.iter().flat_map(|class| rows(class, question.preset.era.unit())).collect();
    let columns = [
        "class",
        "",
        "of capacity",
        "units/s a shard",
        "IOPS a shard",
        "IOPS an OSD",
        "MiB/s an OSD",
    ];
    show::text(&(head + &show::table(columns, &[1], &rows) + NOTE))
}

const NOTE: &str = "
IOPS are small operations, MiB/s large transfers: a class gets the one or the other of its rate, or a mix.
In the first eras a large transfer is charged its duration on the device, so its MiB/s say what is charged,
not what the device can do.
";

/// How the first eras write "no limit", in their units per second and shard.
const NO_LIMIT: f64 = 999_999.0;

/// Reservation, weight and limit of one class.
fn rows(figures: &ClassFigures, unit: CostUnit) -> [[String; 7]; 3] {
    let rate = |class: &str, what: &str, rate: &Option<RateFigures>| match rate {
        None => [class.into(), what.into(), "none".into(), dash(), dash(), dash(), dash()],
        Some(rate) if unit == CostUnit::Mixed && rate.units_per_shard >= NO_LIMIT => {
            let units = format!("{NO_LIMIT}");
            [class.into(), what.into(), "none".into(), units, dash(), dash(), dash()]
        }
        Some(rate) => [
            class.into(),
            what.into(),
            format!("{:.0} %", rate.part * 100.0),
            format!("{:.1}", rate.units_per_shard),
            format!("{:.1}", rate.iops_per_shard),
            format!("{:.1}", rate.iops_per_osd),
            format!("{:.2}", rate.bytes_per_osd / 1_048_576.0),
        ],
    };
    let weight = figures.weight.to_string();
    [
        rate(figures.class.name(), "reservation", &figures.reservation),
        [String::new(), "weight".into(), weight, dash(), dash(), dash(), dash()],
        rate("", "limit", &figures.limit),
    ]
}

fn dash() -> String {
    "–".to_owned()
}

fn profile_json(question: &Question, plan: &ShardPlan, figures: &[ClassFigures]) -> Value {
    let classes = figures.iter().map(|figures| {
        json!({
            "class": figures.class.name(), "weight": figures.weight,
            "reservation": figures.reservation.as_ref().map(rate_json),
            "limit": figures.limit.as_ref().map(rate_json),
        })
    });
    json!({
        "profile": question.profile, "preset": question.preset.name,
        "medium": question.medium.to_string(), "iops": plan.capacity.iops,
        "bandwidth_bytes_per_s": plan.capacity.sequential_bandwidth, "shards": plan.capacity.shards,
        "classes": classes.collect::<Vec<_>>(),
    })
}

fn rate_json(rate: &RateFigures) -> Value {
    json!({
        "share_of_capacity": rate.part, "units_per_s_per_shard": rate.units_per_shard,
        "iops_per_shard": rate.iops_per_shard, "bytes_per_s_per_shard": rate.bytes_per_shard,
        "iops_per_osd": rate.iops_per_osd, "bytes_per_s_per_osd": rate.bytes_per_osd,
    })
}
