#![no_main]
//! Every reader of a Ceph cluster's answers, and that of descriptions, takes any bytes. Its seeds are the recorded ones, `worlds/ceph/tests/samples`.

use libfuzzer_sys::fuzz_target;

fuzz_target!(|answer: &[u8]| {
    loadline_ceph::answers::read_anything(answer);
    if let Ok(text) = std::str::from_utf8(answer) {
        drop(loadline_ceph::DescribedCluster::parse(text));
    }
});
