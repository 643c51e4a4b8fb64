//! The handles of a shard's flows, so that enqueueing looks nothing up, and the images among them that are tenants.
//! It knows the scheduler, but nothing of items.

use crate::tenants::{GivenOps, OwnPart, TenantTable, TenantTerms, cost_of, small_op};
use loadline_base::{SlotId, Span, Time};
use loadline_qos::{
    ClassId, ClientKey, CostModel, Distributed, FlowId, MClock, Queue, Scheduler, ServiceClass,
    ShardPlan, TenantError, TenantKey,
};
use std::collections::BTreeMap;
use std::num::NonZeroU32;

/// What of an image an item is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum TenantItem {
    /// An op, here on its primary, that was told so much and has so many bytes.
    Op { image: u32, given: GivenOps, bytes: u32 },
    /// A write on one of the other copies.
    Copy { image: u32 },
}

/// Who asks a shard for something: a client in a class, perhaps by an image.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct ItemOwner {
    pub class: ClassId,
    /// A small number (see [`Item::owner`](crate::item::Item::owner)).
    pub client: u32,
    pub tenant: Option<TenantItem>,
}

/// See the module.
#[derive(Debug, Default)]
pub(crate) struct ShardFlows {
    /// By class and client.
    plain: Vec<Vec<Option<FlowId>>>,
    images: BTreeMap<u32, ImageFlows>,
    /// By what the terms of images are read here.
    ground: Option<TermsGround>,
}

/// What an op costs, over how many shards an image's ops go, and how much of its promise each image has here.
#[derive(Clone, Copy, Debug, PartialEq)]
struct TermsGround {
    cost_model: CostModel,
    servers: NonZeroU32,
    /// All of it, or the part of it that is reserved for clients where that is less than what all are promised together.
    part: f64,
}

impl TermsGround {
    /// Where so much is reserved for clients, in cost units per second.
    fn new(plan: &ShardPlan, table: &TenantTable, reserved: f64) -> TermsGround {
        let servers = table.osds.max(1).saturating_mul(plan.capacity.shards.max(1));
        let ops: f64 = table.images.values().map(TenantTerms::reservation_with_copies).sum();
        let promised = ops * small_op(&plan.cost_model) / f64::from(servers);
        // No more than the class has when it is added up again.
        let part = if promised > reserved { reserved / promised * (1.0 - 1e-6) } else { 1.0 };
        let servers = NonZeroU32::new(servers).expect("one at least");
        TermsGround { cost_model: plan.cost_model, servers, part }
    }
}

/// An image in a shard.
#[derive(Debug)]
struct ImageFlows {
    terms: TenantTerms,
    part: OwnPart,
    /// When its last op came.
    came: Time,
    /// What was promised of it since, and not counted as given elsewhere, in cost units; of the last second at most.
    promised: f64,
    ops: BTreeMap<u32, FlowId>,
    copies: BTreeMap<u32, FlowId>,
}

impl ShardFlows {
    /// The flow of an item that comes, and what its image was given on other servers.
    #[inline]
    pub(crate) fn of_new(
        &mut self,
        now: Time,
        queue: &mut Queue<SlotId>,
        owner: ItemOwner,
    ) -> (FlowId, Distributed) {
        let flow = self.of(now, queue, owner);
        let rho = match owner.tenant {
            Some(TenantItem::Op { image, given, bytes }) if !self.images.is_empty() => {
                self.given_elsewhere(now, queue, image, (given, bytes))
            }
            _ => 0,
        };
        (flow, Distributed { delta: 0, rho })
    }

