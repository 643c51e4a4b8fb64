//! `loadline ceph facts`

use super::args::CephFactsArgs;
use crate::failure::Failure;
use crate::{show, writable};
use loadline_base::Bytes;
use loadline_ceph::{DescribedCluster, DescribedPool, describe, look};

pub(super) fn carry_out(args: &CephFactsArgs) -> Result<(), Failure> {
    writable::file(&args.out)?;
    let connection = args.place.connect()?;
    let found = look(&*connection, 1)?;
    let described = describe(&*connection, &found)?;
    let text = serde_json::to_string_pretty(&described).expect("a description prints") + "\n";
    writable::write(&args.out, text)?;
    for missing in &found.missing {
        show::note(&format!("note: {missing}"));
    }
    show::text(&format!(
        "{} OSDs, {} groups, {}; no name of a host or a pool, no fsid: {}\n",
        described.osds.len(),
        described.groups.len(),
        pools(&described),
        args.out.display()
    ))
}

/// `2 pools with 356 objects of 1.4 GiB, and the manager's own`
fn pools(described: &DescribedCluster) -> String {
    let (own, others): (Vec<&DescribedPool>, Vec<_>) =
        described.pools.iter().partition(|pool| pool.is_of_manager);
    let own = if own.is_empty() { "" } else { ", and the manager's own" };
    if others.is_empty() {
        return format!("no pool{own}");
    }
    let objects: u64 = others.iter().map(|pool| pool.objects).sum();
    let bytes: u64 = others.iter().map(|pool| pool.bytes).sum();
    format!("{} pools with {objects} objects of {}{own}", others.len(), Bytes::new(bytes))
}
