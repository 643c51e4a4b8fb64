//! The benchmark on the modelled drive, seen through the files that it leaves, and the plots of such folders.

mod plots;
mod runs;
mod scripts;

use loadline_cdl::BenchFolder;
use loadline_cdl::bench::{Bench, BenchNews, BenchOptions, BenchOrder, Ground, Modelled, manifest};
use loadline_device::cdl::DescriptorPage;
use loadline_sim::hdd::HddSpec;
use std::path::Path;

/// All four workloads as the matrix has them, at two depths and for a minute.
fn asked() -> BenchOptions {
    BenchOptions {
        dev: Some("sim:hdd-22tb-cdl".to_owned()),
        bs: "131072".to_owned(),
        ramptime: 5,
        runtime: 60,
        qds: "1 16".to_owned(),
        baseline: true,
        ncq_prio: true,
        cdl_single: true,
        cdl_multi: true,
        percentage: Some(20),
        dld: Some(1),
        dldsplit: Some("2/10,4/20".to_owned()),
    }
}

fn drive() -> Modelled {
    Modelled {
        spec: HddSpec::built_in("hdd-22tb-cdl").expect("the drive is built in"),
        reads: DescriptorPage::BENCHMARK_T2A,
        writes: DescriptorPage::BENCHMARK_T2B,
        seed: 1,
    }
}

/// Runs an order into a folder and returns what was heard of it, a line each.
fn run(
    asked: &BenchOptions,
    drive: Modelled,
    root: &Path,
    jobs: usize,
) -> Result<Vec<String>, String> {
    let order = BenchOrder::new(asked).map_err(|error| error.to_string())?;
    let ground = Ground::Modelled(drive);
    let folder =
        BenchFolder::begin(root, &manifest(&order, &ground)).map_err(|error| error.to_string())?;
    let mut heard = Vec::new();
    let bench = Bench { order: &order, folder: &folder, ground };
    let outcome = bench.run(jobs, &mut |news| {
        match news {
            BenchNews::Workload(workload) => heard.push(workload.announcement().to_owned()),
            BenchNews::Depth { depth, kept } => heard.push(format!("QD={depth} kept={kept}")),
            BenchNews::Done(share) => assert!((0.0..=1.0).contains(&share)),
            BenchNews::Note(note) => heard.push(note.to_owned()),
        }
        true
    });
    outcome.map_err(|error| error.to_string())?;
    Ok(heard)
}
