//! What WPQ is measured by, here and beside the original (`reference_wpq.cc`).

use loadline_base::Time;
use loadline_qos::{ClassId, ClientKey, Lane, Params, Request, Scheduler, Take, Wpq};

/// Client operations (as often as all others together), replica writes, recovery items, pushes.
pub(crate) const MIX: [(u32, u32); 6] =
    [(63, 4_096), (63, 4_096), (63, 4_096), (127, 4_096), (5, 20 << 20), (3, 4 << 20)];

/// A queue with `owners` owners and `depth` requests of each. A served request is added again at once.
pub(crate) fn filled(owners: u64, depth: u64, mix: &[(u32, u32)]) -> Wpq<u32> {
    let lanes = [Lane::Shared(Params::new(1.0, 1.0, 0.0).expect("valid"))];
    let mut queue = Wpq::new(&lanes, 196, 1);
    for owner in 0..owners {
        let flow = queue.flow(Time::ZERO, ClassId::new(0), ClientKey(owner));
        for index in owner..owner + depth {
            let (priority, cost) = mix[index as usize % mix.len()];
            let request = Request { priority, ..Request::new(flow, cost, 0) };
            queue.enqueue(Time::ZERO, request).expect("the flow is open");
        }
    }
    queue
}

/// One take, and one add of what was taken.
#[inline(always)]
pub(crate) fn cycle(queue: &mut Wpq<u32>) {
    let Take::Ready(taken) = queue.take(Time::ZERO) else { unreachable!("it is never empty") };
    let request =
        Request { priority: taken.priority, ..Request::new(taken.flow, taken.cost, taken.payload) };
    queue.enqueue(Time::ZERO, request).expect("the flow is open");
}