    /// The flow of an item.
    #[inline]
    pub(crate) fn of(&mut self, now: Time, queue: &mut Queue<SlotId>, owner: ItemOwner) -> FlowId {
        if let Some(item) = owner.tenant
            && !self.images.is_empty()
            && let Some(found) = self.of_image(queue, owner, item)
        {
            return found;
        }
        let (class_index, client_index) = (usize::from(owner.class), owner.client as usize);
        if self.plain.len() <= class_index {
            self.plain.resize(class_index + 1, Vec::new());
        }
        let clients = &mut self.plain[class_index];
        if clients.len() <= client_index {
            clients.resize(client_index + 1, None);
        }
        let key = ClientKey(u64::from(owner.client));
        *clients[client_index].get_or_insert_with(|| queue.flow(now, owner.class, key))
    }

    #[inline(never)]
    fn given_elsewhere(
        &mut self,
        now: Time,
        queue: &mut Queue<SlotId>,
        image: u32,
        told: (GivenOps, u32),
    ) -> u32 {
        let Some((ground, of_image)) = self.ground.as_ref().zip(self.images.get_mut(&image)) else {
            return 0;
        };
        let Elsewhere { counted, beyond } = of_image.given_elsewhere(now, &ground.cost_model, told);
        if beyond > 0
            && let Queue::MClock(scheduler) = queue
        {
            scheduler.served_elsewhere(now, CLIENT, key_of_ops(image), beyond);
        }
        counted
    }

    #[inline(never)]
    fn of_image(
        &mut self,
        queue: &mut Queue<SlotId>,
        owner: ItemOwner,
        item: TenantItem,
    ) -> Option<FlowId> {
        let Queue::MClock(scheduler) = queue else { return None };
        let (TenantItem::Op { image, .. } | TenantItem::Copy { image }) = item;
        let of_image = self.images.get_mut(&image)?;
        let (flows, key) = match item {
            TenantItem::Op { .. } => (&mut of_image.ops, key_of_ops(image)),
            TenantItem::Copy { .. } => (&mut of_image.copies, key_of_copies(image)),
        };
        let flow = *flows.entry(owner.client).or_insert_with(|| {
            let flow = scheduler.tenant_flow(owner.class, key, ClientKey(u64::from(owner.client)));
            flow.expect("an image of the table is a tenant")
        });
        Some(flow)
    }

    /// Whether something of an image is promised anything.
    pub(crate) fn is_promised(&self, item: Option<TenantItem>) -> bool {
        let Some(TenantItem::Op { image, .. } | TenantItem::Copy { image }) = item else {
            return false;
        };
        self.images.get(&image).is_some_and(|of_image| of_image.terms.reservation > 0.0)
    }

    /// When an image that waits gets what it is promised, at the earliest; nothing if none does.
    #[inline]
    pub(crate) fn promise_due_at(&self, now: Time, queue: &mut Queue<SlotId>) -> Option<Time> {
        match queue {
            Queue::MClock(scheduler) if !self.images.is_empty() => {
                scheduler.promise_due_at(now, CLIENT)
            }
            _ => None,
        }
    }

    /// Images are tenants by this table from now on. What waits of those that are none any more comes back, in no flow.
    pub(crate) fn share(
        &mut self,
        now: Time,
        queue: &mut Queue<SlotId>,
        plan: &ShardPlan,
        table: &TenantTable,
    ) -> Vec<SlotId> {
        let mut removed = Vec::new();
        let Queue::MClock(scheduler) = queue else { return removed };
        if table.images.is_empty() && self.images.is_empty() {
            return removed;
        }
        let reserved = scheduler.params(CLIENT).map_or(0.0, |params| params.reservation());
        let ground = TermsGround::new(plan, table, reserved);
        let is_same_ground = self.ground.replace(ground) == Some(ground);
        self.images.retain(|image, _| {
            let stays = table.images.contains_key(image);
            if !stays {
                for key in [key_of_ops(*image), key_of_copies(*image)] {
                    scheduler.close_tenant(now, CLIENT, key, &mut removed);
                }
            }
            stays
        });
        let is_new = |image: &u32, terms: &TenantTerms| {
            !is_same_ground || self.images.get(image).is_none_or(|of| of.terms != *terms)
        };
        let changed: Vec<(u32, TenantTerms)> = (table.images.iter())
            .filter(|(image, terms)| is_new(image, terms))
            .map(|(image, terms)| (*image, *terms))
            .collect();
        // What they had makes room for what they have from now on.
        for part in [0.0, ground.part] {
            let told = |(image, terms): &(u32, TenantTerms)| {
                set_tenants(scheduler, now, *image, terms.in_part(part), &ground)
            };
            if !changed.iter().all(told) {
                return removed;
            }
        }
        for (image, terms) in changed {
            let new = || ImageFlows::new(terms, now);
            self.images.entry(image).or_insert_with(new).rebind(terms);
        }
        scheduler.save_reservations(CLIENT, SAVED);
        removed
    }
}

