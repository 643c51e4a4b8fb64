//! Where sectors lie: zones of cylinders, cylinders of tracks, and an angle on the track.
//!
//! Sectors run along a track, then along the other tracks of its cylinder, then inwards. Each zone has the same number of
//! cylinders, and sectors per track fall from zone to zone in equal steps. A track begins later on the circle than the
//! one before it by what the head switch takes, so that a transfer runs on without losing a turn.

use super::spec::{HddSpec, SECTOR};
use loadline_base::Span;

/// The layout of a drive.
#[derive(Clone, Debug)]
pub struct Geometry {
    zones: Vec<Zone>,
    cylinders: u32,
    heads: u64,
    turn: Span,
    skew: Span,
}

#[derive(Clone, Copy, Debug)]
struct Zone {
    first_sector: u64,
    first_cylinder: u64,
    sectors_per_track: u64,
}

/// Where a range of sectors begins and ends, and what it takes to pass over it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct SectorPlace {
    /// The cylinder of its first sector, 0 outermost.
    pub cylinder: u32,
    /// The surface of its first sector.
    pub head: u32,
    /// When in a turn its first sector begins.
    pub angle: Span,
    /// From the begin of its first sector to the end of its last.
    pub transfer: Span,
    /// The cylinder of its last sector.
    pub last_cylinder: u32,
    /// The surface of its last sector.
    pub last_head: u32,
}

impl Geometry {
    /// The layout in which the spec's sectors fill the spec's zones.
    pub fn new(spec: &HddSpec) -> Geometry {
        let turn = spec.turn();
        let per_track = |zone: u32| {
            let share = f64::from(zone) / f64::from((spec.zones - 1).max(1));
            let (outer, inner) = (spec.outer_rate.get() as f64, spec.inner_rate.get() as f64);
            let rate = outer + (inner - outer) * share;
            ((rate * turn.as_secs_f64()) as u64 / SECTOR).max(1)
        };
        let heads = u64::from(spec.heads);
        let of_one_cylinder_each: u64 = (0..spec.zones).map(|zone| per_track(zone) * heads).sum();
        let cylinders_per_zone = spec.sectors.div_ceil(of_one_cylinder_each);
        let mut first_sector = 0;
        let zones = (0..spec.zones).map(|zone| {
            let sectors_per_track = per_track(zone);
            let first_cylinder = u64::from(zone) * cylinders_per_zone;
            let begins = first_sector;
            first_sector += sectors_per_track * heads * cylinders_per_zone;
            Zone { first_sector: begins, first_cylinder, sectors_per_track }
        });
        let zones = zones.collect();
        let cylinders = u32::try_from(cylinders_per_zone * u64::from(spec.zones));
        let cylinders = cylinders.expect("a drive has fewer than 2^32 cylinders");
        Geometry { zones, cylinders, heads, turn, skew: spec.head_switch }
    }

    /// Cylinders in all.
    pub fn cylinders(&self) -> u32 {
        self.cylinders
    }

    /// The place of at least one sector.
    pub fn place(&self, sector: u64, sectors: u64) -> SectorPlace {
        assert!(sectors > 0, "a place has at least one sector");
        let (zone, track, offset) = self.track(sector);
        let (last_zone, last_track, _) = self.track(sector + sectors - 1);
        let heads = self.heads;
        let cylinder = |zone: &Zone, track: u64| (zone.first_cylinder + track / heads) as u32;
        let tracks_before = zone.first_cylinder * heads + track;
        let into_track = self.pass(offset, zone);
        let angle = (tracks_before * self.skew.nanos() + into_track) % self.turn.nanos();
        let switches = last_zone.first_cylinder * heads + last_track - tracks_before;
        let transfer = self.pass(sectors, zone) + switches * self.skew.nanos();
        SectorPlace {
            cylinder: cylinder(zone, track),
            head: (track % heads) as u32,
            angle: Span::from_nanos(angle),
            transfer: Span::from_nanos(transfer),
            last_cylinder: cylinder(last_zone, last_track),
            last_head: (last_track % heads) as u32,
        }
    }

    /// The zone of a sector, its track counted from the zone's first, and its number on the track.
    fn track(&self, sector: u64) -> (&Zone, u64, u64) {
        let zone = &self.zones[self.zones.partition_point(|zone| zone.first_sector <= sector) - 1];
        let inside = sector - zone.first_sector;
        (zone, inside / zone.sectors_per_track, inside % zone.sectors_per_track)
    }

    /// Nanoseconds in which so many sectors pass under the head.
    fn pass(&self, sectors: u64, zone: &Zone) -> u64 {
        (u128::from(sectors) * u128::from(self.turn.nanos()) / u128::from(zone.sectors_per_track))
            as u64
    }
}
