//! `loadline image`, with its snapshots.

use super::args::{ImageArgs, ImageSubcommand, Iops, SnapshotSubcommand};
use super::backup;
use super::reach::{NodeArgs, meant};
use super::size;
use crate::failure::Failure;
use crate::show;
use loadline_base::Span;
use loadline_host::admin::api::{
    Command, ImageAsked, ImageRow, ImageRows, ImageUse, NameAsked, QosAsked, QosRow, SizeAsked,
    SnapshotName, SnapshotRow, Snapshots,
};

pub(crate) fn carry_out(args: ImageArgs) -> Result<(), Failure> {
    let node = &args.node;
    let order = |command, says: String| node.order(&command, &says);
    match args.command {
        ImageSubcommand::List => {
            node.show(&Command::ImageList, |images: &ImageRows| table(&images.images))
        }
        ImageSubcommand::Info(one) => {
            let asked = Command::ImageInfo { image: one.name.clone() };
            with_nearest(node, &one.name, node.show(&asked, in_words))
        }
        ImageSubcommand::Create { name, size, pool, object_size } => {
            let says = format!("image {name} of {size} is made");
            let object_bytes = object_size.map(|size| size.get());
            let asked = ImageAsked { name, pool, size_bytes: size.get(), object_bytes };
            order(Command::ImageCreate { asked }, says)
        }
        ImageSubcommand::Resize { name, size, yes } => {
            let says = format!("image {name} has {size}");
            let to = SizeAsked { size_bytes: size.get() };
            let asked = Command::ImageResize { image: name.clone(), to };
            with_nearest(node, &name, node.order_if(yes, asked, &says))
        }
        ImageSubcommand::Qos {
            name,
            reservation: None,
            limit: None,
            burst: None,
            weight: None,
        } => node.show(&Command::ImageInfo { image: name }, |image: &ImageRow| {
            format!("{}: {}\n", image.name, qos_in_words(image.qos.as_ref()))
        }),
        ImageSubcommand::Qos { name, reservation, limit, burst, weight } => {
            let says = format!("image {name} is promised and allowed that");
            let to = QosAsked {
                reservation_iops: reservation.map(|Iops(iops)| iops),
                limit_iops: limit.map(|Iops(iops)| iops),
                burst_ns: burst.map(Span::nanos),
                weight,
            };
            let asked = Command::ImageQos { image: name.clone(), to };
            with_nearest(node, &name, order(asked, says))
        }
        ImageSubcommand::Remove { name, yes, force } => {
            let says = format!("image {name} is removed");
            let asked = match force {
                true => Command::ImageRemoveOpen { image: name.clone() },
                false => Command::ImageRemove { image: name.clone() },
            };
            with_nearest(node, &name, node.order_if(yes, asked, &says))
        }
        ImageSubcommand::Rename { name, new_name } => {
            let says = format!("image {name} is now {new_name}");
            order(Command::ImageRename { image: name, to: NameAsked { name: new_name } }, says)
        }
        ImageSubcommand::Clone { from, name } => {
            let says = format!("image {name} begins as {from}");
            let SnapshotName { image, snapshot } = from;
            order(Command::ImageClone { image, snapshot, to: NameAsked { name } }, says)
        }
        ImageSubcommand::Diff { from, to } => backup::diff(node, &from, &to),
        ImageSubcommand::Backup { name, file, since } => {
            backup::backup(node, &name, &file, since.as_deref())
        }
        ImageSubcommand::Snapshot(command) => snapshot(node, command),
    }
}

/// What was refused of an image that is not there, with the name that was probably meant.
fn with_nearest(node: &NodeArgs, name: &str, outcome: Result<(), Failure>) -> Result<(), Failure> {
    outcome.map_err(|failure| {
        // Whoever does not answer is not asked again.
        if !matches!(failure, Failure::Input(_)) {
            return failure;
        }
        let there: Option<ImageRows> =
            node.connect().ok().and_then(|mut client| client.ask(&Command::ImageList).ok());
        let images = there.map_or_else(Vec::new, |there| there.images);
        meant(failure, name, images.iter().map(|image| image.name.as_str()))
    })
}

