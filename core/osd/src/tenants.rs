//! Images as tenants of the client class: what each is promised and allowed, and what it has been given so far.
//!
//! An image's objects are on all OSDs, so what it is promised and allowed is of all of them together. Who sends its ops says with each
//! what the image has been given anywhere ([`GivenOps`]); a shard takes off what it has given itself, and charges the rest
//! with the op (distributed mClock, qos.md 2.2). Weights are of each shard alone.

use loadline_base::Span;
use loadline_qos::{CostModel, Params};
use std::collections::BTreeMap;

/// What an image is promised and allowed. It counts small ops; larger ones count as the cost model says.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct TenantTerms {
    /// Ops per second that it has at least; 0 for none.
    pub reservation: f64,
    /// Its share of what is left, beside other images; 1 if nobody says otherwise.
    pub weight: f64,
    /// Ops per second that it has at most; 0 for no limit.
    pub limit: f64,
    /// After less than its limit it may have at once what the limit gives in this time.
    pub burst: Span,
    /// Copies of each of its objects.
    pub copies: u32,
}

/// The images that share the client class as tenants.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct TenantTable {
    /// OSDs that their objects are on.
    pub osds: u32,
    /// By number. Either no image is one, or all that there are.
    pub images: BTreeMap<u32, TenantTerms>,
}

/// Ops that an image has been given, on all OSDs. They wrap around.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct GivenOps {
    /// How many.
    pub ops: u32,
    /// Their KiB, each op's rounded up.
    pub kib: u32,
}

impl GivenOps {
    /// One more of so many bytes.
    pub fn add(&mut self, bytes: u32) {
        self.ops = self.ops.wrapping_add(1);
        self.kib = self.kib.wrapping_add(bytes.div_ceil(1024));
    }

    /// What came since; `None` if `earlier` is the later one.
    fn since(self, earlier: GivenOps) -> Option<GivenOps> {
        let ops = self.ops.wrapping_sub(earlier.ops);
        let kib = self.kib.wrapping_sub(earlier.kib);
        (ops <= u32::MAX / 2).then_some(GivenOps { ops, kib })
    }

    fn without(self, other: GivenOps) -> GivenOps {
        let ops = self.ops.saturating_sub(other.ops);
        GivenOps { ops, kib: self.kib.saturating_sub(other.kib) }
    }
}

/// What a shard has given an image of what the image was given.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct OwnPart {
    /// What was told with the last op, if there was one.
    told: Option<GivenOps>,
    /// Ops that came here and may not have been told yet.
    own: GivenOps,
}

impl OwnPart {
    /// An op came that was told so much. What the image was given elsewhere since the last one.
    pub(crate) fn came(&mut self, told: GivenOps, bytes: u32) -> GivenOps {
        let before = *self.told.get_or_insert(told);
        // Nothing is new in what an op tells that was overtaken.
        let new = told.since(before).unwrap_or_default();
        if new != GivenOps::default() {
            self.told = Some(told);
        }
        let elsewhere = new.without(self.own);
        self.own = self.own.without(new);
        self.own.add(bytes);
        elsewhere
    }
}

impl TenantTerms {
    /// Whether it is promised or allowed so many ops, which are counted then.
    pub fn is_bound(&self) -> bool {
        self.reservation > 0.0 || self.limit > 0.0
    }

    /// Ops per second that are promised for it on all OSDs together: its own, and those of their copies.
    pub(crate) fn reservation_with_copies(&self) -> f64 {
        self.reservation * f64::from(self.copies.max(1))
    }

    /// The same with a part of what is promised.
    pub(crate) fn in_part(self, part: f64) -> TenantTerms {
        TenantTerms { reservation: self.reservation * part, ..self }
    }

    /// What one shard is told of it, where an op costs so many units.
    pub(crate) fn params(&self, small_op: f64) -> Params {
        let (reservation, limit) = (self.reservation * small_op, self.limit * small_op);
        let params = Params::new(reservation, self.weight, limit);
        params.expect("terms are checked where they are set").with_burst(self.burst)
    }

    /// The same for the copies of its writes. They go by a reservation of their own, since the promise is kept when the last
    /// copy is, and no limit holds them: it has let their ops go.
    pub(crate) fn params_of_copies(&self, small_op: f64) -> Params {
        let others = f64::from(self.copies.saturating_sub(1));
        let params = Params::new(self.reservation * small_op * others, self.weight, 0.0);
        params.expect("terms are checked where they are set")
    }
}

/// What an op costs of those by which IOPS are counted: of 4 KiB.
pub(crate) fn small_op(model: &CostModel) -> f64 {
    f64::from(model.scaled(4096))
}

/// What so many ops cost together.
pub(crate) fn cost_of(model: &CostModel, given: GivenOps) -> u32 {
    if given == GivenOps::default() {
        return 0;
    }
    let bytes = u64::from(given.kib) * 1024 / u64::from(given.ops.max(1));
    given.ops.saturating_mul(model.scaled(bytes))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn given(ops: u32) -> GivenOps {
        GivenOps { ops, kib: ops.wrapping_mul(4) }
    }

    /// Ops that are told late are taken off when they are told.
    #[test]
    fn what_was_given_here_is_not_given_elsewhere() {
        let mut part = OwnPart::default();
        let mut came = |told| part.came(given(told), 4096).ops;
        assert_eq!(came(0), 0, "the first");
        assert_eq!(came(0), 0, "while the first is under way");
        assert_eq!(came(5), 3, "both are done, and three elsewhere");
        assert_eq!(came(7), 1);
        assert_eq!(came(8), 0, "the last one here is done");
        assert_eq!(came(3), 0, "one that was overtaken");
        assert_eq!(came(11), 1, "the last two here are done");
    }

    #[test]
    fn counts_wrap_around() {
        let mut part = OwnPart::default();
        part.came(given(u32::MAX - 1), 4096);
        assert_eq!(part.came(given(u32::MAX), 4096).ops, 0);
        assert_eq!(part.came(given(3), 4096).ops, 3);
    }
}
