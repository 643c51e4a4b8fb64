//! Studies with several images, from inputs to results: what each image gets, and whether it is what was promised.

use loadline_study::{
    ClientKind, HostPlace, Inputs, Library, Order, Override, Place, RealDisks, RunFacts, RunFolder,
    Session, SetupResult, Study, StudyResult,
};
use std::fs;
use std::path::Path;
use std::sync::atomic::AtomicBool;

fn inputs(set: &[&str]) -> Inputs {
    let overrides = set.iter().map(|text| text.parse::<Override>().unwrap()).collect();
    Library::built_in().inputs("noisy-neighbour", overrides).unwrap()
}

fn run(folder: &Path, inputs: Inputs, setups: &str) -> StudyResult {
    // Real disks carry one run at a time.
    let jobs = if inputs.place == Place::Sim { 2 } else { 1 };
    let order = Order {
        inputs,
        setups: setups.to_owned(),
        seed: 1,
        repeats: 1,
        trace: None,
        engine: "test".to_owned(),
    };
    let mut session = Session::open(RunFolder::at(folder), order, RunFacts::default()).unwrap();
    session.run(jobs, &AtomicBool::new(false), |_| {}).unwrap();
    session.conclude().unwrap()
}

fn p99_beyond_alone_ms(setup: &SetupResult) -> f64 {
    setup.figure("p99_beyond_alone_ms").expect("one setup has the clients alone")
}

/// The noisy image takes what nobody is promised, and no more. A recovery beside both takes nothing of that.
#[test]
fn what_is_promised_is_kept_beside_a_noisy_image_and_a_recovery() {
    let folder = tempfile::tempdir().unwrap();
    let result = run(folder.path(), inputs(&["scale=0.05", "baseline=100 s"]), "default");
    let of = |name: &str| result.setup(name).unwrap();
    assert_eq!(of("alone").images.len(), 0, "there is nobody beside it");
    assert_eq!(of("nothing said").is_kept(), None);
    let reef = p99_beyond_alone_ms(of("nothing said (reef)"));
    assert!(reef > 4.0, "one line for all clients of a class: {reef} ms more than alone");
    let promised = of("promised");
    let [own, noisy] = promised.images.as_slice() else { panic!("two images are told of") };
    assert_eq!((own.image.as_str(), noisy.image.as_str()), ("clients", "noisy"));
    assert_eq!(promised.is_kept(), Some(true), "{own:?}");
    let kept = own.promise.as_ref().expect("it has a promise");
    assert_eq!((kept.owed_iops, kept.seconds), (1_000.0, 5), "it asks for half of it");
    assert!(p99_beyond_alone_ms(promised) <= 2.0, "{}", p99_beyond_alone_ms(promised));
    assert!(noisy.iops > 18_000.0, "{noisy:?}");
    let limited = of("neighbour limited");
    let noisy = limited.images[1].iops;
    assert!((4_900.0..5_100.0).contains(&noisy), "{noisy}");
    let recovering = of("promised, and a recovery");
    assert_eq!(recovering.is_kept(), Some(true), "{:?}", recovering.images);
    assert!(recovering.figure("recovery/objects_per_s").is_some_and(|rate| rate > 10.0));
    let alone = recovering.promise.as_ref().map(|promise| promise.alone_iops);
    let same = promised.figure("client/iops").zip(promised.figure("neighbours/iops"));
    let same = same.map(|(own, noisy)| own + noisy);
    assert_eq!(alone, same, "the same promise, without the recovery");
    let records = fs::read_to_string(folder.path().join("runs.jsonl")).unwrap();
    assert!(records.contains("\"image\":\"noisy\""), "the raw seconds of each image are kept");
}

/// The same on real files, tiny: no speed is asserted.
#[test]
fn images_are_made_and_told_apart_on_real_files() {
    let (disks, out) = (tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap());
    let mut inputs = inputs(&[
        "scale=1",
        "objects=8",
        "object_size=256 KiB",
        "image=2 MiB",
        "baseline=1 s",
        "rate=50",
        "osd_mclock_max_capacity_iops_ssd=20000",
    ]);
    inputs.study.text = inputs.study.text.replace(
        "load = { depth = 256, block = \"4 KiB\", image = \"1 GiB\" }",
        "load = { depth = 8, block = \"4 KiB\", image = \"2 MiB\" }",
    );
    let files = RealDisks::Files(disks.path().to_owned());
    let place =
        HostPlace { disks: files, client: ClientKind::Own, keep_files: false, overwrite: false };
    inputs.place = Place::Host(place);
    let result = run(out.path(), inputs, "alone,neighbour limited,promised");
    let images = &result.setup("promised").unwrap().images;
    assert!(images.iter().all(|image| image.iops > 0.0), "{images:?}");
    assert!(images[0].promise.is_some() && images[1].promise.is_none());
    let limited = &result.setup("neighbour limited").unwrap().images[1];
    assert!(limited.limit_iops == 5_000.0 && limited.iops <= 6_500.0, "{limited:?}");
}

#[test]
fn what_names_no_image_is_refused_with_what_would() {
    let check = |from: &str, to: &str, says: &str| {
        let mut inputs = inputs(&[]);
        assert!(inputs.study.text.contains(from), "{from}");
        inputs.study.text = inputs.study.text.replacen(from, to, 1);
        let refused = Study::new(&inputs).expect_err("it cannot be used").to_string();
        assert!(refused.contains(says), "{refused}");
    };
    check("neighbours = [\"noisy\"]", "neighbours = [\"noise\"]", "did you mean `noisy`");
    check("images = { clients =", "images = { client =", "did you mean `clients`");
    check("name = \"noisy\"", "name = \"clients\"", "another image is called `clients`");
    let wanted = "under preset `loadline` with scheduler `mclock` alone";
    check(
        "preset = \"loadline\"\nprofile = \"balanced\"\nrecovery = false\nneighbours = [\"noisy\"]\nimages",
        "preset = \"reef\"\nprofile = \"balanced\"\nrecovery = false\nneighbours = [\"noisy\"]\nimages",
        wanted,
    );
    check("{ limit = 5000 }", "{ limit = 5000, reservation = 6000 }", "below the reservation");
    let much = "its images are promised 99999999 IOPS together, and the disks keep ";
    check("{ reservation = 2000 }", "{ reservation = 99999999 }", much);
    check("{ limit = 5000 }", "{ limits = 5000 }", "unknown field");
}
