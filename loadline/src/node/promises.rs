//! `loadline profile show` of a running node: what its OSDs promise their classes, and what is promised to images.

use super::image;
use super::reach::NodeArgs;
use crate::failure::Failure;
use crate::show;
use loadline_host::admin::api::{ClassRow, Command, OsdPromises, ProfileInForce};

pub(crate) fn profile(node: &NodeArgs) -> Result<(), Failure> {
    node.show(&Command::Profile, in_words)
}

fn in_words(found: &ProfileInForce) -> String {
    let rows: Vec<[String; 6]> = found.osds.iter().flat_map(osd_rows).collect();
    let columns = ["osd", "promises by", "class", "reservation", "weight", "limit"];
    let classes = show::table(columns, &[1, 2], &rows);
    let ProfileInForce { promised_writes_per_s: promised, reserved_writes_per_s: reserved, .. } =
        found;
    format!(
        "{classes}\nimages are promised {promised:.0} writes per second with all copies, of {reserved:.0} that can be promised\n{}",
        image::in_use(&found.images)
    )
}

/// The first row of an OSD says by what it promises.
fn osd_rows(osd: &OsdPromises) -> Vec<[String; 6]> {
    let OsdPromises { preset, scheduler, profile, capacity_iops, .. } = osd;
    let name = format!("osd.{}", osd.osd);
    if osd.classes.is_empty() {
        let says = format!("nothing: {scheduler} ({preset})");
        return vec![[name, says, dash(), dash(), dash(), dash()]];
    }
    let by = format!("{profile} ({preset}), {capacity_iops:.0} IOPS");
    let firsts = std::iter::once((name, by)).chain(std::iter::repeat_with(Default::default));
    let rows = osd.classes.iter().zip(firsts);
    rows.map(|(class, (name, by))| {
        let ClassRow { class, reservation_iops, weight, limit_iops } = class;
        let rate = |iops: &Option<f64>| iops.map_or_else(dash, |iops| format!("{iops:.0} IOPS"));
        let (reservation, limit) = (rate(reservation_iops), rate(limit_iops));
        [name, by, class.clone(), reservation, weight.to_string(), limit]
    })
    .collect()
}

fn dash() -> String {
    "–".to_owned()
}
