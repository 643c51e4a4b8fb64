//! What the kernel and sg3_utils make of the drive's claims and pages.

use crate::Boot;

/// Linux takes a drive for one with duration limits by its version and by CDLP with SUPPORT 3.
#[test]
#[ignore = "boots kernels: make test-drive"]
fn the_kernel_believes_what_it_should() {
    for (claims, supported) in [
        ("limits", "1"),
        ("old-version", "0"),
        ("no-command-page", "0"),
        ("own-way", "0"),
        ("none", "0"),
    ] {
        let Some(boot) = Boot::new() else { return };
        let script = "cd /sys/block/sda/device; echo supported $(cat cdl_supported)
            echo 1 2>/dev/null > cdl_enable; echo enabled $(cat cdl_enable); echo depth $(cat queue_depth)";
        let booted = boot.with(&format!("--claims={claims}")).script(script).succeeded();
        assert_eq!(booted.finding("supported"), supported, "{claims}");
        assert_eq!(booted.finding("enabled"), supported, "{claims}");
        assert_eq!(booted.finding("depth"), "32");
    }
}

/// What is uploaded is what is read; what is reserved is refused with 5/26/00 and changes nothing. The tools are sg3_utils,
/// which know nothing of limits, and take pages as bytes.
#[test]
#[ignore = "boots kernels: make test-drive"]
fn pages_are_uploaded_and_kept() {
    let Some(boot) = Boot::new() else { return };
    let script = r"
        page() { sg_modes -r -p 0xa,7 /dev/sg0 | od -An -v -tx1 -j$1 | tr -d '\n'; }
        loadline cdl encode /share/cdl/T2A.cdl --as t2 -o t2a > /dev/null
        sg_wr_mode -p 0xa,7 -c $(od -An -v -tx1 t2a | tr -d '\n' | sed 's/^ //;s/ /,/g') /dev/sg0
        echo uploaded $?
        echo wanted $(od -An -v -tx1 -j1 t2a | tr -d '\n')
        echo found $(sg_raw -r 512 /dev/sg0 5a 08 0a 07 00 00 00 02 00 00 -o raw > /dev/null 2>&1; od -An -v -tx1 -j9 raw | tr -d '\n')
        printf '\x77' | dd of=t2a bs=1 seek=8 conv=notrunc 2> /dev/null
        (head -c 8 /dev/zero; cat t2a) > bad
        sg_raw -s 240 -i bad /dev/sg0 55 10 00 00 00 00 00 00 f0 00 > refusal 2>&1
        echo refusal $(grep -c 'Invalid field in parameter list' refusal)
        sg_raw -r 512 /dev/sg0 5a 08 0a 07 00 00 00 02 00 00 -o again > /dev/null 2>&1
        cmp raw again; echo same $?
        loadline cdl show <(tail -c +9 raw) | head -3
        sg_opcodes -o 0x88 /dev/sg0 | grep -i -c limit";
    let cdl = concat!(env!("CARGO_MANIFEST_DIR"), "/../drives/cdl");
    let booted = boot.with(&format!("--share={cdl}")).script(script);
    assert_eq!(booted.finding("uploaded"), "0", "{}", booted.text());
    assert_eq!(booted.finding("found"), booted.finding("wanted"));
    assert_eq!(booted.finding("refusal"), "1");
    assert_eq!(booted.finding("same"), "0");
}
