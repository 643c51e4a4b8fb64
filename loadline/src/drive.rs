//! `loadline drive`

mod args;
#[cfg(feature = "guest")]
mod boot;
mod figures;
mod measure;
#[cfg(feature = "guest")]
mod serve;
#[cfg(feature = "guest")]
mod served;

pub(crate) use args::MeasureArgs;
#[cfg(feature = "guest")]
pub(crate) use served::{BootArgs, DriveServeArgs};

use crate::cli::{DriveCommand, NameArg};
use crate::failure::Failure;
use crate::library::{drive, library};
use crate::show;
use loadline_sim::{AnyDrive, Drive};
use loadline_study::{Calibrated, Override, RecoveryStudy, Shelf, calibrate};
use serde_json::{Value, json};

pub(crate) fn carry_out(command: DriveCommand) -> Result<(), Failure> {
    match command {
        DriveCommand::List(args) => list(args.json),
        DriveCommand::Show(args) => show_one(&args),
        DriveCommand::Calibrate(args) => find_service_time(&args),
        DriveCommand::Measure(args) => measure::carry_out(&args),
        #[cfg(feature = "guest")]
        DriveCommand::Serve(args) => serve::carry_out(&args),
        #[cfg(feature = "guest")]
        DriveCommand::Boot(args) => boot::carry_out(&args),
    }
}

fn list(as_json: bool) -> Result<(), Failure> {
    let names = library().names(Shelf::Drives);
    let drives: Vec<AnyDrive> = names.iter().map(|name| drive(name)).collect::<Result<_, _>>()?;
    if as_json {
        let drives: Vec<Value> = drives.iter().map(any_json).collect();
        return show::json(&json!({ "drives": drives }));
    }
    let rows: Vec<[String; 5]> = drives.iter().map(row_of).collect();
    let columns = ["drive", "kind", "medium", "baseline IOPS", "model"];
    show::text(&show::table(columns, &[1, 2, 4], &rows))
}

fn row_of(drive: &AnyDrive) -> [String; 5] {
    match drive {
        AnyDrive::Calibrated(drive) => {
            let iops = drive.calibration.baseline_iops.to_string();
            let medium = drive.medium.to_string();
            [drive.name.clone(), "calibrated".to_owned(), medium, iops, drive.model.clone()]
        }
        AnyDrive::Mechanical(spec) => figures::row(spec),
    }
}

fn any_json(drive: &AnyDrive) -> Value {
    match drive {
        AnyDrive::Calibrated(drive) => drive_json(drive),
        AnyDrive::Mechanical(spec) => figures::json(spec),
    }
}

fn show_one(args: &NameArg) -> Result<(), Failure> {
    let drive = drive(&args.name)?;
    if args.json.json {
        return show::json(&any_json(&drive));
    }
    match &drive {
        AnyDrive::Calibrated(drive) => show_calibrated(drive),
        AnyDrive::Mechanical(spec) => figures::show(spec),
    }
}

fn show_calibrated(drive: &Drive) -> Result<(), Failure> {
    let row = |name: &str, value: String, why: &str| [name.to_owned(), value, why.to_owned()];
    let calibration = &drive.calibration;
    let rows = [
        row("medium", drive.medium.to_string(), "selects defaults"),
        row("baseline", format!("{} IOPS", calibration.baseline_iops), &calibration.source),
        row("write of 4 KiB", drive.service.per_request.to_string(), "from the baseline"),
        row("transfer of 1 MiB", drive.service.per_mib.to_string(), &calibration.peak),
        row("capacity", format!("{} IOPS", drive.capacity_iops), "what an OSD is configured with"),
        row("bandwidth", format!("{}/s", drive.bandwidth), "what an OSD is configured with"),
        row("store window", drive.window.to_string(), "what the store lets in at a time"),
        row("worker time", drive.worker_time.to_string(), "per item"),
        row("link delay", drive.link_delay.to_string(), "one way"),
        row("link, each MiB", drive.link_mib.to_string(), "of a recovered object"),
    ];
    let table = show::table(["", "", "why"], &[1, 2], &rows);
    show::text(&format!("{}: {}\n\n{table}", drive.name, drive.model))
}

fn drive_json(drive: &Drive) -> Value {
    let calibration = &drive.calibration;
    json!({
        "name": drive.name, "kind": "calibrated", "model": drive.model, "medium": drive.medium.to_string(),
        "capacity_iops": drive.capacity_iops, "bandwidth_bytes_per_s": drive.bandwidth.get(),
        "window_bytes": drive.window.get(), "worker_time_ns": drive.worker_time.nanos(),
        "link_delay_ns": drive.link_delay.nanos(), "link_mib_ns": drive.link_mib.nanos(),
        "per_request_ns": drive.service.per_request.nanos(),
        "per_mib_ns": drive.service.per_mib.nanos(),
        "calibration": {
            "baseline_iops": calibration.baseline_iops, "source": calibration.source,
            "peak": calibration.peak,
        },
    })
}

/// The baseline of every study is the same load: 4 KiB random writes at depth 64 through four OSDs and three
/// copies; only the drive makes a difference.
const BASELINE_OF: &str = "recovery-nvme";

fn find_service_time(args: &NameArg) -> Result<(), Failure> {
    let drive = Override { key: "drive".to_owned(), value: args.name.clone() };
    let study = RecoveryStudy::new(&library().inputs(BASELINE_OF, vec![drive])?)?;
    let found = calibrate(&study).map_err(|error| Failure::Input(error.to_string()))?;
    if args.json.json {
        return show::json(&serde_json::to_value(&found).expect("plain figures"));
    }
    show::text(&in_words(&found))
}

fn in_words(found: &Calibrated) -> String {
    let us = |ns: u64| ns as f64 / 1e3;
    format!(
        "{}: per_request = \"{:.2} us\" gives {:.0} IOPS over {} placements; the published baseline is {:.0}\n\
         the drive file says {:.2} us, which gives {:.0} IOPS\n",
        found.drive,
        us(found.per_request_ns),
        found.iops,
        found.placements,
        found.wanted_iops,
        us(found.per_request_ns_before),
        found.iops_before
    )
}
