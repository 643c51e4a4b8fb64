//! A second opinion: after random histories every sector holds something that the fault model allows, as worked
//! out here sector by sector from the answers alone.

use crate::driven::{Driven, discard, flush, read, spec, write};
use loadline_base::{Bytes, Rng, Span};
use loadline_device::{Outcome, Request, RequestKind};
use loadline_sim::disk::{CutStyle, RequestDone, SimDiskSpec, Timing};
use std::collections::BTreeMap;

const SECTOR: u64 = 512;
const SECTORS: u64 = 64;

/// A sector's history. A stamp is what a write filled it with; zero is what was never written or discarded.
#[derive(Clone, Default)]
struct Sector {
    flushed: u64,
    /// Stamps that no flush has covered, with the number of the answer and whether a flush has failed since.
    unflushed: Vec<(u64, u64, bool)>,
    /// A discard found zeros: whether it wrote them again, and so got them out of doubt, cannot be seen.
    zeros_again: bool,
}

impl Sector {
    fn visible(&self) -> u64 {
        self.unflushed.last().map_or(self.flushed, |(stamp, ..)| *stamp)
    }

    fn flush(&mut self, before: u64) {
        let covered = |(_, answer, doubt): &(u64, u64, bool)| *answer < before && !doubt;
        if let Some(newest) = self.unflushed.iter().rposition(covered) {
            self.flushed = self.unflushed[newest].0;
            self.unflushed.drain(..=newest);
        }
    }

    fn flush_failed(&mut self, before: u64) {
        let answered = self.unflushed.iter_mut().filter(|(_, answer, _)| *answer < before);
        answered.for_each(|(.., doubt)| *doubt = true);
    }
}

struct Judge {
    disk: Driven,
    sectors: Vec<Sector>,
    in_flight: BTreeMap<u64, (Request, u64, u64)>,
    answers: u64,
    /// Sectors after cuts: with the flushed content although others were possible, with one that is neither the
    /// oldest nor the newest, with the newest.
    found: [u64; 3],
}

impl Judge {
    fn new(seed: u64) -> Judge {
        let mut rng = Rng::for_purpose(seed, 1);
        let per_request = Span::from_nanos(rng.below(3) * 50);
        let timing = Timing {
            per_request,
            flush: Span::from_nanos(rng.below(100)),
            channels: rng.below(4) as u32,
            bytes_per_second: rng.below(2) << 34,
        };
        let size = Bytes::new(SECTORS * SECTOR);
        let spec =
            SimDiskSpec { size, timing, write_cache: !rng.next_u64().is_multiple_of(4), ..spec() };
        Judge {
            disk: Driven::new(spec, seed),
            sectors: vec![Sector::default(); SECTORS as usize],
            in_flight: BTreeMap::new(),
            answers: 0,
            found: [0; 3],
        }
    }

    fn send(&mut self, rng: &mut Rng, stamp: u64) {
        let first = rng.below(SECTORS);
        let length = SECTOR * (1 + rng.below((SECTORS - first).min(20)));
        let offset = first * SECTOR;
        let (request, data) = match rng.below(16) {
            0..10 => (write(offset, length), stamp.to_le_bytes().repeat(length as usize / 8)),
            10..12 => (read(offset, length), Vec::new()),
            12..15 => (flush(), Vec::new()),
            _ => (discard(offset, length), Vec::new()),
        };
        if rng.below(50) == 0 {
            self.disk.disk.fail_flush(1);
        }
        let id = self.disk.send(&request, data);
        self.in_flight.insert(id, (request, stamp, self.answers));
    }

