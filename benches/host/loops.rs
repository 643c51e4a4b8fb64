//! A node on one loop beside the same on two, with its client in the process and its disks in memory: only the processor bounds it:
//! `cargo bench -p loadline-benches --bench loops`. 4 KiB at random, in turns; `LOADLINE_BENCH_DIR` chooses the folder (by default `/dev/shm`),
//! `LOADLINE_BENCH_SECONDS` the length of each round, `LOADLINE_BENCH_ROUNDS` their number, `LOADLINE_BENCH_DEPTH` the depth. The client and two loops share what processors there are: of two,
//! one loop and its client have both, and only a depth that leaves no thread without work (1,024) tells what a second loop is worth.

#![allow(clippy::disallowed_methods, reason = "a benchmark has no binary to read its settings")]

mod direct_node;

use direct_node::{LoadReached, Node, NodeShape};
use loadline_osd::OpKind;

fn main() {
    let set = |name| std::env::var(name).ok();
    let number = |name, or: u64| set(name).map_or(or, |text| text.parse().expect("a number"));
    let place = set("LOADLINE_BENCH_DIR").unwrap_or("/dev/shm".into());
    let (seconds, rounds) =
        (number("LOADLINE_BENCH_SECONDS", 5), number("LOADLINE_BENCH_ROUNDS", 5));
    let depths = set("LOADLINE_BENCH_DEPTH")
        .map_or(vec![1, 64, 1024], |text| vec![text.parse().expect("a number")]);
    let folder = tempfile::tempdir_in(&place).expect("a folder");
    println!("{place}: 4 KiB at random, medians of {rounds} rounds of {seconds} s in turns");
    for (osds, copies) in [(8, 3), (8, 1)] {
        let shape = NodeShape {
            osds,
            copies,
            loops: 1,
            cache_mib: 64,
            osd_mib: 256,
            scheduler: "mclock_scheduler",
            data: 256 << 20,
        };
        let one = Node::start(folder.path(), "one", shape);
        let two = Node::start(folder.path(), "two", NodeShape { loops: 2, ..shape });
        for (kind, name) in [(OpKind::Read, "reads"), (OpKind::Write, "writes")] {
            for depth in &depths {
                let [mut on_one, mut on_two] = [const { Vec::new() }; 2];
                for _ in 0..rounds {
                    on_one.push(one.load(kind, *depth, seconds));
                    on_two.push(two.load(kind, *depth, seconds));
                }
                let [one, two] = [on_one, on_two].map(median);
                println!(
                    "{osds} OSDs, {copies} copies, depth {depth:3}, {name:6}: one loop {one}, two {two}: {:.2} times (to reach: 1.7 at depth 1024)",
                    two.iops / one.iops
                );
            }
        }
    }
}

/// Each figure's median by itself.
fn median(rounds: Vec<LoadReached>) -> LoadReached {
    let of = |figure: fn(&LoadReached) -> f64| {
        let mut figures: Vec<f64> = rounds.iter().map(figure).collect();
        figures.sort_by(f64::total_cmp);
        figures[figures.len() / 2]
    };
    LoadReached {
        iops: of(|it| it.iops),
        p50: of(|it| it.p50),
        p99: of(|it| it.p99),
        cpu: of(|it| it.cpu),
    }
}
