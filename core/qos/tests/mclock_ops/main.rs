//! The fuzz target's script over random bytes: seconds of it with every test run, hours with `cargo fuzz`.

mod script;

use loadline_base::Time;
use loadline_qos::{
    ClassId, ClientKey, FlowId, Lane, LoadlineConfig, MClock, Params, PublishedConfig,
    RefusedRequest, Request, Scheduler, SideQueue, Take, TenantKey, Waiting,
};
use proptest::prelude::*;
use script::run;
use std::num::NonZeroU32;

fn lanes() -> [Lane; 4] {
    let shared = |r, w, l| Lane::Shared(Params::new(r, w, l).unwrap());
    [Lane::Strict, shared(100.0, 2.0, 0.0), shared(20.0, 1.0, 200.0), shared(0.0, 1.0, 50.0)]
}

fn loadline() -> MClock<u64> {
    let config = LoadlineConfig { strict_priority: Some(196), ..LoadlineConfig::default() };
    MClock::loadline(config, &lanes())
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 10_000, ..ProptestConfig::default() })]

    #[test]
    fn loadline_survives_any_script(bytes in prop::collection::vec(any::<u8>(), 0..600)) {
        run(&mut loadline(), 4, &bytes);
    }

    #[test]
    fn tenants_survive_any_script(bytes in prop::collection::vec(any::<u8>(), 0..600)) {
        run(&mut divided(), 4, &bytes);
    }

    #[test]
    fn published_survives_any_script(
        bytes in prop::collection::vec(any::<u8>(), 0..600),
        by_priority in any::<bool>(),
    ) {
        let beside = if by_priority { SideQueue::Priorities } else { SideQueue::List };
        let config = PublishedConfig { beside, ..PublishedConfig::default() };
        run(&mut MClock::as_published(config, &lanes()), 4, &bytes);
    }
}

/// The canary: a scheduler that loses what a strict class enqueues after its fifth request. The script has to notice.
#[test]
#[should_panic(expected = "left == right")]
fn a_scheduler_that_loses_a_request_is_caught() {
    let bytes: Vec<u8> = [0, 0, 0, 0, 1].repeat(8);
    run(&mut Altered { kept: loadline(), loses_after: 6 }, 4, &bytes);
}

/// A scheduler whose classes with odd numbers are divided: each client is one of a tenant of its own, or of none.
fn divided() -> Altered {
    let mut kept = loadline();
    for class in [1, 3] {
        for key in 0..3 {
            let limit = [0.0, 20.0, 7.0][key as usize];
            let params = Params::new(0.0, 1.0 + key as f64, limit).unwrap();
            let (class, key) = (ClassId::new(class), TenantKey(key));
            kept.set_tenant(Time::ZERO, class, key, params, NonZeroU32::MIN).unwrap();
        }
    }
    Altered { kept, loses_after: u32::MAX }
}

struct Altered {
    kept: MClock<u64>,
    loses_after: u32,
}

impl Scheduler<u64> for Altered {
    fn flow(&mut self, now: Time, class: ClassId, client: ClientKey) -> FlowId {
        let tenant = self.kept.tenant_flow(class, TenantKey(client.0), client);
        tenant.unwrap_or_else(|| self.kept.flow(now, class, client))
    }

    fn close_flow(&mut self, now: Time, flow: FlowId, removed: &mut Vec<u64>) {
        self.kept.close_flow(now, flow, removed);
    }

    fn enqueue(&mut self, now: Time, request: Request<u64>) -> Result<(), RefusedRequest<u64>> {
        self.loses_after = self.loses_after.saturating_sub(1);
        if self.loses_after == 0 { Ok(()) } else { self.kept.enqueue(now, request) }
    }

    fn enqueue_front(
        &mut self,
        now: Time,
        request: Request<u64>,
    ) -> Result<(), RefusedRequest<u64>> {
        self.kept.enqueue_front(now, request)
    }

    fn take(&mut self, now: Time) -> Take<u64> {
        self.kept.take(now)
    }

    fn earliest(&mut self, now: Time) -> Option<Time> {
        self.kept.earliest(now)
    }

    fn remove_class(&mut self, now: Time, class: ClassId, removed: &mut Vec<u64>) {
        self.kept.remove_class(now, class, removed);
    }

    fn remove_where(
        &mut self,
        now: Time,
        doomed: &mut dyn FnMut(&u64) -> bool,
        removed: &mut Vec<u64>,
    ) {
        self.kept.remove_where(now, doomed, removed);
    }

    fn set_params(&mut self, now: Time, class: ClassId, params: Params) {
        self.kept.set_params(now, class, params);
    }

    fn waiting(&self, now: Time) -> Vec<Waiting> {
        self.kept.waiting(now)
    }

    fn len(&self) -> usize {
        self.kept.len()
    }
}