    fn answer(&mut self, done: RequestDone) {
        let (request, stamp, answers_before) =
            self.in_flight.remove(&done.id).expect("answered once");
        let answer = self.answers;
        self.answers += 1;
        let durable = !self.disk.disk.spec().write_cache;
        let stamps = self.stamps();
        let touched = touched(&request);
        match request.kind {
            RequestKind::Read => {
                let seen: Vec<u64> = done.data.chunks(SECTOR as usize).map(stamp_of).collect();
                let visible: Vec<u64> = self.sectors[touched].iter().map(Sector::visible).collect();
                assert_eq!(seen, visible, "a read sees what was answered last");
                return;
            }
            RequestKind::Flush => {
                let settle = match done.outcome {
                    Outcome::Done => Sector::flush,
                    _ => Sector::flush_failed,
                };
                return self.sectors.iter_mut().for_each(|sector| settle(sector, answers_before));
            }
            RequestKind::Write => {
                assert!(stamps[touched.clone()].iter().all(|seen| *seen == stamp), "it is visible");
            }
            RequestKind::Discard => {}
        }
        for (sector, seen) in self.sectors[touched.clone()].iter_mut().zip(&stamps[touched]) {
            // A discard changes nothing or leaves zeros; only then is there a version to lose.
            if request.kind == RequestKind::Discard && *seen == sector.visible() {
                sector.zeros_again |= *seen == 0;
                continue;
            }
            assert!(*seen == stamp || request.kind == RequestKind::Discard && *seen == 0);
            sector.unflushed.push((*seen, answer, false));
            if durable {
                sector.flush(self.answers);
            }
        }
    }

    fn cut(&mut self, style: CutStyle, rng: &mut Rng) {
        let mut allowed: Vec<Vec<u64>> = self
            .sectors
            .iter()
            .map(|sector| {
                let unflushed = sector.unflushed.iter().map(|(stamp, ..)| *stamp);
                std::iter::once(sector.flushed).chain(unflushed).collect()
            })
            .collect();
        for (request, stamp, _) in std::mem::take(&mut self.in_flight).into_values() {
            let stamp = match request.kind {
                RequestKind::Write => stamp,
                RequestKind::Discard => 0,
                RequestKind::Read | RequestKind::Flush => continue,
            };
            allowed[touched(&request)].iter_mut().for_each(|allowed| allowed.push(stamp));
        }
        self.disk.disk.power_cut(style, rng);
        for (index, (stamp, allowed)) in self.stamps().into_iter().zip(&allowed).enumerate() {
            assert!(allowed.contains(&stamp), "{style:?}, sector {index}: {stamp} of {allowed:?}");
            let (oldest, newest) = (allowed[0], allowed[allowed.len() - 1]);
            match style {
                CutStyle::AllLost => {
                    let zeros_again = self.sectors[index].zeros_again && stamp == 0;
                    assert!(
                        stamp == oldest || zeros_again,
                        "sector {index}: {stamp} of {allowed:?}"
                    );
                }
                CutStyle::AllKept => assert_eq!(stamp, newest, "sector {index} of {allowed:?}"),
                CutStyle::Random | CutStyle::Torn if allowed.len() > 2 => {
                    let kind = if stamp == newest { 2 } else { usize::from(stamp != oldest) };
                    self.found[kind] += 1;
                }
                CutStyle::Random | CutStyle::Torn => {}
            }
            self.sectors[index] = Sector { flushed: stamp, ..Sector::default() };
        }
    }

    /// What every sector holds. Each is one stamp all through, since a sector is atomic.
    fn stamps(&self) -> Vec<u64> {
        self.disk.disk.image().chunks(SECTOR as usize).map(stamp_of).collect()
    }
}

fn touched(request: &Request) -> std::ops::Range<usize> {
    let first = request.offset / SECTOR;
    first as usize..(first + request.length.get() / SECTOR) as usize
}

fn stamp_of(sector: &[u8]) -> u64 {
    let stamp = &sector[..8];
    assert!(sector.chunks(8).all(|bytes| bytes == stamp), "a sector is never torn");
    u64::from_le_bytes(stamp.try_into().expect("eight bytes"))
}

#[test]
fn every_sector_holds_what_the_fault_model_allows() {
    let mut found = [0; 3];
    for seed in 0..400 {
        let mut rng = Rng::for_purpose(seed, 2);
        let mut judge = Judge::new(seed);
        for stamp in 1..=200 {
            judge.send(&mut rng, stamp);
            while rng.below(3) > 0 && !judge.in_flight.is_empty() {
                let done = judge.disk.next();
                judge.answer(done);
            }
            if rng.below(40) == 0 {
                let styles =
                    [CutStyle::AllLost, CutStyle::AllKept, CutStyle::Torn, CutStyle::Random];
                judge.cut(styles[rng.below(4) as usize], &mut rng);
            }
        }
        (0..3).for_each(|kind| found[kind] += judge.found[kind]);
    }
    assert!(found.iter().all(|count| *count > 1000), "old, between and new: {found:?}");
}
