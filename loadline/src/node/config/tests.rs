//! Files and flags: what they mean, and how they are refused.

use super::node_config::{ImageConfig, OsdConfig};
use super::{DISKS_FILE, NodeConfig, ServeArgs};
use clap::{CommandFactory, Parser};
use loadline_base::{Bytes, Span};
use loadline_cluster::settings::{LevelTarget, Scope, SettingsChange};
use loadline_device::Medium;
use loadline_device::cdl::{Descriptor, DescriptorPage, Limit, Limits, ModePage, Unit};
use loadline_host::{BackendChoice, Direct, Discards, DoorLimits, MemoryPlan};
use loadline_osd::OsdId;
use loadline_store::paged::{LogMode, Protection};
use std::path::Path;

const FULL: &str = r#"dir = "data"
copies = 2
pgs = 64
osds = [
    { path = "osd.0", size = "10 GiB" },
    { path = "/dev/sdz" },
]
images = [{ name = "vol0", size = "2 GiB" }]
admin = "/run/loadline.sock"
memory = "2 GiB"
cache = "256 MiB"
discards = "give-back"
socket_mode = "0660"
log_mode = "fsync"
protection = "log"
medium = "hdd"
preset = "reef"
scheduler = "mclock_scheduler"
profile = "high_client_ops"
direct = "yes"
backend = "threads"
loops = 2

[nbd]
unix = "clients.sock"
tcp = "127.0.0.1:10809"
connections = 100
connections_per_peer = 10
negotiation = "5 s"
idle = "60 s"
read_only = ["gold", "vm-*"]

[settings.global]
osd_recovery_max_single_start = 2
[settings."osd.1"]
osd_mclock_max_capacity_iops_hdd = 450.5
"#;

fn parse(text: &str) -> Result<NodeConfig, String> {
    NodeConfig::parse("etc/node.toml", Path::new("etc"), text)
}

#[derive(Parser)]
struct Typed {
    #[command(flatten)]
    args: ServeArgs,
}

fn flags(arguments: &[&str]) -> Result<NodeConfig, String> {
    let typed = Typed::try_parse_from([&["serve"], arguments].concat())
        .map_err(|error| error.to_string())?;
    NodeConfig::from_args(typed.args).map_err(|failure| format!("{failure:?}"))
}

#[test]
fn every_field_of_a_file_is_meant() {
    let config = parse(FULL).unwrap();
    let osd = |path: &str, size| OsdConfig { path: path.into(), size };
    let own = osd("etc/data/osd.0", Some(Bytes::from_mib(10 << 10)));
    assert_eq!(config.osds, [own, osd("/dev/sdz", None)]);
    let size = Bytes::from_mib(2 << 10);
    assert_eq!(config.images, [ImageConfig { name: "vol0".into(), size }]);
    assert_eq!(
        (config.dir.as_path(), config.copies, config.pgs),
        (Path::new("etc/data"), 2, Some(64))
    );
    assert_eq!(config.nbd_unix, Path::new("etc/data/clients.sock"));
    assert_eq!(config.nbd_tcp, Some("127.0.0.1:10809".parse().unwrap()));
    assert_eq!(config.admin, Path::new("/run/loadline.sock"));
    let read_only = ["gold", "vm-*"].map(|text| text.parse().unwrap());
    assert_eq!(config.nbd_access.read_only, read_only);
    let memory = MemoryPlan { memory: Bytes::from_mib(2 << 10), cache: Bytes::from_mib(256) };
    assert_eq!((config.memory, config.medium), (memory, Medium::Hdd));
    assert_eq!(config.socket_mode, 0o660);
    assert_eq!(config.discards, Discards::GiveBack);
    let (negotiation, idle) = (Span::from_secs(5), Some(Span::from_secs(60)));
    assert_eq!(
        config.doors,
        DoorLimits { connections: 100, per_peer: Some(10), negotiation, idle }
    );
    assert_eq!((config.log_mode, config.protection), (LogMode::Fsync, Protection::Log));
    assert_eq!((config.direct, config.backend), (Direct::Yes, BackendChoice::Threads));
    assert_eq!(config.loops.get(), 2);
    assert_eq!(config.preset.name, "reef");
    let (all, one) = (LevelTarget::Stored(Scope::Osds), Scope::Osd(OsdId::new(1)));
    let settings = SettingsChange::set(all, "osd_op_queue", "mclock_scheduler")
        .and_set(all, "osd_mclock_profile", "high_client_ops")
        .and_set(LevelTarget::Stored(Scope::Global), "osd_recovery_max_single_start", "2")
        .and_set(LevelTarget::Stored(one), "osd_mclock_max_capacity_iops_hdd", "450.5");
    assert_eq!(config.settings, settings);
}

