//! Who goes next: storage QoS schedulers as data structures, with the models that feed them.
//!
//! mClock (as published, or in Loadline's own mode), WPQ and FIFO stand behind one contract,
//! [`Scheduler`]; beside them live the cost models, profile tables and capacity rules of the field, as data.
//!
//! This crate may not know disks, OSDs or worlds. `now` is always an argument; nothing here waits,
//! locks, calls back or allocates per operation in the steady state.

mod scheduler;

pub use scheduler::{
    ClassId, ClientKey, Distributed, FlowId, Lane, LimitPolicy, Params, ParamsError, Phase, Reason,
    Refusal, RefusedRequest, Request, Scheduler, Tags, Take, Taken, Waiting,
};
