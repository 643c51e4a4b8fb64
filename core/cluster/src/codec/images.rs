//! The table of images to bytes and back.
//!
//! First the next family (2) and the next job (8), then three lists:
//!
//! | list of | entry |
//! |---|---|
//! | families | number (2), pool (4), next member (2), next snapshot (4) |
//! | images | image (4), name, pool (4), size (8), reach (8), log₂ of object bytes (1), flags (1): with 1 the parent: image (4), snapshot (4), overlap (8); with 2, since version 5, reservation (4), limit (4), burst in ns (8), weight in per cent (4); then the list of snapshots: number (4), name, size (8), overlap (8) |
//! | jobs | number (8), image (4), pool (4), next block (4), last block (4), then 0 remove, or 1 cut: block (4), offset (4), snapshot (4); 2, not written any more, was a trim: snapshot (4), keep (4), and is left out |

use super::fields::{put_list, put_u32, put_u64, read_list, read_text};
use crate::images::{
    Family, Image, ImageId, ImageQos, Images, JobId, JobWork, Parent, PendingJob, Snapshot,
    SnapshotId,
};
use crate::pool::PoolId;
use loadline_base::Span;
use loadline_store::paged::codec::{Reader, put_bytes};

/// The last version without what images are promised and allowed.
const WITHOUT_QOS: u32 = 4;
/// Flags of an image.
const HAS_PARENT: u8 = 1;
const HAS_QOS: u8 = 2;

pub(super) fn put(out: &mut Vec<u8>, images: &Images, version: u32) {
    put_u16(out, images.next_family);
    put_u64(out, images.next_job.0);
    put_list(out, images.families.iter(), |out, (number, family)| {
        let Family { pool, next_member, next_snapshot } = *family;
        put_u16(out, *number);
        put_u32(out, pool.get());
        put_u16(out, next_member);
        put_u32(out, next_snapshot.0);
    });
    put_list(out, images.images.values(), |out, image| put_image(out, image, version));
    put_list(out, images.jobs.values(), put_job);
}

fn put_image(out: &mut Vec<u8>, image: &Image, version: u32) {
    let Image { id, name, pool, size, reach, object_bytes, snapshots, parent, qos } = image;
    put_u32(out, id.get());
    put_bytes(out, name.as_bytes());
    put_u32(out, pool.get());
    put_u64(out, *size);
    put_u64(out, *reach);
    out.push(object_bytes.trailing_zeros() as u8);
    let has_qos = version > WITHOUT_QOS && *qos != ImageQos::default();
    out.push(u8::from(parent.is_some()) * HAS_PARENT + u8::from(has_qos) * HAS_QOS);
    if let Some(Parent { image, snapshot, overlap }) = parent {
        put_u32(out, image.get());
        put_u32(out, snapshot.0);
        put_u64(out, *overlap);
    }
    if has_qos {
        let ImageQos { reservation, limit, burst, weight_percent } = *qos;
        put_u32(out, reservation);
        put_u32(out, limit);
        put_u64(out, burst.nanos());
        put_u32(out, weight_percent);
    }
    put_list(out, snapshots.iter(), |out, Snapshot { id, name, size, overlap }| {
        put_u32(out, id.0);
        put_bytes(out, name.as_bytes());
        put_u64(out, *size);
        put_u64(out, *overlap);
    });
}

fn put_job(out: &mut Vec<u8>, job: &PendingJob) {
    let PendingJob { id, image, pool, work, next, last } = *job;
    put_u64(out, id.0);
    for number in [image.get(), pool.get(), next, last] {
        put_u32(out, number);
    }
    let (kind, numbers): (u8, &[u32]) = match work {
        JobWork::Remove => (0, &[]),
        JobWork::Cut { first, offset, snapshot } => (1, &[first, offset, snapshot.0]),
    };
    out.push(kind);
    numbers.iter().for_each(|number| put_u32(out, *number));
}

fn put_u16(out: &mut Vec<u8>, value: u16) {
    out.extend_from_slice(&value.to_le_bytes());
}

