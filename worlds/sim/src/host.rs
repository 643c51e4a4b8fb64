//! The machine under a simulated cluster, where its OSDs share one: which of them stand on one device, and the processors.

use crate::processors::{ProcessorSpec, WorkPrice};
use loadline_base::IdVec;
use loadline_osd::OsdId;

/// What the OSDs of a cluster share. By default nothing: each has a drive and processors of its own.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct SimHost {
    /// The device that each OSD stands on, by any numbers; empty where each has its own.
    pub devices: Vec<u32>,
    /// Who computes, and for how long; `None` where workers compute side by side without end.
    pub computing: Option<(Computer, WorkPrice)>,
}

/// Who does all the computing of a machine.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Computer {
    /// Processors that OSDs and clients share.
    Processors(ProcessorSpec),
    /// One thread, as a node of Loadline is. It goes in rounds: it takes up all that has happened since the last one, does what follows, piece by
    /// piece, and hands its requests to the devices when it is through. Clients are others, and nobody else wants its processor.
    Thread {
        /// By how many thousandths of its price a round may take more or less, all alike.
        spread_permille: u32,
    },
}

impl SimHost {
    /// How many OSDs stand on one device at most.
    pub fn most_on_a_device(&self) -> u32 {
        let on = |device| self.devices.iter().filter(|other| *other == device).count();
        self.devices.iter().map(on).max().unwrap_or(1) as u32
    }

    /// By whose name the device of each OSD is called: the first that stands on it.
    pub(crate) fn first_on_device(&self, osds: u32) -> IdVec<OsdId, OsdId> {
        let device = |osd: u32| self.devices.get(osd as usize);
        let first = |osd: u32| {
            let is_same = |other: &u32| device(osd).is_some() && device(*other) == device(osd);
            OsdId::new((0..osd).find(is_same).unwrap_or(osd))
        };
        (0..osds).map(first).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn osds_stand_where_they_are_told_to_and_on_their_own_otherwise() {
        let check = |devices: &[u32], firsts: &[u32]| {
            let host = SimHost { devices: devices.to_vec(), computing: None };
            let found: Vec<u32> =
                host.first_on_device(4).values().map(|first| first.get()).collect();
            assert_eq!(found, firsts);
        };
        check(&[], &[0, 1, 2, 3]);
        check(&[7, 7, 7, 7], &[0, 0, 0, 0]);
        check(&[0, 1, 0, 1], &[0, 1, 0, 1]);
        check(&[5, 5], &[0, 0, 2, 3]);
    }
}
