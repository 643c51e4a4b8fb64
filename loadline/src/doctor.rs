//! `loadline doctor`: what this machine has and lacks.

use crate::common_args::JsonArg;
use crate::failure::Failure;
use crate::show;
use loadline_host::why;
use loadline_study::Host;
use serde::Serialize;
use serde_json::json;
use std::io::IsTerminal;
use std::path::Path;

/// One thing looked at.
#[derive(Debug, Serialize)]
struct DoctorFinding {
    what: &'static str,
    found: String,
    good: bool,
    /// Whether nothing runs without it.
    needed: bool,
    /// What to do, where something is missing.
    #[serde(skip_serializing_if = "Option::is_none")]
    advice: Option<&'static str>,
}

pub(crate) fn carry_out(args: &JsonArg) -> Result<(), Failure> {
    let findings = examine();
    let lacks = findings.iter().any(|finding| finding.needed && !finding.good);
    if args.json {
        let good = findings.iter().all(|finding| finding.good);
        show::json(&json!({ "good": good, "findings": findings }))?;
    } else {
        show::text(&in_words(&findings))?;
    }
    if lacks { Err(Failure::Said) } else { Ok(()) }
}

fn in_words(findings: &[DoctorFinding]) -> String {
    let rows: Vec<[String; 4]> = findings
        .iter()
        .map(|finding| {
            let mark = match (finding.good, finding.needed) {
                (true, _) => "good",
                (false, true) => "lacks",
                (false, false) => "could be better",
            };
            let advice = finding.advice.unwrap_or_default().to_owned();
            [finding.what.to_owned(), mark.to_owned(), finding.found.clone(), advice]
        })
        .collect();
    show::table(["", "", "found", "advice"], &[1, 2, 3], &rows)
}

fn examine() -> Vec<DoctorFinding> {
    let host = Host::here();
    let memory_gib = host.memory_bytes as f64 / f64::from(1u32 << 30);
    vec![
        finding(
            "cores",
            format!("{} ({})", host.cores, host.cpu),
            host.cores >= 2,
            "studies run one setup per core; with one core the full NVMe study takes minutes",
        ),
        need(
            "memory",
            format!("{memory_gib:.1} GiB"),
            memory_gib >= 2.0,
            "the full NVMe study takes up to 2 GiB; use --jobs 1 or --quick",
        ),
        finding(
            "kernel",
            host.kernel,
            cfg!(target_os = "linux"),
            "studies in the simulated world run anywhere; real disks need Linux",
        ),
        io_uring(),
        tool(
            "fio",
            "install fio (apt-get install fio) to measure a real disk's baseline beside a study",
        ),
        tool("chromium", "any browser opens report.html; chromium prints it without a screen"),
        finding(
            "terminal",
            if std::io::stderr().is_terminal() {
                "yes"
            } else {
                "no: plain lines instead of a bar"
            }
            .to_owned(),
            true,
            "",
        ),
        writable(),
    ]
}

/// Something without which all of it works, if less well.
fn finding(what: &'static str, found: String, good: bool, advice: &'static str) -> DoctorFinding {
    DoctorFinding { what, found, good, needed: false, advice: (!good).then_some(advice) }
}

/// Something without which a study cannot run.
fn need(what: &'static str, found: String, good: bool, advice: &'static str) -> DoctorFinding {
    DoctorFinding { needed: true, ..finding(what, found, good, advice) }
}

fn io_uring() -> DoctorFinding {
    let switch = std::fs::read_to_string("/proc/sys/kernel/io_uring_disabled");
    let (found, good) = match switch.as_deref().map(str::trim) {
        Ok("0") => ("enabled", true),
        Ok("1") => ("for privileged users only", false),
        Ok(_) => ("disabled", false),
        Err(_) => ("no switch: a kernel before 6.6, or none of Linux", true),
    };
    finding(
        "io_uring",
        found.to_owned(),
        good,
        "studies in the simulated world do not need it; real disks do: set \
         kernel.io_uring_disabled to 0",
    )
}

fn tool(name: &'static str, advice: &'static str) -> DoctorFinding {
    let path = std::env::var_os("PATH").unwrap_or_default();
    let found =
        std::env::split_paths(&path).map(|folder| folder.join(name)).find(|at| at.is_file());
    let text = found.as_ref().map_or("not found".to_owned(), |at| at.display().to_string());
    finding(name, text, found.is_some(), advice)
}

/// Runs go below the current folder unless --out says otherwise.
fn writable() -> DoctorFinding {
    let probe = Path::new(".loadline-doctor");
    let written = std::fs::write(probe, b"probe").and_then(|()| std::fs::remove_file(probe));
    let here =
        std::env::current_dir().map_or_else(|_| ".".to_owned(), |at| at.display().to_string());
    let found = match &written {
        Ok(()) => format!("{here} can be written"),
        Err(error) => format!("{here}: {}", why(error)),
    };
    need("folder", found, written.is_ok(), "give `study run` a folder that can be written: --out")
}
