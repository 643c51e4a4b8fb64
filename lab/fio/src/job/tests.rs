//! Job files and what is read of them.

use super::*;
use std::time::Duration;

fn one(text: &str) -> LoadJob {
    let jobs = parse_jobs(text).unwrap_or_else(|error| panic!("{}: {}", error.line, error.problem));
    assert_eq!(jobs.len(), 1, "{jobs:?}");
    jobs.into_iter().next().expect("one job")
}

#[test]
fn what_a_job_leaves_out_is_fios_default() {
    let expected = LoadJob {
        name: "a".to_owned(),
        line: 1,
        random: false,
        reads: 1.0,
        blocks: vec![(4096, 100)],
        iodepth: 1,
        rate_iops: None,
        poisson: false,
        numjobs: 1,
        runtime: None,
        ramp_time: None,
        size: None,
    };
    assert_eq!(one("[a]"), expected);
}

/// The job of the published benchmark (cdl.md 3.3), and one with everything else.
#[test]
fn options_say_what_is_sent_when() {
    let job = one("; the benchmark\n[global]\nioengine=libaio\ndirect=1\nlog_prio\n\n[reader]\n\
                   rw=randread\nbs=128k\niodepth=32\nruntime=300\nramp_time=1m\nsize=100%\n");
    assert_eq!((job.name.as_str(), job.line), ("reader", 7));
    assert_eq!((job.random, job.reads, job.iodepth), (true, 1.0, 32));
    assert_eq!(job.blocks, [(128 << 10, 100)]);
    assert_eq!(job.runtime, Some(Duration::from_secs(300)));
    assert_eq!(job.ramp_time, Some(Duration::from_secs(60)));
    assert_eq!(job.size, Some(JobSize::Percent(100)));

    let job =
        one("[w]\nreadwrite = randrw\nrwmixwrite=30\nbssplit=4k/50:1k/:32KiB/\nrate_iops=100,50\n\
                   rate_process=poisson\nnumjobs=4\nsize=10GiB\n");
    assert_eq!((job.reads, job.poisson, job.numjobs), (0.7, true, 4));
    assert_eq!(job.blocks, [(4096, 50), (1024, 25), (32_000, 25)]);
    assert_eq!(job.rate_iops, Some(150.0));
    assert_eq!(job.size, Some(JobSize::Bytes(10_000_000_000)), "with ib, fio counts in 1000");
    assert_eq!(one("[w]\nrw=write\nbs=4k,64k").blocks, [(64 << 10, 100)]);
    let plain = one("[w]\nrw=randread\nbs=8k\n");
    assert_eq!(one("[w]\nrw=randread # at random\nbs=8k ; a page\n"), plain);
}

#[test]
fn global_sections_hold_for_the_jobs_after_them() {
    let jobs =
        parse_jobs("[global]\nbs=8k\n[a]\n[global]\nioengine=io_uring\niodepth=4\n[b]\nbs=16k")
            .expect("two jobs");
    let seen: Vec<_> = jobs.iter().map(|job| (job.blocks[0].0, job.iodepth)).collect();
    assert_eq!(seen, [(8192, 1), (16384, 4)]);
}

#[test]
fn what_cannot_be_followed_is_named_with_its_line() {
    let check = |text: &str, line: usize, says: &str| {
        let error = parse_jobs(text).expect_err(says);
        assert_eq!((error.line, error.problem.to_string().as_str()), (line, says));
    };
    check("bs=4k", 1, "an option stands before any section: begin with `[global]` or a job's name");
    check("[a\n", 1, "a section is named as in `[reader]`");
    check("[global]\nbs=4k", 2, "there is no job: give it a section with a name, as `[reader]`");
    check(
        "[a]\n\niodeph=4",
        3,
        "there is no option `iodeph` that a load could follow: leave it out",
    );
    check(
        "[a]\ncmdprio_percentage=20",
        2,
        "`cmdprio_percentage` cannot be followed here: give the client's class a priority \
         (`--set osd_device_client_prioclass=rt`)",
    );
    check(
        "[a]\nbs=4x",
        2,
        "`bs` cannot be `4x`: it takes a size such as `4k`, or two for reads and writes",
    );
    check(
        "[a]\nrw=randtrim",
        2,
        "`rw` cannot be `randtrim`: it takes read, write, rw, randread, randwrite or randrw",
    );
    let split = "sizes with their percent, as `4k/60:64k/40`, which are 100 together";
    check(
        "[a]\nbssplit=4k/60:8k/30",
        2,
        &format!("`bssplit` cannot be `4k/60:8k/30`: it takes {split}"),
    );
    check("[a]\niodepth", 2, "`iodepth` cannot be ``: it takes a whole number of at least 1");
    let synchronous = "`iodepth` cannot be followed here: fio would keep 1 with this `ioengine` (its default is psync): say \
                       libaio or io_uring, or leave it out";
    check("[a]\nrw=randread\niodepth=32\nnumjobs=16", 1, synchronous);
    check("[global]\nioengine=pvsync2\n[a]\niodepth=2", 3, synchronous);
    check(
        "[a]\nrw=rw\nbs=4k,8k",
        1,
        "`bs` cannot be followed here: reads and writes of one load have the same sizes: give one",
    );
}

/// Sixteen jobs of a synchronous engine have sixteen operations in flight, whatever their `iodepth`: a study ran with 512.
#[test]
fn a_synchronous_engine_keeps_one() {
    let depth = |text: &str| one(text).iodepth;
    assert_eq!(depth("[a]\nrw=randread\niodepth=1\nnumjobs=16"), 1);
    assert_eq!(depth("[a]\nioengine=psync\niodepth=1"), 1);
    assert_eq!(depth("[a]\niodepth=32\nioengine=libaio"), 32);
    assert_eq!(depth("[global]\nioengine=sync\n[a]\nioengine=io_uring\niodepth=8"), 8);
    assert_eq!(depth("[a]\nioengine=nbd\niodepth=8"), 8);
}

#[test]
fn times_have_fios_units() {
    let check = |text: &str, ms| assert_eq!(units::span(text), Some(Duration::from_millis(ms)));
    check("3", 3_000);
    check("250ms", 250);
    check("2m", 120_000);
    assert_eq!(units::span("2 weeks"), None);
}

/// The sizes of files that fio 3.33 made (`size=`), and what it does not know.
#[test]
fn sizes_have_fios_units() {
    let check = |text: &str, bytes| assert_eq!(units::size(text), bytes, "{text}");
    check("4", Some(4));
    check("1m", Some(1 << 20));
    check("1mb", Some(1 << 20));
    check("1mi", Some(1 << 20));
    check("1MiB", Some(1_000_000));
    check("3p", Some(3 << 50));
    check("1x", None);
    check("1bi", None);
    check("99999999p", None);
}
