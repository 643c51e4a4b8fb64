//! `loadline inspect`: what lies on a store's devices, as text or as one JSON object.

mod files;
mod parts;

pub(crate) use files::{open, open_store};

use crate::cli::{InspectArgs, InspectWhat};
use crate::failure::Failure;
use crate::show;
use loadline_store::CollectionId;
use loadline_store::paged::check::{CheckReport, StoreFinding, check};
use loadline_store::paged::ids::PageNo;
use loadline_store::paged::inspect::{InspectTrouble, Inspector, Part, totals};
use loadline_store::paged::superblock::SuperblockFault;
use serde_json::json;

pub(crate) fn carry_out(args: InspectArgs) -> Result<(), Failure> {
    let files = open_store(&args.file, args.log_device.as_deref())?;
    let trouble = |trouble| failure(&args, trouble);
    let inspector = Inspector::open(&files).map_err(trouble)?;
    if let Some(InspectWhat::Check) = args.what {
        return show_findings(&check(&files), args.json.json);
    }
    let parts = parts_of(&args, &inspector).map_err(trouble)?;
    match args.json.json {
        true => show::json(&parts::json(&parts)),
        false => show::text(&parts::text(&parts)),
    }
}

fn parts_of(args: &InspectArgs, store: &Inspector<'_>) -> Result<Vec<Part>, InspectTrouble> {
    match args.what.as_ref().unwrap_or(&InspectWhat::Superblock) {
        InspectWhat::Superblock => Ok(store.superblock()),
        InspectWhat::Log => store.log(args.most),
        InspectWhat::Page { number } => store.page(PageNo(*number)),
        InspectWhat::Recovery => store.recovery(args.most),
        InspectWhat::FreeMap => store.free_map(),
        InspectWhat::Tree => store.tree(args.most),
        InspectWhat::Keys => store.keys(args.most),
        InspectWhat::Objects { collection } => {
            store.objects(collection.map(CollectionId::new), args.most)
        }
        InspectWhat::Object { id } => store.object(id.0),
        InspectWhat::Check => unreachable!("the checker has its own report"),
    }
}

/// What the checker has found, and as an error how much of it is wrong.
pub(crate) fn show_findings(report: &CheckReport, in_json: bool) -> Result<(), Failure> {
    let sentences =
        |list: &[StoreFinding]| list.iter().map(StoreFinding::to_string).collect::<Vec<_>>();
    let findings = sentences(&report.findings);
    let remarks: Vec<String> = report.remarks.iter().map(|remark| remark.to_string()).collect();
    let totals = totals(&report.totals);
    if in_json {
        show::json(&json!({
            "clean": report.is_clean(), "findings": findings, "more_findings": report.more,
            "remarks": remarks, "totals": parts::json_of(&totals),
        }))?;
    } else {
        let lines = |title: &str, list: &[String]| match list.is_empty() {
            true => String::new(),
            false => format!("{title}\n  {}\n\n", list.join("\n  ")),
        };
        show::text(&format!(
            "{}{}{totals}",
            lines("damage", &findings),
            lines("remarks", &remarks)
        ))?;
    }
    let count = report.findings.len() as u64 + report.more;
    match count {
        0 => Ok(()),
        1 => Err(Failure::Damaged("one thing is wrong with the store".to_owned())),
        count => Err(Failure::Damaged(format!("{count} things are wrong with the store"))),
    }
}

/// A file that holds no store was the wrong thing to type; a store that cannot be read is damaged.
fn failure(args: &InspectArgs, trouble: InspectTrouble) -> Failure {
    let of_log = |trouble: &InspectTrouble| {
        matches!(
            trouble,
            InspectTrouble::NoStore(StoreFinding::UselessLogDevice | StoreFinding::ForeignLog)
        )
    };
    let file = args.log_device.as_ref().filter(|_| of_log(&trouble)).unwrap_or(&args.file);
    let text = format!("{}: {trouble}", file.display());
    match trouble {
        InspectTrouble::NoStore(StoreFinding::NoLogDevice) => {
            Failure::Input(text + "; name it with --log-device")
        }
        InspectTrouble::NoStore(
            StoreFinding::NoSuperblock(
                SuperblockFault::Foreign
                | SuperblockFault::Unfinished(_)
                | SuperblockFault::Version(_),
            )
            | StoreFinding::UselessLogDevice
            | StoreFinding::ForeignLog,
        )
        | InspectTrouble::NoSuchPage(_) => Failure::Input(text),
        _ => Failure::Damaged(text),
    }
}
