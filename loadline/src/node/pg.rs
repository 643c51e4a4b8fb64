//! `loadline pg`

use super::args::{LostInto, PgArgs, PgSubcommand};
use super::size;
use crate::failure::Failure;
use crate::show;
use loadline_host::admin::api::{Command, UnfoundObject, UnfoundObjects};

pub(crate) fn carry_out(args: PgArgs) -> Result<(), Failure> {
    let node = &args.node;
    match args.command {
        PgSubcommand::ListUnfound { pg } => node
            .show(&Command::PgListUnfound { pg }, |found: &UnfoundObjects| table(&found.objects)),
        PgSubcommand::MarkUnfoundLost { pg, into: LostInto::Revert, yes } => {
            let says = format!("what is unfound of PG {pg} is given up");
            node.order_if(yes, Command::PgMarkUnfoundLost { pg }, &says)
        }
    }
}

fn table(objects: &[UnfoundObject]) -> String {
    let row = |object: &UnfoundObject| {
        [
            format!("{:#x}", object.object),
            object.image.clone().unwrap_or_else(|| "–".to_owned()),
            object.offset_bytes.map_or_else(|| "–".to_owned(), size),
        ]
    };
    let rows: Vec<[String; 3]> = objects.iter().map(row).collect();
    show::table(["object", "image", "begins at"], &[], &rows)
}