/// The flags and the file that say the same are the same node.
#[test]
fn flags_and_file_make_one_configuration() {
    let by_flags = flags(&[
        "--dir=data",
        "--osds=2",
        "--size=10GiB",
        "--copies=2",
        "--pgs=64",
        "--image=vol0=2GiB",
        "--memory=2GiB",
        "--cache=256MiB",
        "--discards=give-back",
        "--socket-mode=0640",
        "--connections=9",
        "--connections-per-peer=3",
        "--negotiation=4s",
        "--idle=1min",
        "--log-mode=fsync",
        "--protection=log",
        "--medium=hdd",
        "--preset=reef",
        "--scheduler=wpq",
        "--profile=balanced",
        "--direct=no",
        "--backend=io_uring",
        "--loops=4",
        "--nbd-tcp=[::]:10809",
        "--nbd-insecure",
        "--read-only=gold",
        "--read-only=vm-*",
        "--set=osd_max_backfills=4",
    ]);
    let by_file = NodeConfig::parse(
        "node.toml",
        Path::new(""),
        r#"dir = "data"
        osds = [{ path = "osd.0", size = "10 GiB" }, { path = "osd.1", size = "10 GiB" }]
        copies = 2
        pgs = 64
        images = [{ name = "vol0", size = "2 GiB" }]
        memory = "2 GiB"
        cache = "256 MiB"
        discards = "give-back"
        socket_mode = "0640"
        log_mode = "fsync"
        protection = "log"
        medium = "hdd"
        preset = "reef"
        scheduler = "wpq"
        profile = "balanced"
        direct = "no"
        backend = "io_uring"
        loops = 4
        nbd = { tcp = "[::]:10809", insecure = true, read_only = ["gold", "vm-*"], connections = 9, connections_per_peer = 3, negotiation = "4 s", idle = "1 min" }
        settings = { osd = { osd_max_backfills = 4 } }"#,
    );
    assert_eq!(format!("{:?}", by_flags.unwrap()), format!("{:?}", by_file.unwrap()));
}

#[test]
fn bounds_of_connections_let_something_in() {
    let check = |flag: &str, says: &str| {
        let refused = flags(&["--dir=nowhere", "--osds=1", flag]).unwrap_err();
        assert!(refused.contains(says), "{refused}");
    };
    check("--connections=0", "--connections: takes a number of at least 1");
    check("--connections-per-peer=0", "--connections-per-peer: takes a number of at least 1");
    check("--negotiation=10ms", "--negotiation: takes a time of at least 1 s");
    check("--idle=999ms", "--idle: takes a time of at least 1 s");
    for mode in ["0060", "1777", "rw", "+600", "0o600", ""] {
        check(&format!("--socket-mode={mode}"), "expected rights in octal digits");
    }
}

/// One of them won without a word, or the other was blamed.
#[test]
fn a_scheduler_and_a_profile_are_said_in_one_way() {
    let check = |typed: [&str; 2], says: &str| {
        let refused = flags(&[&["--dir=nowhere", "--osds=1"][..], &typed].concat()).unwrap_err();
        assert!(refused.contains(says), "{refused}");
    };
    check(
        ["--scheduler=mclock", "--set=osd_op_queue=wpq"],
        "--scheduler: `mclock` contradicts `osd_op_queue = wpq`",
    );
    check(
        ["--profile=balanced", "--set=osd_mclock_profile=custom"],
        "--profile: `balanced` contradicts `osd_mclock_profile = custom`",
    );
    let both = ["--dir=nowhere", "--osds=1", "--scheduler=wpq", "--set=osd_op_queue=wpq"];
    assert!(flags(&both).is_ok(), "they say the same");
    let text = "osds = [{ path = \"osd.0\" }]\nscheduler = \"fifo\"\n[settings.osd]\nosd_op_queue = \"wpq\"";
    let refused = NodeConfig::parse("node.toml", Path::new(""), text).unwrap_err();
    assert!(refused.starts_with("node.toml:2: scheduler: `fifo` contradicts"), "{refused}");
}

