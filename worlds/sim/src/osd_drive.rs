//! The drive under an OSD of the simulated world: a calibrated one, whose figures contain the OSD's own overhead, a mechanical
//! one, which is a disk and nothing else, or a disk with contents and faults, which alone can hold a paged store.

use crate::disk::Station;
use crate::drive::{DriveModel, ServiceTime, Started};
use crate::hdd::{Feature, FinishedCommand, Hdd, HddSpec, SECTOR};
use crate::store_disks::{OsdDisk, StoreDisks, packed, unpacked};
use loadline_base::{Bytes, Time};
use loadline_device::cdl::Limits;
use loadline_device::{Outcome, Request, RequestKind};
use loadline_osd::OsdId;
use loadline_store::{RequestId, Submission};

/// What the drives under direct stores are.
#[derive(Clone, Debug, PartialEq)]
pub enum OsdDrive {
    /// Calibrated from rates of whole OSDs.
    Calibrated(ServiceTime),
    /// Arm, spindle and queue.
    Mechanical(Box<Mechanical>),
}

/// A mechanical drive with what is uploaded to it and switched on.
#[derive(Clone, Debug, PartialEq)]
pub struct Mechanical {
    /// The drive.
    pub spec: HddSpec,
    /// What it makes of priority words.
    pub feature: Feature,
    /// Its descriptors for reads.
    pub reads: Limits,
    /// Its descriptors for writes.
    pub writes: Limits,
    /// Where the arms rest at the beginning.
    pub seed: u64,
}

/// What follows from a submission.
pub(crate) enum Then {
    /// The request in service is done at this time.
    Done(Time, RequestId),
    /// A read beside the line is done at this time.
    ReadDone(Time, RequestId),
    /// The drive has to be looked after at this time.
    Step(Time),
    /// Other requests come first.
    Nothing,
}

/// An answer of a mechanical drive.
pub(crate) struct DriveAnswer {
    pub request: RequestId,
    pub outcome: Outcome,
}

/// One OSD's drive.
pub(crate) enum RunningDrive {
    Calibrated(DriveModel),
    Mechanical(Box<Arm>),
    Disk(Box<OsdDisk>),
}

/// A mechanical drive with the steps that are scheduled for it.
pub(crate) struct Arm {
    hdd: Hdd,
    /// The step that is scheduled; earlier plans for later times are void.
    step_at: Option<Time>,
    finished: Vec<FinishedCommand>,
}

impl RunningDrive {
    pub(crate) fn new(drive: &OsdDrive, osd: u32) -> RunningDrive {
        match drive {
            OsdDrive::Calibrated(service) => RunningDrive::Calibrated(DriveModel::new(*service)),
            OsdDrive::Mechanical(drive) => {
                let Mechanical { spec, feature, reads, writes, seed } = drive.as_ref();
                let mut hdd = Hdd::new(spec.clone(), seed.wrapping_add(u64::from(osd)));
                hdd.set_feature(*feature);
                hdd.set_limits(*reads, *writes);
                let finished = Vec::new();
                RunningDrive::Mechanical(Box::new(Arm { hdd, step_at: None, finished }))
            }
        }
    }

    pub(crate) fn on_disks(disks: StoreDisks) -> RunningDrive {
        RunningDrive::Disk(Box::new(OsdDisk::new(disks)))
    }

    /// A device with the speed of a disk with contents, for all disks that are parts of it.
    pub(crate) fn station(&self) -> Option<Station> {
        match self {
            RunningDrive::Disk(on) => Some(on.disks.data.station()),
            RunningDrive::Calibrated(_) => None,
            RunningDrive::Mechanical(_) => {
                unreachable!("a mechanical drive is one OSD's alone")
            }
        }
    }

    /// Takes a request of an OSD's direct store.
    #[inline]
    pub(crate) fn submit(&mut self, now: Time, osd: OsdId, submission: &Submission) -> Then {
        let Submission { id, ref request, .. } = *submission;
        match self {
            RunningDrive::Calibrated(drive) => match drive.submit(now, osd, submission) {
                Some(Started::InLine(at, id)) => Then::Done(at, id),
                Some(Started::Beside(at, id)) => Then::ReadDone(at, id),
                None => Then::Nothing,
            },
            RunningDrive::Mechanical(arm) => {
                arm.hdd.submit(now, packed(id), &in_sectors(request));
                arm.new_step().map_or(Then::Nothing, Then::Step)
            }
            RunningDrive::Disk(_) => unreachable!("a direct store stands on modelled drives"),
        }
    }

    /// The calibrated drive that told of an answer.
    pub(crate) fn calibrated(&mut self) -> &mut DriveModel {
        match self {
            RunningDrive::Calibrated(drive) => drive,
            _ => unreachable!("only a calibrated drive tells when the next in its line is done"),
        }
    }

    pub(crate) fn mechanical(&self) -> Option<&Hdd> {
        match self {
            RunningDrive::Mechanical(arm) => Some(&arm.hdd),
            _ => None,
        }
    }

    pub(crate) fn mechanical_mut(&mut self) -> Option<&mut Hdd> {
        match self {
            RunningDrive::Mechanical(arm) => Some(&mut arm.hdd),
            _ => None,
        }
    }

    /// Brings a mechanical drive to a step that was scheduled; its answers by then are appended to `out`. The answer is the
    /// next step.
    pub(crate) fn advance(&mut self, at: Time, out: &mut Vec<DriveAnswer>) -> Option<Time> {
        let RunningDrive::Mechanical(arm) = self else {
            unreachable!("only a mechanical drive has steps");
        };
        if arm.step_at != Some(at) {
            return None;
        }
        arm.step_at = None;
        arm.hdd.advance(at, &mut arm.finished);
        out.extend(
            arm.finished.drain(..).map(|done| DriveAnswer {
                request: unpacked(done.id),
                outcome: done.outcome.into(),
            }),
        );
        arm.new_step()
    }

    /// When a disk with contents answers next.
    pub(crate) fn next_done(&self) -> Option<Time> {
        match self {
            RunningDrive::Disk(on) => on.next_done(),
            _ => None,
        }
    }

    pub(crate) fn disk(&self) -> &OsdDisk {
        match self {
            RunningDrive::Disk(on) => on,
            _ => unreachable!("a world of disks has no other drives"),
        }
    }

    pub(crate) fn disk_mut(&mut self) -> &mut OsdDisk {
        match self {
            RunningDrive::Disk(on) => on,
            _ => unreachable!("a world of disks has no other drives"),
        }
    }

    pub(crate) fn into_disks(self) -> StoreDisks {
        match self {
            RunningDrive::Disk(on) => on.into_disks(),
            _ => unreachable!("a world of disks has no other drives"),
        }
    }
}

impl Arm {
    /// The next step, if it is earlier than the one that is scheduled.
    fn new_step(&mut self) -> Option<Time> {
        let next = self.hdd.next_event()?;
        let is_new = self.step_at.is_none_or(|scheduled| next < scheduled);
        is_new.then(|| {
            self.step_at = Some(next);
            next
        })
    }
}

/// The request in whole sectors: the direct store asks for as many bytes as an object has, and for one of an empty one.
fn in_sectors(request: &Request) -> Request {
    if matches!(request.kind, RequestKind::Flush | RequestKind::Discard) {
        return *request;
    }
    let start = request.offset / SECTOR * SECTOR;
    let end = (request.offset + request.length.get()).next_multiple_of(SECTOR);
    Request { offset: start, length: Bytes::new(end - start), ..*request }
}