/// Reads a table, and tells whether all of it is in the answer: trims, which earlier programs wrote down, OSDs find by themselves.
pub(super) fn read(from: &mut Reader<'_>, version: u32) -> Option<(Images, bool)> {
    let next_family = read_u16(from)?;
    let next_job = JobId(from.u64()?);
    let families = read_list(from, read_family)?;
    let images: Vec<Image> = read_list(from, |from| read_image(from, version))?;
    let jobs: Vec<Option<PendingJob>> = read_list(from, read_job)?;
    let is_all = jobs.iter().all(Option::is_some);
    let images = Images {
        names: images.iter().map(|image| (image.name.clone(), image.id)).collect(),
        images: images.into_iter().map(|image| (image.id, image)).collect(),
        families,
        jobs: jobs.into_iter().flatten().map(|job| (job.id, job)).collect(),
        next_family,
        next_job,
    };
    Some((images, is_all))
}

fn read_family(from: &mut Reader<'_>) -> Option<(u16, Family)> {
    let number = read_u16(from)?;
    let pool = PoolId::new(from.u32()?);
    let (next_member, next_snapshot) = (read_u16(from)?, SnapshotId(from.u32()?));
    Some((number, Family { pool, next_member, next_snapshot }))
}

fn read_image(from: &mut Reader<'_>, version: u32) -> Option<Image> {
    let (id, name) = (read_image_id(from)?, read_text(from)?);
    let pool = PoolId::new(from.u32()?);
    let (size, reach) = (from.u64()?, from.u64()?);
    let object_bytes = 1u64.checked_shl(from.byte()?.into())?;
    let flags = from.byte()?;
    let has_qos = version > WITHOUT_QOS && flags & HAS_QOS != 0;
    let parent = if flags & HAS_PARENT != 0 { Some(read_parent(from)?) } else { None };
    let qos = if has_qos { read_qos(from)? } else { ImageQos::default() };
    let snapshots = read_list(from, read_snapshot)?;
    Some(Image { id, name, pool, size, reach, object_bytes, snapshots, parent, qos })
}

fn read_qos(from: &mut Reader<'_>) -> Option<ImageQos> {
    let (reservation, limit) = (from.u32()?, from.u32()?);
    let (burst, weight_percent) = (Span::from_nanos(from.u64()?), from.u32()?);
    Some(ImageQos { reservation, limit, burst, weight_percent })
}

fn read_parent(from: &mut Reader<'_>) -> Option<Parent> {
    let (image, snapshot) = (read_image_id(from)?, SnapshotId(from.u32()?));
    Some(Parent { image, snapshot, overlap: from.u64()? })
}

fn read_snapshot(from: &mut Reader<'_>) -> Option<Snapshot> {
    let (id, name) = (SnapshotId(from.u32()?), read_text(from)?);
    Some(Snapshot { id, name, size: from.u64()?, overlap: from.u64()? })
}

/// A job; nothing instead of a trim.
fn read_job(from: &mut Reader<'_>) -> Option<Option<PendingJob>> {
    let (id, image) = (JobId(from.u64()?), read_image_id(from)?);
    let pool = PoolId::new(from.u32()?);
    let (next, last) = (from.u32()?, from.u32()?);
    let work = match from.byte()? {
        0 => JobWork::Remove,
        1 => {
            let (first, offset) = (from.u32()?, from.u32()?);
            JobWork::Cut { first, offset, snapshot: SnapshotId(from.u32()?) }
        }
        2 => {
            from.take(8)?;
            return Some(None);
        }
        _ => return None,
    };
    Some(Some(PendingJob { id, image, pool, work, next, last }))
}

fn read_image_id(from: &mut Reader<'_>) -> Option<ImageId> {
    let (member, family) = (read_u16(from)?, read_u16(from)?);
    Some(ImageId { family, member })
}

fn read_u16(from: &mut Reader<'_>) -> Option<u16> {
    Some(u16::from_le_bytes(from.take(2)?.try_into().ok()?))
}
