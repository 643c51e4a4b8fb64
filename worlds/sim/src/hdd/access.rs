//! How long the arm and the spindle need to get from one place to another.

use super::geometry::{Geometry, SectorPlace};
use super::spec::HddSpec;
use loadline_base::{Span, Time};

/// Where the head is.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct Position {
    cylinder: u32,
    head: u32,
}

impl Position {
    /// Where the head is after a transfer.
    pub(super) fn after(place: &SectorPlace) -> Position {
        Position { cylinder: place.last_cylinder, head: place.last_head }
    }
}

/// The moving parts.
#[derive(Clone, Debug)]
pub(super) struct Mechanics {
    settle: f64,
    root: f64,
    linear: f64,
    whole_way: f64,
    head_switch: Span,
    write_settle: Span,
    overhead: Span,
    turn: Span,
}

impl Mechanics {
    pub(super) fn new(spec: &HddSpec, geometry: &Geometry) -> Mechanics {
        let ns = |span: Span| span.nanos() as f64;
        Mechanics {
            settle: ns(spec.seek.settle),
            root: ns(spec.seek.root),
            linear: ns(spec.seek.linear),
            whole_way: f64::from(geometry.cylinders()),
            head_switch: spec.head_switch,
            write_settle: spec.write_settle,
            overhead: spec.overhead,
            turn: spec.turn(),
        }
    }

    pub(super) fn turn(&self) -> Span {
        self.turn
    }

    /// From the begin of a command to its last sector, if the arm is free at `begin`.
    pub(super) fn access(
        &self,
        begin: Time,
        from: Position,
        to: &SectorPlace,
        writes: bool,
    ) -> Span {
        let settle = if writes { self.write_settle } else { Span::ZERO };
        let arrives = begin + self.overhead + self.seek(from, to) + settle;
        let turn = self.turn.nanos();
        let at = arrives.nanos() % turn;
        let target = to.angle.nanos();
        let wait = if target >= at { target - at } else { target + turn - at };
        (arrives + Span::from_nanos(wait) + to.transfer).since(begin)
    }

    fn seek(&self, from: Position, to: &SectorPlace) -> Span {
        let cylinders = from.cylinder.abs_diff(to.cylinder);
        if cylinders == 0 {
            let switches = from.head != to.head;
            return if switches { self.head_switch } else { Span::ZERO };
        }
        let part = f64::from(cylinders) / self.whole_way;
        let time = self.settle + self.root * part.sqrt() + self.linear * part;
        Span::from_nanos(time as u64)
    }
}
