//! How much memory there is for programs: the machine's, or what the control groups around this process leave of it.

use loadline_base::Bytes;
use std::fs;
use std::path::Path;

/// Memory for this process, as the kernel tells it; a container has less than its machine.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct ProgramMemory {
    /// All that it could ever have; `None` where nobody tells.
    pub total: Option<Bytes>,
    /// What may still be taken without others being pushed out; `None` where nobody tells.
    pub available: Option<Bytes>,
}

impl ProgramMemory {
    /// Memory for this process now.
    pub fn here() -> ProgramMemory {
        ProgramMemory::under(Path::new("/"))
    }

    /// The same of a machine whose `proc` and `sys` lie in a folder.
    fn under(root: &Path) -> ProgramMemory {
        let meminfo = read(&root.join("proc/meminfo"));
        let line = |name: &str| {
            let rest = meminfo.lines().find_map(|line| line.strip_prefix(name))?;
            let kib = rest.trim().strip_suffix(" kB")?.parse().ok()?;
            Some(Bytes::from_kib(kib))
        };
        let machine = ProgramMemory { total: line("MemTotal:"), available: line("MemAvailable:") };
        let groups = root.join("sys/fs/cgroup");
        let own = read(&root.join("proc/self/cgroup"));
        let own = own.lines().find_map(|line| line.strip_prefix("0::/")).unwrap_or("");
        // A limit holds for every group below it.
        let path = groups.join(own);
        let around = path.ancestors().take_while(|path| path.starts_with(&groups));
        around.map(of_group).fold(machine, ProgramMemory::within)
    }

    /// What is left of it where both limits hold.
    fn within(self, other: ProgramMemory) -> ProgramMemory {
        let least = |a: Option<Bytes>, b: Option<Bytes>| a.into_iter().chain(b).min();
        ProgramMemory {
            total: least(self.total, other.total),
            available: least(self.available, other.available),
        }
    }
}

/// What a control group of version 2 lets its processes have; nothing is told of one without a limit.
fn of_group(folder: &Path) -> ProgramMemory {
    let number = |name: &str| read(&folder.join(name)).trim().parse::<u64>().ok();
    let Some(most) = number("memory.max") else { return ProgramMemory::default() };
    let stat = read(&folder.join("memory.stat"));
    // Pages of files that nobody has used for a while are given back as soon as somebody needs them.
    let idle = stat.lines().find_map(|line| line.strip_prefix("inactive_file "));
    let idle = idle.and_then(|text| text.parse().ok()).unwrap_or(0);
    let taken = number("memory.current").map(|current| current.saturating_sub(idle));
    ProgramMemory {
        total: Some(Bytes::new(most)),
        available: taken.map(|taken| Bytes::new(most.saturating_sub(taken))),
    }
}

/// What cannot be read tells nothing.
fn read(path: &Path) -> String {
    fs::read_to_string(path).unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A machine of 8 GiB, 6 of them free, with these files beside.
    fn machine(files: &[(&str, &str)]) -> (Option<u64>, Option<u64>) {
        let root = tempfile::tempdir().unwrap();
        let meminfo = "MemTotal:  8388608 kB\nMemFree:  1 kB\nMemAvailable: 6291456 kB\n";
        for (path, text) in [("proc/meminfo", meminfo)].iter().chain(files) {
            let path = root.path().join(path);
            fs::create_dir_all(path.parent().unwrap()).unwrap();
            fs::write(path, text).unwrap();
        }
        let memory = ProgramMemory::under(root.path());
        (memory.total.map(Bytes::get), memory.available.map(Bytes::get))
    }

    const GIB: u64 = 1 << 30;

    #[test]
    fn without_limits_it_is_the_machines() {
        assert_eq!(machine(&[]), (Some(8 * GIB), Some(6 * GIB)));
        let unlimited = [("proc/self/cgroup", "0::/\n"), ("sys/fs/cgroup/memory.max", "max\n")];
        assert_eq!(machine(&unlimited), (Some(8 * GIB), Some(6 * GIB)));
    }

    /// In a container the group's folder is the root of what it sees.
    #[test]
    fn a_container_has_what_its_group_may_have() {
        let files = [
            ("proc/self/cgroup", "0::/\n"),
            ("sys/fs/cgroup/memory.max", "2147483648\n"),
            ("sys/fs/cgroup/memory.current", "1610612736\n"),
            ("sys/fs/cgroup/memory.stat", "anon 1\ninactive_file 1073741824\n"),
        ];
        assert_eq!(machine(&files), (Some(2 * GIB), Some(3 * GIB / 2)));
    }

    #[test]
    fn a_limit_holds_for_the_groups_below_it() {
        let files = [
            ("proc/self/cgroup", "1:name=systemd:/x\n0::/user.slice/shell.scope\n"),
            ("sys/fs/cgroup/user.slice/memory.max", "3221225472\n"),
            ("sys/fs/cgroup/user.slice/memory.current", "0\n"),
            ("sys/fs/cgroup/user.slice/shell.scope/memory.max", "max\n"),
        ];
        assert_eq!(machine(&files), (Some(3 * GIB), Some(3 * GIB)));
    }
}