#[test]
fn a_folder_is_no_image() {
    for name in [".", "..", "a/b", "a@b", ""] {
        let refused = flags(&["--dir=nowhere", "--osds=1", &format!("--image={name}=1MiB")]);
        let says = format!("--image: `{name}` is not a name: it takes 1 to 64 characters");
        assert!(refused.clone().unwrap_err().contains(&says), "{refused:?}");
    }
}

#[test]
fn a_folder_with_osds_needs_no_more_flags() {
    let folder = tempfile::tempdir().unwrap();
    let dir = format!("--dir={}", folder.path().display());
    let none = flags(&[&dir]).unwrap_err();
    let says = " has no OSD yet, and none is named: a node takes 1 to 64";
    assert!(none.contains("--osds: ") && none.contains(says), "{none}");
    let none = flags(&[&dir, "--osds=0"]).unwrap_err();
    assert!(none.contains("--osds: 0 OSDs make no node; it takes 1 to 64"), "{none}");
    // It was looked for half a minute and more where all of them would lie.
    let many = flags(&[&dir, "--osds=999999999"]).unwrap_err();
    assert!(many.contains("--osds: 999999999 OSDs make no node; it takes 1 to 64"), "{many}");
    for name in ["osd.0", "osd.1", "osd.3"] {
        std::fs::write(folder.path().join(name), "").unwrap();
    }
    let config = flags(&[&dir]).unwrap();
    let sizes: Vec<Option<Bytes>> = config.osds.iter().map(|osd| osd.size).collect();
    assert_eq!((sizes, config.copies), (vec![None; 4], 3), "osd.2 is missing, and is not made");
    let config = flags(&[&dir, "--osds=3"]).unwrap();
    assert_eq!((config.osds[2].size, config.copies), (Some(Bytes::from_mib(10 << 10)), 3));
}

/// "--osds: 0 OSDs make no node" was said of a folder that nobody may enter. A file in its place cannot be entered by root either.
#[test]
fn a_folder_that_cannot_be_entered_is_named() {
    let file = tempfile::NamedTempFile::new().unwrap();
    let dir = file.path().display();
    for more in [&[][..], &["--osds=3"]] {
        let refused = flags(&[&[&*format!("--dir={dir}")], more].concat()).unwrap_err();
        let says = format!("{dir}: cannot be entered: ");
        assert!(refused.starts_with("Input") && refused.contains(&says), "{refused}");
    }
}

