#![no_main]
//! Every reader of a Ceph cluster's answers takes any bytes. Seeds: `worlds/ceph/tests/samples`.

use libfuzzer_sys::fuzz_target;

fuzz_target!(|answer: &[u8]| loadline_ceph::answers::read_anything(answer));
