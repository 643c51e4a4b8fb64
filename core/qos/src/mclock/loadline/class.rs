//! One class of Loadline's mode and its clients: what is remembered about them, and the tags of a head.

use super::super::heap::Wide;
use super::super::interval::{Interval, Scale, floor_log2};
use super::super::requests::{Fifo, Slot};
use super::super::tick::{StoredTick, Tick};
use super::turns::{NO_TURNS, TurnsId};
use crate::{ClassId, ClientKey, Distributed, FlowId, Lane, LimitPolicy, Params};
use loadline_base::Time;

/// Virtual ticks per unit of cost at the unit weight.
const VIRTUAL_BITS: i32 = 48;

/// No flow.
pub(super) const NO_FLOW: FlowId = FlowId::new(u32::MAX);
/// The class of a flow that is not open.
pub(super) const CLOSED: ClassId = ClassId::new(u32::MAX);

// A record is a class with its one client, and its places in the two heaps that keep places.
const _: () = assert!(size_of::<Class>() + size_of::<Flow>() + 2 * size_of::<u32>() <= 128);

/// Virtual time in virtual ticks: 128 bits last 10^7 years at 10^9 units per second and unit weight.
#[derive(Clone, Copy, Debug)]
#[repr(Rust, packed(4))]
pub(super) struct Virtual(pub(super) u128);

/// The power of two that weights are measured in, so that only their ratios matter: that of the first weight a
/// scheduler meets. Weights from 2^-14 to 2^30 of it keep their ratios to a millionth at every cost.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct WeightUnit(Option<i32>);

impl WeightUnit {
    /// The scale of weights; fixed by the first positive `weight`.
    fn scale(&mut self, weight: f64) -> Scale {
        if self.0.is_none() && weight > 0.0 {
            self.0 = Some(floor_log2(weight));
        }
        self.known()
    }

    fn known(self) -> Scale {
        Scale::power_of_two(VIRTUAL_BITS + self.0.unwrap_or(0))
    }

    /// Virtual ticks as cost units at weight 1.
    pub(super) fn units(self, virtual_ticks: u128) -> f64 {
        virtual_ticks as f64 * 2f64.powi(-VIRTUAL_BITS - self.0.unwrap_or(0))
    }
}

/// A class. Tags of its head are computed when asked for, from the tags of what was served last: nothing has to be
/// rewritten when parameters change or a head is removed.
#[derive(Clone, Debug)]
pub(super) struct Class {
    /// Start tag of the head, or of the next head to come: where the last service ended.
    pub(super) start: Virtual,
    /// Reservation tag of the last request that was served by reservation.
    pub(super) reservation_base: StoredTick,
    /// Limit tag of the last request served (under [`LimitPolicy::Reject`]: admitted).
    pub(super) limit_base: StoredTick,
    pub(super) reservation: Interval,
    pub(super) weight: Interval,
    pub(super) limit: Interval,
    pub(super) limit_policy: LimitPolicy,
    pub(super) strict: bool,
    /// Whether an entry of this class is in the weighted heap, perhaps an outdated one.
    pub(super) in_weighted: bool,
    /// The same for the heap of spare capacity.
    pub(super) in_spare: bool,
    /// The client whose head is the head of the class; it waits if any client of the class does.
    pub(super) turn: FlowId,
    /// What waits of the client whose turn it is, so that a look at the head needs no look at the flow.
    pub(super) fifo: Fifo,
    /// Where the turns of several clients are kept, once there has been a second one.
    pub(super) turns: TurnsId,
}

/// One client inside a class.
#[derive(Clone, Copy, Debug)]
#[repr(Rust, packed(4))]
pub(super) struct Flow {
    client: u64,
    /// Start tag among the clients of the class, in cost units (clients weigh the same).
    pub(super) start: u64,
    pub(super) class: ClassId,
    /// What waits, while it is another client's turn.
    pub(super) fifo: Fifo,
}

/// What the tags of a request depend on.
#[derive(Clone, Copy, Debug)]
pub(super) struct Head {
    pub(super) arrival: Time,
    pub(super) charge: u64,
    pub(super) reservation_charge: u64,
}

impl Head {
    #[inline]
    pub(super) fn of<T>(slot: &Slot<T>) -> Head {
        Head::new(slot.arrival, slot.cost, slot.distributed)
    }

