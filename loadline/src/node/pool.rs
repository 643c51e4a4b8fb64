//! `loadline pool`

use super::args::{PoolArgs, PoolSubcommand};
use crate::failure::Failure;
use crate::show;
use loadline_host::admin::api::{Command, PoolAsked, PoolRow, Pools};

pub(crate) fn carry_out(args: PoolArgs) -> Result<(), Failure> {
    let node = &args.node;
    match args.command {
        PoolSubcommand::List => node.show(&Command::PoolList, |pools: &Pools| table(&pools.pools)),
        PoolSubcommand::Create { name, pgs, copies } => {
            let says = format!("pool {name} is made");
            let pool = PoolAsked { name, pgs, copies };
            node.order(&Command::PoolCreate { pool }, &says)
        }
        PoolSubcommand::Remove { name, yes } => {
            let says = format!("pool {name} is removed");
            node.order_if(yes, Command::PoolRemove { pool: name }, &says)
        }
    }
}

fn table(pools: &[PoolRow]) -> String {
    let row = |pool: &PoolRow| {
        let [pgs, copies, images] =
            [pool.pgs, pool.copies, pool.images].map(|count| count.to_string());
        [pool.name.clone(), pgs, copies, images]
    };
    let rows: Vec<[String; 4]> = pools.iter().map(row).collect();
    show::table(["pool", "PGs", "copies", "images"], &[], &rows)
}
