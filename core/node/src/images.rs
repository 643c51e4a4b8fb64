//! What work on an image asks of its objects. What holds nothing is asked nothing: a discard of a new image of a terabyte is no op.
//! That an object holds nothing only the primary can say that serves it. While it is not settled who does, the first of a group
//! may be a copy that has missed what was written meanwhile, so then an op is sent, and waits for whoever will.

use crate::Node;
use crate::node::HeldRacks;
use loadline_base::Bytes;
use loadline_cluster::PoolId;
use loadline_cluster::images::{ImageId, JobWork, PendingJob, Piece, SnapshotId, View, split};
use loadline_osd::{OpKind, Osd, PgId, SnapshotNo};
use loadline_store::ObjectNo;

/// Objects that a part of a job is about.
const OBJECTS: usize = 16;
/// Blocks that a part looks at; most of a sparse image's do not exist.
const LOOKED_AT: u64 = 4096;

/// What a job asks of one object.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct JobOp {
    /// What is to be done.
    pub kind: OpKind,
    /// To which object.
    pub object: ObjectNo,
    /// First byte inside the object.
    pub offset: u32,
    /// How many bytes.
    pub length: u32,
}

impl Node {
    /// The pieces of a range of an image, or of a snapshot, that may hold data, in order: zeroing the others changes nothing.
    ///
    /// # Panics
    /// If the range goes past the view's size.
    pub fn pieces_with_data(&mut self, view: &View, (offset, length): (u64, u64)) -> Vec<Piece> {
        let pieces = split(view, offset, length);
        let mut racks = self.hold_racks();
        pieces.filter(|piece| racks.may_hold_data(view, piece)).collect()
    }

    /// The next ops of a job, some at most, and the block that comes after those that they are about.
    pub fn part_of_job(&mut self, job: &PendingJob) -> (Vec<JobOp>, u64) {
        let (mut objects, first) = (Vec::new(), u64::from(job.next));
        let mut block = first;
        let mut racks = self.hold_racks();
        while block <= u64::from(job.last) && objects.len() < OBJECTS && block - first < LOOKED_AT {
            let object = job.image.object(block as u32);
            if racks.may_hold_any(job.pool, object) {
                objects.push(object);
            }
            block += 1;
        }
        drop(racks);
        (objects.into_iter().map(|object| self.job_op(job, object)).collect(), block)
    }

    fn job_op(&self, job: &PendingJob, object: ObjectNo) -> JobOp {
        let (_, block) = ImageId::of(object);
        let op = |kind, offset, length| JobOp { kind, object, offset, length };
        match job.work {
            JobWork::Cut { first, offset, .. } if block == first && offset > 0 => {
                op(OpKind::Zero, offset, self.object_bytes(job.image) as u32 - offset)
            }
            JobWork::Cut { .. } => op(OpKind::Remove, 0, 0),
            JobWork::Remove => op(OpKind::Purge, 0, 0),
        }
    }

    fn object_bytes(&self, image: ImageId) -> u64 {
        let image = self.cluster().images().get(image);
        image.map_or(Bytes::from_mib(4).get(), |image| image.object_bytes)
    }
}

impl HeldRacks<'_> {
    /// Whether a part of an image, or of a snapshot, may hold data.
    pub fn may_hold_data(&mut self, view: &View, piece: &Piece) -> bool {
        let (object, read_at) = (piece.object, SnapshotNo(view.read_at.0));
        self.serving(view.pool, object)
            .is_none_or(|(pg, primary)| primary.may_hold_data(pg, object, read_at, piece.offset))
    }

    /// Whether a piece may be other than it was at a snapshot.
    pub fn may_have_changed(&mut self, view: &View, since: SnapshotId, piece: &Piece) -> bool {
        let between = (SnapshotNo(since.0), SnapshotNo(view.read_at.0));
        self.serving(view.pool, piece.object)
            .is_none_or(|(pg, primary)| primary.may_have_changed(pg, piece.object, between))
    }

    /// Whether anything may be kept of an object, now or for a snapshot.
    fn may_hold_any(&mut self, pool: PoolId, object: ObjectNo) -> bool {
        self.serving(pool, object).is_none_or(|(pg, primary)| primary.may_hold_any(pg, object))
    }

    /// The primary that carries out ops on an object now. Nobody, while an interval has not begun on all who take part.
    fn serving(&mut self, pool: PoolId, object: ObjectNo) -> Option<(PgId, &mut Osd)> {
        let pg = self.cluster().map().pg_of(pool, object);
        let primary = self.cluster().map().pg(pg).serving()?;
        Some((pg, self.osd(primary))).filter(|(pg, primary)| primary.leads(*pg))
    }
}
