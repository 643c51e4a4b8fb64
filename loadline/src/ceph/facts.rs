//! `loadline ceph facts`

use super::args::CephFactsArgs;
use crate::failure::Failure;
use crate::show;
use loadline_ceph::{describe, look};

pub(super) fn carry_out(args: &CephFactsArgs) -> Result<(), Failure> {
    let connection = args.place.connect()?;
    let found = look(&*connection, 1)?;
    let described = describe(&*connection, &found)?;
    let text = serde_json::to_string_pretty(&described).expect("a description prints") + "\n";
    std::fs::write(&args.out, text)
        .map_err(|error| Failure::Environment(format!("{}: {error}", args.out.display())))?;
    for missing in &found.missing {
        show::note(&format!("note: {missing}"));
    }
    show::text(&format!(
        "{} OSDs, {} pools, {} groups; no name of a host or a pool, no fsid: {}\n",
        described.osds.len(),
        described.pools.len(),
        described.groups.len(),
        args.out.display()
    ))
}
