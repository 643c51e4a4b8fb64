//! What clients as a class are promised beside other work: a share of what they have alone, or of what the disks can do where they do not
//! ask for all of that.

use crate::promise::{ClientPromise, KEPT_FROM, OfferedRate};
use crate::record::RunRecord;
use crate::setup::OsdSetup;
use loadline_stats::mean;

/// By what it is told what the clients of a setup, as a class, are promised beside other work.
#[derive(Clone, Copy, Debug)]
pub(crate) struct PromiseTerms<'a> {
    /// What the OSDs are set to.
    pub(crate) setup: &'a OsdSetup,
    /// How many there are.
    pub(crate) osds: u32,
    /// How many of them have each write.
    pub(crate) copies: u32,
    /// What clients complete alone.
    pub(crate) alone_iops: f64,
    /// What open loops ask for.
    pub(crate) offered: Option<OfferedRate>,
}

impl PromiseTerms<'_> {
    /// What they are promised in these runs. An open loop that keeps its rate alone does not show what the disks could do: there the
    /// capacity tells that mClock had, each write being one on every copy.
    pub(crate) fn promise(&self, runs: &[&RunRecord]) -> ClientPromise {
        let PromiseTerms { alone_iops, offered, .. } = *self;
        let keeps = |offered: OfferedRate| alone_iops >= KEPT_FROM * offered.least;
        let alone_iops = match offered.is_some_and(keeps) {
            true => alone_iops.max(self.stored_iops(runs)),
            false => alone_iops,
        };
        ClientPromise { share: self.setup.reserved_for_clients(), alone_iops, offered }
    }

    /// What all OSDs could write by their capacities: by what the setup stores, or by what was in force in the runs, where they tell.
    fn stored_iops(&self, runs: &[&RunRecord]) -> f64 {
        let told = runs.iter().filter_map(|run| run.real.as_ref()).flat_map(|it| &it.capacities);
        let told = || mean(&told.copied().collect::<Vec<_>>());
        let stored = self.setup.stored_capacity_iops().or_else(told);
        let each = stored.unwrap_or(self.setup.plan().capacity.iops);
        each * f64::from(self.osds) / f64::from(self.copies)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::input::Source;
    use crate::setup::{SchedulerName, SetupGround, TypedSetup};
    use loadline_cluster::settings::DriveLimits;
    use loadline_device::Medium;
    use loadline_testbed::MachineFacts;
    use toml::Spanned;

    /// A setup that reserves half of each disk, on which so much was measured.
    fn half(capacity: Option<&str>) -> OsdSetup {
        let source =
            Source { name: "s".to_owned(), file: "s.toml".to_owned(), text: String::new() };
        let option = "osd_mclock_max_capacity_iops_ssd".to_owned();
        let ground = SetupGround {
            source: &source,
            media: vec![Medium::Ssd; 4],
            limits: DriveLimits::default(),
            measured: capacity.map(|capacity| (option, capacity.to_owned())).into_iter().collect(),
            overrides: &[],
        };
        let word = |text: &str| Spanned::new(0..0, text.to_owned());
        let typed = TypedSetup {
            name: &word("half"),
            about: "",
            preset: &word("loadline"),
            profiles: None,
            scheduler: SchedulerName::Mclock,
            profile: Some(&word("balanced")),
            options: &[],
        };
        ground.read_with_traits(&typed).expect("it is sound")
    }

    /// The drive's own capacity counted, whatever mClock had: half was promised of disks that do a seventh of it, and of fast ones a part of half.
    #[test]
    fn the_capacity_that_mclock_had_tells_what_an_open_loop_could_have() {
        let owed = |stored: Option<&str>, in_force: [f64; 4], alone_iops: f64| {
            let capacities = in_force.iter().copied().filter(|iops| *iops > 0.0).collect();
            let real = Some(MachineFacts { capacities, ..MachineFacts::default() });
            let run = RunRecord { real, ..RunRecord::default() };
            let setup = &half(stored);
            let offered = Some(OfferedRate { mean: 3000.0, least: 2836.0 });
            let terms = PromiseTerms { setup, osds: 4, copies: 3, alone_iops, offered };
            terms.promise(&[&run]).owed().round()
        };
        let unknown = [0.0; 4];
        assert_eq!(owed(None, [2400.0, 2600.0, 2700.0, 2300.0], 3000.0), 1667.0);
        assert_eq!(owed(None, [9000.0; 4], 3000.0), 3000.0, "no more than it asks for");
        // It keeps its rate, so that they can do that.
        assert_eq!(owed(None, [1500.0; 4], 3000.0), 1500.0);
        assert_eq!(owed(None, unknown, 3000.0), 3000.0, "half of what a preset takes disks for");
        assert_eq!(owed(Some("3000"), unknown, 3000.0), 2000.0);
        assert_eq!(owed(Some("3000"), [9000.0; 4], 3000.0), 2000.0);
        // Alone it does not get what it asks for: that is what they can do.
        assert_eq!(owed(None, [9000.0; 4], 2000.0), 1000.0);
        assert_eq!(owed(None, [9000.0; 4], 2700.0), 3000.0, "fewer arrivals are chance");
    }
}