impl ImageFlows {
    fn new(terms: TenantTerms, now: Time) -> ImageFlows {
        let (part, ops, copies) = (OwnPart::default(), BTreeMap::new(), BTreeMap::new());
        ImageFlows { terms, part, came: now, promised: 0.0, ops, copies }
    }

    /// What it was given is told from the time on at which it is bound to something.
    fn rebind(&mut self, terms: TenantTerms) {
        if !self.terms.is_bound() {
            self.part = OwnPart::default();
        }
        self.terms = terms;
    }

    /// What the image was given elsewhere since its last op here.
    fn given_elsewhere(
        &mut self,
        now: Time,
        model: &CostModel,
        (given, bytes): (GivenOps, u32),
    ) -> Elsewhere {
        if !self.terms.is_bound() {
            return Elsewhere { counted: 0, beyond: 0 };
        }
        let elsewhere = cost_of(model, self.part.came(given, bytes));
        let is_limited = self.terms.limit > 0.0;
        if is_limited && self.terms.reservation <= 0.0 {
            return Elsewhere { counted: elsewhere, beyond: 0 };
        }
        let rate = self.terms.reservation * small_op(model);
        let passed = now.since(std::mem::replace(&mut self.came, now)).as_secs_f64();
        self.promised = (self.promised + rate * passed).min(rate);
        let counted = f64::from(elsewhere).min(self.promised);
        self.promised -= counted;
        let counted = counted as u32;
        Elsewhere { counted, beyond: if is_limited { elsewhere - counted } else { 0 } }
    }
}

/// What an image was given elsewhere, in a shard's cost units.
struct Elsewhere {
    /// What counts against its reservation and its limit: no more than it is promised, since what it got beyond that, because nobody else
    /// wanted it, is not held against its promise later.
    counted: u32,
    /// What counts against its limit alone.
    beyond: u32,
}

/// Makes an image's ops a tenant, and their copies. Whether the scheduler knows any.
fn set_tenants(
    scheduler: &mut MClock<SlotId>,
    now: Time,
    image: u32,
    terms: TenantTerms,
    ground: &TermsGround,
) -> bool {
    let small_op = small_op(&ground.cost_model);
    let of_both = [
        (key_of_ops(image), terms.params(small_op)),
        (key_of_copies(image), terms.params_of_copies(small_op)),
    ];
    of_both.into_iter().all(|(key, params)| {
        match scheduler.set_tenant(now, CLIENT, key, params, ground.servers) {
            Ok(()) => true,
            Err(TenantError::NotInThisMode | TenantError::StrictClass) => false,
            Err(TenantError::ReservationsExceedClass { .. }) => {
                unreachable!("each has its part of what the class has")
            }
        }
    })
}

const CLIENT: ClassId = ServiceClass::Client.id();

/// What an image may have at once of what it is promised: twice the window's latency goal on flash, two ops of a thousand per second. Ops that
/// come at random at half of what is promised come two to such a time on one shard in a third of all cases.
const SAVED: Span = Span::from_millis(2);

fn key_of_ops(image: u32) -> TenantKey {
    TenantKey(u64::from(image))
}

fn key_of_copies(image: u32) -> TenantKey {
    TenantKey(1 << 32 | u64::from(image))
}
