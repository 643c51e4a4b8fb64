//! What the kernel, sg3_utils and cdladm make of the drive's claims and pages.

use crate::Boot;
use crate::limits::UPLOAD_BENCHMARK;
use std::path::PathBuf;

const CDL: &str = concat!("--share=", env!("CARGO_MANIFEST_DIR"), "/../drives/cdl");

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
    let booted = boot.with(CDL).script(&script);
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

/// `cdladm` of cdl-tools, where this machine has one (docs/virtual-drive.md); no package brings it.
fn cdladm() -> Option<PathBuf> {
    let path = std::env::var_os("PATH").unwrap_or_default();
    let found = std::env::split_paths(&path)
        .map(|folder| folder.join("cdladm"))
        .find(|file| file.is_file());
    if found.is_none() {
        eprintln!("skipped: there is no cdladm (docs/virtual-drive.md)");
    }
    found
}

/// The vendor's own tool, which copies what MODE SENSE says into its MODE SELECT: what it saves and uploads is the same, to what
/// `loadline cdl` reads as well; a unit that there is not is refused by the drive, a policy by the tool itself. After either all is as it was.
#[test]
#[ignore = "boots kernels: make test-drive"]
fn cdladm_saves_uploads_and_is_refused() {
    let (Some(cdladm), Some(boot)) = (cdladm(), Boot::new()) else { return };
    let script = r#"adm() { /share/cdladm "$@" /dev/sda; }
        adm info > info; echo info $?; echo sas $(grep -c 'Device interface: SAS' info)
        echo pages $(adm list | grep -E -c 'T2A .READ_16|T2B .WRITE_16')
        for page in T2A T2B; do
            adm upload --file /share/cdl/$page.cdl > said 2>&1; adm save --page $page --file first.cdl > said
            for file in first.cdl /share/cdl/$page.cdl; do loadline cdl encode $file --as t2 -o $(basename $file).t2 > said; done
            cmp first.cdl.t2 $page.cdl.t2 > said; echo held-$page $?
            adm clear --page $page > said; adm save --page $page --file cleared.cdl > said
            cmp first.cdl cleared.cdl > said; echo cleared-$page $?
            adm upload --permanent --file first.cdl > said 2>&1; adm save --page $page --file second.cdl > said
            cmp first.cdl second.cdl; echo same-$page $?
            sed '0,/^t2cdlunits: 0xa/s//t2cdlunits: 0x7/' first.cdl > bad.cdl; adm upload --verbose --file bad.cdl > said 2>&1
            echo unit-$page $? $(grep -o 'key 0x05, asc/ascq 0x2600' said)
            sed '0,/guideline-policy: 0x0/s//guideline-policy: 0x3/' first.cdl > bad.cdl; adm upload --file bad.cdl > said 2>&1
            echo policy-$page $? $(grep -o 'invalid .* policy' said)
            adm save --page $page --file third.cdl > said; cmp first.cdl third.cdl; echo kept-$page $?
        done
        adm enable > said 2>&1; echo enabled $(cat /sys/block/sda/device/cdl_enable)
        adm disable > said 2>&1; echo disabled $(cat /sys/block/sda/device/cdl_enable)"#;
    let tool = format!("--share={}", cdladm.display());
    let booted = boot.with(CDL).with(&tool).script(script);
    let check = |name: &str, wanted: &str| {
        let found = booted.finding(name);
        assert_eq!(found, wanted, "{name}: {}{}", booted.text(), booted.error());
    };
    for (name, wanted) in
        [("info", "0"), ("sas", "1"), ("pages", "2"), ("enabled", "1"), ("disabled", "0")]
    {
        check(name, wanted);
    }
    for page in ["T2A", "T2B"] {
        for (name, wanted) in [
            ("held", "0"),
            ("cleared", "1"),
            ("same", "0"),
            ("unit", "1 key 0x05, asc/ascq 0x2600"),
            ("policy", "1 invalid command duration guideline policy"),
            ("kept", "0"),
        ] {
            check(&format!("{name}-{page}"), wanted);
        }
    }
}

/// To cdladm a drive has limits by its command pages alone, whatever its version; Linux wants both.
#[test]
#[ignore = "boots kernels: make test-drive"]
fn cdladm_asks_for_command_pages_only() {
    let Some(cdladm) = cdladm() else { return };
    let tool = format!("--share={}", cdladm.display());
    for (claims, wanted) in [
        ("limits", "0 supported"),
        ("old-version", "0 supported"),
        ("no-command-page", "1 not supported"),
        ("own-way", "1 not supported"),
        ("none", "1 not supported"),
    ] {
        let Some(boot) = Boot::new() else { return };
        let script = "/share/cdladm info /dev/sda > info; echo found $? $(grep -m1 'duration limits:' info | sed 's/.*: //; s/,.*//')";
        let booted = boot.with(&format!("--claims={claims}")).with(&tool).script(script);
        assert_eq!(booted.finding("found"), wanted, "{claims}");
    }
}