#[test]
fn a_bad_file_is_refused_with_its_place() {
    let check = |from: &str, to: &str, says: &str| {
        assert!(FULL.contains(from), "{from}");
        let error = parse(&FULL.replace(from, to)).expect_err(to);
        assert!(error.starts_with(&format!("etc/node.toml:{says}")), "{error}");
    };
    check("copies = 2", "copys = 2", "2: unknown field `copys`");
    check(
        "copies = 2",
        "copies = 3",
        "2: copies: 3 copies have no place on 2 OSDs; it takes 1 to 2",
    );
    check("copies = 2", "copies = 0", "2: copies: 0 copies have no place");
    // Types of the program were named, and no field.
    let count = "it takes a whole number from 0 to 4294967295, and not";
    check("copies = 2", "copies = \"two\"", &format!("2: copies: {count} the text \"two\""));
    check("pgs = 64", "pgs = 99999999999", &format!("3: pgs: {count} `99999999999`"));
    check("{ path = \"/dev/sdz\" }", "5", "6: it takes a table, and not `5`");
    check("\"/dev/sdz\"", "5", "6: path: it takes a path, and not `5`");
    check("[\"gold\", \"vm-*\"]", "\"gold\"", "31: read_only: it takes a list, and not the text");
    check("127.0.0.1:", "localhost:", "26: tcp: it takes an address in digits with a port");
    // It came without its line, and named `memory` where `cache` was typed.
    check("\"2 GiB\"\ncache", "\"200 MiB\"\ncache", "10: memory: 200 MiB of memory are too little");
    check("memory = \"2 GiB\"\ncache = \"256 MiB\"", "cache = \"900 GiB\"", "10: cache: ");
    check(
        "memory = \"2 GiB\"",
        "memory = \"900 TiB\"",
        "10: memory: 900 TiB are asked for, and this machine has ",
    );
    check("pgs = 64", "pgs = 0", "3: pgs: takes a number from 1 to 512, 256 for each OSD");
    check("10 GiB", "10 GB5", "5: size: `10 GB5` is not understood: expected a size");
    check("\"/dev/sdz\"", "\"osd.0\"", "6: osds: osd.0 stands there twice");
    check("path = \"/dev/sdz\"", "size = \"1 GiB\"", "6: missing field `path`");
    check("vol0", "vol0@x", "8: images: `vol0@x` is not a name");
    check(
        "size = \"2 GiB\" }]",
        "size = \"0\" }]",
        "8: images: `vol0` takes a size of at least one byte",
    );
    check(
        "\"fsync\"",
        "\"fsnyc\"",
        "14: log_mode: `fsnyc` is not understood: expected one of `fsync`",
    );
    check(
        "\"reef\"",
        "\"reif\"",
        "17: preset: `reif` is not understood: there is no preset `reif`",
    );
    check("mclock_scheduler", "mclok", "18: scheduler: osd_op_queue cannot be `mclok`");
    check("high_client_ops", "high", "19: profile: osd_mclock_profile cannot be `high`");
    check(
        "127.0.0.1",
        "0.0.0.0",
        "26: tcp: 0.0.0.0:10809 can be reached from outside, where nothing asks who comes: let TLS",
    );
    check(
        "\"vm-*\"",
        "\"vm@1\"",
        "31: read_only: `vm@1` is not understood: expected an image's name",
    );
    check(
        "tcp = \"127.0.0.1:10809\"",
        "insecure = true",
        "26: insecure: it is for `tcp` (--nbd-tcp)",
    );
    let tls = |typed: &str, says: &str| check("idle = \"60 s\"", typed, says);
    tls("tls.key = \"k\"", " certificate: TLS takes a certificate");
    tls("tls.certificate = \"c\"", " key: TLS takes the key of its certificate");
    tls("tls = { key = \"k\", cert = \"c\" }", "30: tls: unknown field `cert`");
    tls("clients.vm7.read = [\"*\"]", "30: clients: nobody is asked whether it is `vm7`");
    check("[settings.global]", "[settings.every]", "33: settings: there is no section `every`");
    check(
        "osd_recovery_max_single_start = 2",
        "osd_x = 2",
        "34: settings: there is no option osd_x",
    );
    check("\"osd.1\"", "\"osd.7\"", "35: settings: there is no osd.7");
    check("450.5", "\"fast\"", "36: settings: osd_mclock_max_capacity_iops_hdd cannot be `fast`");
}

/// What `cdladm save` writes for a drive with guidelines of 50 and 100 ms for reads.
fn limits_file() -> String {
    let mut limits = Limits::default();
    for (descriptor, time) in limits.descriptors.iter_mut().zip([5, 10]) {
        let guideline = Limit { time, ..Limit::default() };
        *descriptor =
            Descriptor { unit: Unit::TenMilliseconds, guideline, ..Descriptor::default() };
    }
    DescriptorPage::new(ModePage::T2A, limits).unwrap().file()
}

#[test]
fn classes_are_short_for_options_and_limits_are_judged_by_the_drives() {
    let folder = tempfile::tempdir().unwrap();
    std::fs::write(folder.path().join("t2a.cdl"), limits_file()).unwrap();
    let parse = |class: &str| {
        let text =
            format!("osds = [{{ path = \"osd.0\" }}]\nlimits = {{ reads = \"t2a.cdl\" }}\n{class}");
        NodeConfig::parse("node.toml", folder.path(), &text)
    };
    let config = parse("[class.client]\npriority = \"rt\"\nlevel = 2\nlimit = \"70 ms\"").unwrap();
    let all = LevelTarget::Stored(Scope::Osds);
    let settings = SettingsChange::set(all, "osd_device_client_prioclass", "rt")
        .and_set(all, "osd_device_client_prio", "2")
        .and_set(all, "osd_device_client_limit", "70 ms");
    assert_eq!(config.settings, settings);
    assert_eq!(loadline_osd::guidelines(&config.drive_limits.reads).count(), 2);

    let check = |class: &str, says: &str| {
        let error = parse(class).expect_err(says);
        assert!(error.starts_with(says), "{error}");
    };
    check(
        "[class.client]\nlimit = \"20 ms\"",
        "node.toml:3: limit: the drive of osd.0 holds no duration limit within 20 ms",
    );
    check(
        "[class.client]\npriority = \"high\"",
        "node.toml:3: priority: osd_device_client_prioclass cannot be `high`: it takes one of none, rt, be, idle",
    );
    // It had no effect, without a word.
    check("[class.client]\nlevel = 3", "node.toml:3: level: a level is one of a `priority`");
    let none = "[class.client]\npriority = \"none\"\nlevel = 3";
    check(none, "node.toml:3: level: a level is one of a `priority`");
    let apart = "[class.client]\nlevel = 3\n[settings.osd]\nosd_device_client_prioclass = \"be\"";
    assert!(parse(apart).is_ok(), "the option says the same");
    check("[class.clients]", "node.toml:3: class: there is no class `clients`");
    check("[class.client]\nlimits = 3", "node.toml:4: unknown field `limits`");
    let error = NodeConfig::parse(
        "node.toml",
        folder.path(),
        "osds = [{ path = \"osd.0\" }]\n[class.client]\nlimit = \"70 ms\"",
    );
    let says = "node.toml:2: limit: the drive of osd.0 is not known to hold duration limits";
    assert!(error.unwrap_err().starts_with(says));
    let text = "osds = [{ path = \"osd.0\" }]\nlimits = { writes = \"t2a.cdl\" }";
    let error = NodeConfig::parse("node.toml", folder.path(), text).expect_err("it is of reads");
    assert!(error.contains("it is a page of the other kind of command"), "{error}");
}

