//! What the kernel and sg3_utils make of the drive's claims and pages.

use crate::Boot;
use crate::limits::UPLOAD_BENCHMARK;

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

/// What is saved is uploaded again to the byte into a drive that holds something else meanwhile; what is reserved is refused with
/// 5/26/00 and changes nothing. The tools are `loadline cdl` and sg3_utils, which know nothing of limits and take pages as bytes.
#[test]
#[ignore = "boots kernels: make test-drive"]
fn pages_are_saved_and_uploaded() {
    let Some(boot) = Boot::new() else { return };
    let script = format!(
        r"{UPLOAD_BENCHMARK}
        page() {{ sg_raw --binary --request=512 /dev/sda 5a 08 0a $1 0 0 0 2 0 0 2> said | tail -c +9; }}
        upload() {{ (head -c 8 /dev/zero; cat $1) | sg_raw -s 240 /dev/sda 55 10 0 0 0 0 0 0 f0 0 > said 2>&1; }}
        for of in 7:T2A 8:T2B; do
            page ${{of%:*}} > first; loadline cdl encode first --as cdl -o saved.cdl > said
            (printf '\x4a\x0'${{of%:*}}'\x00\xe4'; head -c 228 /dev/zero) > empty; upload empty
            page ${{of%:*}} > between; cmp first between > said; echo changed $?
            loadline cdl encode saved.cdl --as t2 -o again > said; upload again
            page ${{of%:*}} > second; cmp first second; echo ${{of#*:}} $?
        done
        page 7 > first
        refuse() {{ cp first bad; printf $2 | dd of=bad bs=1 seek=$1 conv=notrunc 2> said
            upload bad; grep -c 'Invalid field in parameter list' said; }}
        echo unit $(refuse 8 '\x07'); echo guideline $(refuse 22 '\x03'); echo inactive $(refuse 14 '\xe0'); echo loss $(refuse 7 '\xd0')
        page 7 > third; cmp first third; echo same $?"
    );
    let cdl = concat!("--share=", env!("CARGO_MANIFEST_DIR"), "/../drives/cdl");
    let booted = boot.with(cdl).script(&script);
    for (name, wanted) in [
        ("changed", "1"),
        ("T2A", "0"),
        ("T2B", "0"),
        ("unit", "1"),
        ("guideline", "1"),
        ("inactive", "1"),
        ("loss", "1"),
        ("same", "0"),
    ] {
        let found = booted.finding(name);
        assert_eq!(found, wanted, "{name}: {}{}", booted.text(), booted.error());
    }
}
