//! The study of duration limits and loads from job files, as people and scripts meet them.

use serde_json::Value;
use std::path::Path;
use std::process::{Command, Output};

fn loadline(folder: &Path, arguments: &[&str]) -> Output {
    let mut command = Command::new(env!("CARGO_BIN_EXE_loadline"));
    command.args(arguments).current_dir(folder).output().expect("the program starts")
}

#[test]
fn a_job_file_is_the_client_of_a_study() {
    let folder = tempfile::tempdir().unwrap();
    let job = "[reader]\nrw=randread\nbs=4k\nioengine=libaio\niodepth=4\nruntime=20\nramp_time=2\n";
    std::fs::write(folder.path().join("job.fio"), job).unwrap();
    let run = ["study", "run", "cdl-classes", "--load", "job.fio", "--out", "out", "--json"];
    let output = loadline(folder.path(), &run);
    let errors = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success(), "{errors}");
    let result: Value = serde_json::from_slice(&output.stdout).unwrap();
    let names: Vec<&str> = result["setups"]
        .as_array()
        .unwrap()
        .iter()
        .map(|setup| setup["name"].as_str().unwrap())
        .collect();
    assert_eq!(names, ["neither", "mClock", "CDL", "both"]);
    for setup in result["setups"].as_array().unwrap() {
        assert!(setup["client"]["iops"].as_f64().unwrap() > 0.0, "{setup}");
        assert!(setup["background"]["mib_per_s"].as_f64().unwrap() > 0.0, "{setup}");
    }
    let page = std::fs::read_to_string(folder.path().join("out/report.html")).unwrap();
    assert!(page.contains("4 KiB random reads, closed loop at depth 4"), "the page names the load");
    assert!(!page.contains("http://") || page.contains("http://www.w3.org"), "nothing outside");

    let again = loadline(folder.path(), &["study", "report", "out", "--json"]);
    assert!(again.status.success());
    let again: Value = serde_json::from_slice(&again.stdout).unwrap();
    assert_eq!(again["setups"], result["setups"], "the folder alone gives the same");

    let tables = loadline(folder.path(), &["study", "export", "out", "--parquet", "--json"]);
    let tables: Value = serde_json::from_slice(&tables.stdout).unwrap();
    let results = std::fs::read(folder.path().join(tables["files"][0].as_str().unwrap())).unwrap();
    assert!(results.starts_with(b"PAR1") && results.ends_with(b"PAR1"), "{tables}");
}

#[test]
fn a_job_that_cannot_be_followed_is_refused_in_one_sentence() {
    let folder = tempfile::tempdir().unwrap();
    let check = |study: &str, job: &str, says: &str| {
        std::fs::write(folder.path().join("job.fio"), job).unwrap();
        let output = loadline(folder.path(), &["study", "run", study, "--load", "job.fio"]);
        let text = String::from_utf8_lossy(&output.stderr).into_owned();
        assert_eq!(output.status.code(), Some(2), "{text}");
        assert!(text.contains(says), "`{text}` should contain `{says}`");
    };
    check(
        "cdl-classes",
        "[a]\nrw=randread\nverify=crc32c\n",
        "job.fio:3: there is no option `verify`",
    );
    check("recovery-nvme", "[a]\nrw=trim\n", "job.fio:2: `rw` cannot be `trim`");
    check("recovery-nvme", "[a]\nramp_time=3\n", "leave `ramp_time` out");
    check("checkpoint-extreme", "[a]\n", "leave --load out");
}