    #[inline]
    pub(super) fn new(arrival: Time, cost: u32, distributed: Distributed) -> Head {
        let charge = u64::from(cost) + u64::from(distributed.delta);
        let reservation_charge = u64::from(cost) + u64::from(distributed.rho);
        Head { arrival, charge, reservation_charge }
    }
}

impl Class {
    pub(super) fn new(lane: Lane, unit: &mut WeightUnit) -> Class {
        let mut class = Class {
            start: Virtual(0),
            reservation_base: StoredTick::NEVER_SERVED,
            limit_base: StoredTick::NEVER_SERVED,
            reservation: Interval::NONE,
            weight: Interval::NONE,
            limit: Interval::NONE,
            limit_policy: LimitPolicy::Hard,
            strict: true,
            in_weighted: false,
            in_spare: false,
            turn: NO_FLOW,
            fifo: Fifo::EMPTY,
            turns: NO_TURNS,
        };
        if let Lane::Shared(params) = lane {
            class.strict = false;
            class.set_params(params, unit);
        }
        class
    }

    pub(super) fn set_params(&mut self, params: Params, unit: &mut WeightUnit) {
        self.reservation = Interval::of_rate(params.reservation(), Scale::SECOND);
        self.weight = Interval::of_rate(params.weight(), unit.scale(params.weight()));
        self.limit = Interval::of_rate(params.limit().unwrap_or(0.0), Scale::SECOND);
        self.limit_policy = params.limit_policy();
    }

    /// The parameters in force; `None` for a strict class.
    pub(super) fn params(&self, unit: WeightUnit) -> Option<Params> {
        let (reservation, weight, limit) = (self.reservation, self.weight, self.limit);
        let params = Params::new(
            reservation.rate(Scale::SECOND),
            weight.rate(unit.known()),
            limit.rate(Scale::SECOND),
        );
        (!self.strict)
            .then(|| params.expect("they were valid when set").with_limit_policy(self.limit_policy))
    }

    /// Whether heads of this class may have to wait for their limit tag.
    #[inline]
    pub(super) fn holds_at_limit(&self) -> bool {
        self.limit.exists() && self.limit_policy != LimitPolicy::Reject
    }

    /// When the reservation of `head` is due.
    #[inline]
    pub(super) fn reservation_tag(&self, head: Head) -> Tick {
        let charge = self.reservation.ticks(head.reservation_charge);
        self.reservation_base.get().after(charge).max(Tick::from_time(head.arrival))
    }

    /// When `head` is within the limit.
    #[inline]
    pub(super) fn limit_tag(&self, head: Head) -> Tick {
        let charge = self.limit.ticks(head.charge);
        self.limit_base.get().after(charge).max(Tick::from_time(head.arrival))
    }

    /// The limit tag, where the class holds its requests to it.
    #[inline]
    pub(super) fn held_until(&self, head: Head) -> Option<Tick> {
        self.holds_at_limit().then(|| self.limit_tag(head))
    }

    /// The entry of the class among those that wait for spare capacity. They may stay there for very long, so
    /// their keys do not wrap.
    pub(super) fn spare_entry(&self, id: ClassId) -> Wide {
        Wide { key: self.start.0 as i128, index: id.get() }
    }

    /// Moves the start tag up to `virtual_time`: the past neither counts for a class nor against it.
    #[inline]
    pub(super) fn start_from(&mut self, virtual_time: u128) {
        self.start = Virtual(virtual_time.max(self.start.0));
    }
}

impl Flow {
    pub(super) fn new(class: ClassId, client: ClientKey) -> Flow {
        Flow { client: client.0, start: 0, class, fifo: Fifo::EMPTY }
    }

    pub(super) fn client(&self) -> ClientKey {
        ClientKey(self.client)
    }

    pub(super) fn is_open(&self) -> bool {
        self.class != CLOSED
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn tags_add_the_own_cost_to_the_last_tag() {
        let params = Params::new(10.0, 1.0, 5.0).unwrap();
        let mut unit = WeightUnit::default();
        let mut class = Class::new(Lane::Shared(params), &mut unit);
        let second = |s: u64| Tick::from_time(Time::from_secs(s));
        let head = Head { arrival: Time::from_secs(1), charge: 15, reservation_charge: 20 };
        assert_eq!(class.reservation_tag(head), second(1), "the first is due on arrival");
        class.reservation_base = second(1).into();
        class.limit_base = second(2).into();
        assert_eq!(class.reservation_tag(head), second(3));
        assert_eq!(class.limit_tag(head), second(5));
        assert_eq!(class.params(unit), Some(params));
    }
}