fn snapshot(node: &NodeArgs, command: SnapshotSubcommand) -> Result<(), Failure> {
    let order = |command, says: String| node.order(&command, &says);
    match command {
        SnapshotSubcommand::List(one) => node
            .show(&Command::SnapshotList { image: one.name }, |snapshots: &Snapshots| {
                snapshot_table(&snapshots.snapshots)
            }),
        SnapshotSubcommand::Create { name } => {
            let says = format!("snapshot {name} is made");
            let SnapshotName { image, snapshot } = name;
            order(Command::SnapshotCreate { image, snapshot }, says)
        }
        SnapshotSubcommand::Remove { name, yes } => {
            let says = format!("snapshot {name} is removed");
            let SnapshotName { image, snapshot } = name;
            node.order_if(yes, Command::SnapshotRemove { image, snapshot }, &says)
        }
    }
}

fn table(images: &[ImageRow]) -> String {
    let row = |image: &ImageRow| {
        [
            image.name.clone(),
            image.pool.clone(),
            size(image.size_bytes),
            size(image.object_bytes),
            image.snapshots.len().to_string(),
            image.parent.clone().unwrap_or_default(),
        ]
    };
    let rows: Vec<[String; 6]> = images.iter().map(row).collect();
    show::table(["image", "pool", "size", "objects of", "snapshots", "began as"], &[1, 5], &rows)
}

fn in_words(image: &ImageRow) -> String {
    let mut text = format!(
        "{}: {} in objects of {}, pool {}\n",
        image.name,
        size(image.size_bytes),
        size(image.object_bytes),
        image.pool
    );
    if let Some(parent) = &image.parent {
        text += &format!("began as {parent}\n");
    }
    if let Some(qos) = &image.qos {
        text += &format!("{}\n", qos_in_words(Some(qos)));
    }
    if !image.snapshots.is_empty() {
        text += &format!("\n{}", snapshot_table(&image.snapshots));
    }
    text
}

/// What an image is promised and allowed.
fn qos_in_words(qos: Option<&QosRow>) -> String {
    let Some(QosRow { reservation_iops, limit_iops, burst_ns, weight }) = qos else {
        return "no reservation, no limit, weight 1".to_owned();
    };
    let some = |what: &str, iops: u32| match iops {
        0 => format!("no {what}"),
        iops => format!("{what} {iops} IOPS"),
    };
    let burst = match burst_ns {
        0 => String::new(),
        nanos => format!(" (burst {})", Span::from_nanos(*nanos)),
    };
    let (reservation, limit) = (some("reservation", *reservation_iops), some("limit", *limit_iops));
    format!("{reservation}, {limit}{burst}, weight {weight}")
}

/// Whether an image got what it is promised, as far as it asked for it, in each of the last seconds.
fn kept(image: &ImageUse) -> String {
    match (image.qos.reservation_iops, image.seconds_short) {
        (0, _) => "–".to_owned(),
        (_, 0) => "kept".to_owned(),
        (_, short) => format!("short in {short} of {} s", image.seconds),
    }
}

/// The images that are promised or allowed something.
pub(super) fn in_use(images: &[ImageUse]) -> String {
    if images.is_empty() {
        return String::new();
    }
    let millis = |nanos: u64| format!("{:.2}", nanos as f64 / 1e6);
    let row = |image: &ImageUse| {
        [
            image.name.clone(),
            format!("{:.0}", image.ops_per_s),
            millis(image.mean_ns),
            millis(image.longest_ns),
            kept(image),
            qos_in_words(Some(&image.qos)),
        ]
    };
    let rows: Vec<[String; 6]> = images.iter().map(row).collect();
    let columns = ["image", "ops/s", "mean ms", "longest ms", "promise", "promised and allowed"];
    format!("\n{}", show::table(columns, &[4, 5], &rows))
}

fn snapshot_table(snapshots: &[SnapshotRow]) -> String {
    let row = |snapshot: &SnapshotRow| {
        [
            snapshot.name.clone(),
            snapshot.id.to_string(),
            size(snapshot.size_bytes),
            snapshot.clones.join(", "),
        ]
    };
    let rows: Vec<[String; 4]> = snapshots.iter().map(row).collect();
    show::table(["snapshot", "id", "size", "clones"], &[3], &rows)
}
