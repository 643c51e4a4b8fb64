//! What may be asked, and the command lines that come of it.

use super::*;

fn asked() -> BenchOptions {
    BenchOptions {
        dev: Some("/dev/sdX".to_owned()),
        bs: BS_DEFAULT.to_owned(),
        ramptime: RAMPTIME_DEFAULT,
        runtime: RUNTIME_DEFAULT,
        qds: QDS_DEFAULT.to_owned(),
        baseline: true,
        ncq_prio: false,
        cdl_single: false,
        cdl_multi: false,
        percentage: None,
        dld: None,
        dldsplit: None,
    }
}

/// The command line of the job that cdl.md 3.3 gives, at a queue depth of 8.
fn check_command(asked: &BenchOptions, ramp: &str, bs: &str, added: &str) {
    let order = BenchOrder::new(asked).expect("the order is right");
    let steps = order.steps();
    let step = steps.iter().find(|step| step.depth == 8).expect("QD 8 is in the list");
    let wanted = format!(
        "fio --name=rndrd_qd8 --filename=/dev/sdX --random_generator=tausworthe64 --continue_on_error=none \
         --group_reporting=1 --ioscheduler=none --write_lat_log=randread.log --per_job_logs=0 --log_prio=1 --numjobs=1 \
         --rw=randread --bs={bs} --ioengine=libaio --iodepth=8 --direct=1{ramp} --runtime=300{added}"
    );
    assert_eq!(step.fio_command(), wanted);
}

#[test]
fn every_workload_has_its_job() {
    let ramp = " --ramp_time=60";
    check_command(&asked(), ramp, "131072", "");
    check_command(&BenchOptions { ramptime: 0, bs: "128k".into(), ..asked() }, "", "128k", "");
    let none = BenchOptions { baseline: false, percentage: Some(20), dld: Some(1), ..asked() };
    let ncq = BenchOptions { ncq_prio: true, ..none.clone() };
    check_command(&ncq, ramp, "131072", " --cmdprio_percentage=20 --cmdprio_class=1");
    let single = BenchOptions { cdl_single: true, ..none.clone() };
    let added = " --cmdprio_percentage=20 --cmdprio_class=2 --cmdprio_hint=1";
    check_command(&single, ramp, "131072", added);
    let multi = BenchOptions { cdl_multi: true, dldsplit: Some("2/10,4/20".into()), ..none };
    let added = " --cmdprio_bssplit=131072/10/2/0/2:131072/20/2/0/4";
    check_command(&multi, ramp, "131072", added);
}

#[test]
fn what_is_wrong_is_said_in_the_words_of_the_script() {
    let check = |asked: BenchOptions, wanted: &str| {
        let error = BenchOrder::new(&asked).expect_err(wanted).to_string();
        assert!(error.contains(wanted), "{error}");
    };
    let cdl = BenchOptions { cdl_multi: true, ..asked() };
    let split = |text: &str| BenchOptions { dldsplit: Some(text.to_owned()), ..cdl.clone() };
    check(BenchOptions { dev: None, ..asked() }, "No device specified");
    check(BenchOptions { baseline: false, ..asked() }, "Nothing to run");
    check(BenchOptions { percentage: Some(0), ..asked() }, "Invalid percentage");
    check(BenchOptions { percentage: Some(101), ..asked() }, "Invalid percentage");
    check(BenchOptions { dld: Some(8), ..asked() }, "Invalid limit index");
    check(BenchOptions { ncq_prio: true, ..asked() }, "No percentage specified");
    check(BenchOptions { cdl_single: true, ..asked() }, "No percentage specified");
    check(
        BenchOptions { cdl_single: true, percentage: Some(1), ..asked() },
        "No CDL descriptor specified",
    );
    check(cdl.clone(), "No CDL specified");
    check(split("8/10"), "Invalid DLD index specified");
    check(split("2/0"), "Invalid DLD index percentage specified");
    check(split("2"), "is not a descriptor and its percentage");
    check(split("2/60,4/50"), "add up to 110");
    check(split("1/60,2/10,1/20"), "--dldsplit: \"1/20\": a part before it names the same");
    check(BenchOptions { bs: "1000".into(), ..asked() }, "--bs 1000");
    check(
        BenchOptions { bs: "513".into(), ..asked() },
        "--bs 513: a block size is a multiple of 512",
    );
    check(BenchOptions { bs: "128x".into(), ..asked() }, "--bs 128x");
    check(BenchOptions { qds: "1 2 2".into(), ..asked() }, "--qds \"1 2 2\"");
    check(BenchOptions { qds: " ".into(), ..asked() }, "--qds");
    check(BenchOptions { runtime: 0, ..asked() }, "--runtime 0");
}

#[test]
fn a_split_may_take_all_reads() {
    let dldsplit = Some("2/60,4/40".to_owned());
    let order = BenchOrder::new(&BenchOptions { cdl_multi: true, dldsplit, ..asked() });
    let part = |descriptor, percentage| ReadPart { descriptor, percentage };
    let split = vec![part(2, 60), part(4, 40)];
    assert_eq!(order.unwrap().workloads[1], ReadWorkload::CdlMulti { split });
}

#[test]
fn steps_go_through_the_depths_of_one_workload_after_the_other() {
    let asked = BenchOptions { qds: "32 1".into(), ncq_prio: true, percentage: Some(5), ..asked() };
    let order = BenchOrder::new(&asked).expect("the order is right");
    let steps = order.steps();
    let names: Vec<_> = steps.iter().map(|step| (step.workload.folder(), step.depth)).collect();
    assert_eq!(names, [("baseline", 32), ("baseline", 1), ("ncqprio", 32), ("ncqprio", 1)]);
}
