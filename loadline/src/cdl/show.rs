//! `loadline cdl show`

use super::descriptors::Descriptors;
use crate::failure::Failure;
use crate::show;
use clap::Args;
use loadline_cdl::bench::held_pages;
use loadline_device::cdl::{AtaDescriptor, DescriptorPage};
use loadline_host::in_words;
use serde_json::{Value, json};
use std::fs;
use std::os::unix::fs::FileTypeExt;
use std::path::{Path, PathBuf};

/// What is to be shown.
#[derive(Debug, Args)]
pub(crate) struct ShowArgs {
    /// A .cdl file, a mode page or an ATA log page in binary, or a block device
    #[arg(value_name = "FILE|DEV")]
    of: PathBuf,
    /// Print one JSON object instead of text
    #[arg(long)]
    json: bool,
}

pub(super) fn carry_out(args: &ShowArgs) -> Result<(), Failure> {
    let is_drive = fs::metadata(&args.of).is_ok_and(|found| found.file_type().is_block_device());
    if is_drive {
        return show_drive(&args.of, args.json);
    }
    let held = Descriptors::open(&args.of)?;
    let pages = match &held {
        Descriptors::Text(page) | Descriptors::ModePage(page) => vec![*page],
        Descriptors::Ata(limits) => {
            let (reads, writes) = limits.to_pages();
            vec![reads, writes]
        }
    };
    if args.json {
        return show::json(&json!({ "pages": pages.iter().map(page_json).collect::<Vec<_>>() }));
    }
    let mut text: String = pages.iter().map(DescriptorPage::with_head).collect();
    if let Descriptors::Ata(limits) = &held
        && limits.reads.iter().chain(&limits.writes).any(is_rounded)
    {
        text += "Times are rounded down to 10 ms and capped at 655350 ms, as the kernel translates them.\n";
    }
    show::text(&text)
}

fn page_json(page: &DescriptorPage) -> Value {
    let descriptors = page.limits().descriptors.iter().map(|held| {
        let mut of = json!({ "unit_ns": held.unit.nanos() });
        for (column, limit) in held.limits() {
            of[column.to_string().replace(' ', "_")] = json!({
                "time": limit.time,
                "ns": held.span(limit).map(|span| span.nanos()),
                "policy": limit.policy.to_string(),
            });
        }
        of
    });
    json!({
        "page": page.kind().to_string(),
        "allowed_loss_percent": page.limits().allowed_loss.percent(),
        "descriptors": descriptors.collect::<Vec<_>>(),
    })
}

/// Whether a time of the log has no exact place in a page with units of 10 ms.
fn is_rounded(descriptor: &AtaDescriptor) -> bool {
    [descriptor.inactive_us, descriptor.active_us, descriptor.guideline_us]
        .iter()
        .any(|micros| micros % 10_000 != 0 || micros / 10_000 > u16::MAX.into())
}

/// A real drive: what the kernel tells of it, and what its mode pages hold.
fn show_drive(path: &Path, as_json: bool) -> Result<(), Failure> {
    let real = path.canonicalize().map_err(|error| Failure::unreadable(path, &error))?;
    let name = real.file_name().unwrap_or_default();
    let block = Path::new("/sys/block").join(name);
    let attribute = |of: &str| {
        let text = fs::read_to_string(block.join(of)).ok();
        text.map(|text| text.trim().to_owned())
    };
    let facts = [
        ("Vendor", "device/vendor"),
        ("Product", "device/model"),
        ("Revision", "device/rev"),
        ("512-byte sectors", "size"),
        ("Command duration limits supported", "device/cdl_supported"),
        ("Command duration limits enabled", "device/cdl_enable"),
        ("NCQ priority enabled", "device/ncq_prio_enable"),
        ("Command timeout, s", "device/timeout"),
    ]
    .map(|(title, of)| (title, of.rsplit('/').next().unwrap_or(of), attribute(of)));
    let pages = held_pages(&real);
    let unread = pages.as_ref().err().map(|why| {
        format!(
            "Its descriptors cannot be read: {}. `cdladm show {}` may show them",
            in_words(why),
            real.display()
        )
    });
    let pages = pages.unwrap_or_default();
    if as_json {
        let known: serde_json::Map<String, Value> =
            facts.into_iter().map(|(_, key, value)| (key.to_owned(), json!(value))).collect();
        let pages: Vec<Value> = pages.iter().map(page_json).collect();
        return show::json(
            &json!({ "device": real, "sysfs": known, "pages": pages, "unread": unread }),
        );
    }
    let mut text = format!("Device: {}\n", real.display());
    for (title, _, value) in facts {
        let value = value.unwrap_or_else(|| "unknown to the kernel".to_owned());
        text += &format!("    {title}: {value}\n");
    }
    text.extend(pages.iter().map(DescriptorPage::with_head));
    text.extend(unread.map(|why| why + "\n"));
    show::text(&text)
}
