//! The reader of job files with damaged text; `fuzz/` runs the same under coverage guidance.

mod feed;

use loadline_base::Rng;

const JOBS: &str = "\
; what the reader knows, in two jobs
[global]
ioengine=libaio
bs=4k,64k
iodepth = 32
[reader]
rw=randrw
rwmixread=70
rate_iops=3000,1000
rate_process=poisson
numjobs=4
runtime=300
ramp_time=1m
[splitter]
readwrite=randwrite
bssplit=4k/50:1k/:32KiB/
size=50%
[seq]
rw=read
size=10GiB
runtime=250ms
";

/// Bytes changed at random, and the file cut anywhere.
#[test]
fn damaged_job_files_are_harmless() {
    let jobs = JOBS.replacen("bs=4k,64k", "bs=8k", 1);
    assert!(feed::jobs(jobs.as_bytes()) && !feed::jobs(JOBS.as_bytes()));
    let mut rng = Rng::new(3);
    let damaged = |_| {
        let mut bytes = jobs.as_bytes()[..1 + rng.below(jobs.len() as u64 - 1) as usize].to_vec();
        let place = rng.below(bytes.len() as u64) as usize;
        bytes[place] = *b"09,=/:%km[]\n\xff".get(rng.below(13) as usize).expect("13 of them");
        feed::jobs(&bytes)
    };
    let accepted = (0..20_000).map(damaged).filter(|accepted| *accepted).count();
    assert!((1..20_000).contains(&accepted), "{accepted} of 20000 accepted");
}

/// Numbers at the ends of what fio takes, and beyond.
#[test]
fn absurd_numbers_are_refused_or_carried_out() {
    let check = |line: &str, accepted: bool| {
        let text = format!("[a]\nrw=randrw\n{line}\n");
        assert_eq!(feed::jobs(text.as_bytes()), accepted, "{line}");
    };
    check("rate_iops=4294967295,4294967295\nnumjobs=4294967295", true);
    check("rwmixread=100\nrate_iops=4294967295", true);
    check("rate_iops=1e308", false);
    check("rate_iops=0.5", false);
    check("runtime=36500d\nramp_time=36500d", true);
    check("runtime=36501d", false);
    check("runtime=18446744073709551615", false);
    check("bs=18446744073709551615", true);
    check("bs=18446744073709551616", false);
    check("bssplit=4k/0:8k/100", true);
}