/// A flag beside a file would have to be read as a change of it, or be ignored.
#[test]
fn a_file_is_everything() {
    let command = Typed::command();
    let config = command.get_arguments().find(|flag| flag.get_id() == "config").unwrap();
    let others = command.get_arguments().count() - 1;
    assert_eq!(command.get_arg_conflicts_with(config).len(), others);
}

/// Of two disks one was left out of the file, and the number of copies was blamed.
#[test]
fn disks_that_a_node_has_had_are_missed_before_their_copies() {
    let folder = tempfile::tempdir().unwrap();
    let dir = folder.path().display();
    let one = format!("dir = \"{dir}\"\ncopies = 2\nosds = [{{ path = \"osd.0\" }}]\n");
    let refused = || parse(&one).expect_err("one disk for two copies");
    assert!(refused().ends_with("copies: 2 copies have no place on 1 OSD; it takes 1"));
    std::fs::write(folder.path().join(DISKS_FILE), format!("[\"{dir}/osd.0\",\"/dev/sdz\"]\n"))
        .unwrap();
    let says = "osds: 1 is named, and the node had 2 when it ran last: osd.1 was on /dev/sdz; name every OSD's disk, also of one that is lost";
    assert!(refused().ends_with(says), "{}", refused());
    let refused = flags(&[&format!("--dir={dir}"), "--osds=1", "--copies=2"]).unwrap_err();
    assert!(refused.contains(&format!("--{says}")), "{refused}");
    assert!(flags(&[&format!("--dir={dir}"), "--osds=1"]).is_ok(), "the disks know better");
}

#[test]
fn bad_flags_are_refused_by_name() {
    let check = |arguments: &[&str], says: &str| {
        let error = flags(&[&["--dir=nowhere", "--osds=2"], arguments].concat()).expect_err(says);
        assert!(error.contains(says), "{error}");
    };
    check(&["--copies=3"], "--copies: 3 copies have no place on 2 OSDs");
    check(&["--image=vol0"], "expected an image such as `vol0=2GiB`");
    check(&["--image=vol0=1GiB", "--image=vol0=2GiB"], "--image: `vol0` stands there twice");
    check(&["--nbd-tcp=0.0.0.0:10809"], "--nbd-tcp: 0.0.0.0:10809 can be reached from outside");
    check(&["--log-mode=sync"], "expected one of `fsync`, `log-only`, `background`, `none`");
    check(
        &["--set=osd_max_backfils=1"],
        "--set: there is no option osd_max_backfils; did you mean `osd_max_backfills`?",
    );
    check(&["--config=node.toml"], "cannot be used with");
}

#[cfg(feature = "tls")]
#[test]
fn files_of_certificates_are_read_before_anything_is_opened() {
    let check = |flags_of: &[&str], says: &str| {
        let refused = flags(&[&["--dir=nowhere", "--osds=1"], flags_of].concat()).unwrap_err();
        assert!(refused.contains(says), "{refused}");
    };
    let tls = ["--tls-certificate=nowhere.pem", "--tls-key=nowhere.pem"];
    check(&tls, "--tls-certificate: nowhere.pem: cannot be read: ");
    check(&tls[..1], "--tls-key: TLS takes the key of its certificate");
    check(&["--tls-client-ca=ca.pem"], "--tls-certificate: TLS takes a certificate");
}
