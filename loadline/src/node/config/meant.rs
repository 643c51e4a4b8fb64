//! From what was typed to what was meant: defaults, and the rules that concern more than one field.

use super::file::{FileValue, LimitsTyped, NbdTyped, NodeFile, OsdTyped, VhostTyped};
use super::node_config::{DISKS_FILE, ImageConfig, NodeConfig, OWN_FILES, OsdConfig};
use super::words::Typed;
use crate::node::reach::default_dir;
use crate::tls::{TlsTyped, TlsTypedFault};
use loadline_base::{Bytes, Span, in_short};
use loadline_cluster::PGS_PER_OSD_MAX;
use loadline_cluster::images::{ImageError, may_be_named};
use loadline_cluster::settings::{
    DriveLimits, LevelTarget, Refused, Scope, Settings, SettingsChange,
};
use loadline_device::Medium;
use loadline_device::cdl::{DescriptorPage, Limits, ModePage};
use loadline_host::admin::api::Who;
use loadline_host::{
    ClientImages, DoorLimits, FormerDisks, ImagePattern, MemoryPlan, NbdAccess, ProgramMemory,
    VhostSpec, plain_path, read_text, why,
};
use loadline_osd::OsdSet;
use loadline_qos::{LOADLINE_PRESET, Preset, ServiceClass};
use loadline_store::paged::bounds::cache_least;
use loadline_store::paged::{Format, LogMode, Protection};
use loadline_study::{hint, unknown};
use loadline_tls::TlsServer;
use std::net::SocketAddr;
use std::num::NonZeroUsize;
use std::path::{Path, PathBuf};

/// The published studies' number of copies, where there are so many OSDs.
const COPIES: u32 = 3;
/// The shortest time that a connection may be given: the node looks once a second.
const SHORTEST: Span = Span::from_secs(1);
/// Images with paths of their own at most: each takes some dozen descriptors.
const VHOST_MAX: usize = 64;
/// A loop for each of the OSDs that a node may have.
const LOOPS_MAX: usize = 64;
/// What disks are made of.
const PAGE_BYTES: u64 = 4096;
/// What log, images and a useful number of pages take at least.
const OSD_BYTES_MIN: Bytes = Bytes::from_mib(64);

/// Something that cannot be used: the field, and what is wrong with it.
#[derive(Debug)]
pub(super) struct FieldFault {
    /// As the file spells it.
    field: &'static str,
    /// The entry of a list that it is in, by a text that only this entry has.
    entry: Option<String>,
    reason: String,
}

impl FieldFault {
    pub(super) fn new(field: &'static str, reason: impl Into<String>) -> FieldFault {
        FieldFault { field, entry: None, reason: reason.into() }
    }

    pub(super) fn at(field: &'static str, entry: &str, reason: impl Into<String>) -> FieldFault {
        FieldFault { field, entry: Some(entry.to_owned()), reason: reason.into() }
    }

    /// `node.toml:3: copies: ...`
    pub(super) fn of_file(&self, shown: &str, text: &str) -> String {
        let sets = |line: &str| match &self.entry {
            Some(entry) => line.contains(entry.as_str()),
            None => line.split('=').next().is_some_and(|key| key.trim() == self.field),
        };
        // Of an entry that stands there twice, the second is the one too many.
        match text.lines().rev().position(sets) {
            Some(from_end) => {
                let line = text.lines().count() - from_end;
                format!("{shown}:{line}: {}: {}", self.field, self.reason)
            }
            None => format!("{shown}: {}: {}", self.field, self.reason),
        }
    }

    /// `--copies: ...`
    pub(super) fn of_flags(&self) -> String {
        let flag = match self.field {
            "images" => "image".to_owned(),
            "settings" => "set".to_owned(),
            "tcp" | "insecure" => format!("nbd-{}", self.field),
            // Where there is no file, both are in the folder.
            "unix" | "admin" => "dir".to_owned(),
            "certificate" | "key" | "client_ca" => format!("tls-{}", self.field.replace('_', "-")),
            field => field.replace('_', "-"),
        };
        format!("--{flag}: {}", self.reason)
    }
}

/// Disks and sockets each have a path of their own, which is none of the files that the node writes. Asked before a disk is made: a socket in its place would be refused
/// afterwards, and such a file would replace it.
fn refuse_shared_places(config: &NodeConfig) -> Result<(), FieldFault> {
    let own = OWN_FILES.map(|name| plain_path(&config.dir.join(name)));
    let disks =
        config.osds.iter().map(|osd| ("osds", Some(typed_path(osd, &config.dir)), &osd.path));
    let sockets = [("unix", None, &config.nbd_unix), ("admin", None, &config.admin)];
    let guests = config.vhost.iter().map(|spec| ("vhost", Some(spec.image.clone()), &spec.path));
    let mut taken: Vec<(&str, PathBuf)> = Vec::new();
    for (field, entry, path) in disks.chain(sockets).chain(guests) {
        // Some are told from the folder that the command was typed in, and some from the root.
        let (whole, shown) = (plain_path(path), path.display());
        let other = taken.iter().find(|(_, other)| *other == whole);
        let reason = match other {
            Some((other, _)) => {
                format!("{shown} is a path of `{other}`, too: each takes one of its own")
            }
            None if own.contains(&whole) => {
                format!("{shown} is a file of the node's own: take another path")
            }
            None => {
                taken.push((field, whole));
                continue;
            }
        };
        return Err(FieldFault { field, entry, reason });
    }
    Ok(())
}

/// An OSD's path as it was typed, if it was typed from the node's folder.
pub(super) fn typed_path(osd: &OsdConfig, dir: &Path) -> String {
    osd.path.strip_prefix(dir).unwrap_or(&osd.path).display().to_string()
}

/// One port serves one face; an address that stands for all of the machine's has it on each of them.
fn refuse_shared_port(page: Option<SocketAddr>, nbd: Option<SocketAddr>) -> Result<(), FieldFault> {
    let (Some(page), Some(nbd)) = (page, nbd) else { return Ok(()) };
    let is_one_host = page.ip() == nbd.ip() || nbd.ip().is_unspecified();
    // Of port 0 the system makes one of its own for each.
    match is_one_host && page.port() == nbd.port() && page.port() != 0 {
        false => Ok(()),
        true => Err(FieldFault::new(
            "page",
            format!("{page} is where NBD is served, too: each takes a port of its own"),
        )),
    }
}

/// How the memory is shared out that was asked for, or what suits the machine.
fn memory(
    memory: Option<Bytes>,
    cache: Option<Bytes>,
    osds: u32,
) -> Result<MemoryPlan, FieldFault> {
    let here = ProgramMemory::here().total;
    if let (Some(asked), Some(here)) = (memory, here.filter(|here| memory > Some(*here))) {
        let reason = format!(
            "{asked} are asked for, and this machine has {here}: give less, or leave it out"
        );
        return Err(FieldFault::new("memory", reason));
    }
    let typed = if memory.is_none() && cache.is_some() { "cache" } else { "memory" };
    MemoryPlan::new(memory, cache, osds)
        .map_err(|refused| FieldFault::new(typed, refused.to_string()))
}

/// Whether a store opens with such a cache. A larger disk takes a larger one; of one that is there the size is known when it is opened.
fn check_cache(typed: Option<Bytes>, osds: &[OsdConfig]) -> Result<(), FieldFault> {
    let size = osds.iter().filter_map(|osd| osd.size).max().unwrap_or(OSD_BYTES_MIN);
    let layout = Format::of_disk(1, size).layout();
    let least = layout.map_or(Bytes::ZERO, |layout| cache_least(&layout));
    match typed.filter(|cache| *cache < least) {
        None => Ok(()),
        Some(cache) => {
            let reason =
                format!("{cache:#} hold too few pages: an OSD of {size} takes at least {least:#}");
            Err(FieldFault::new("cache", reason))
        }
    }
}

/// How many loops there are.
fn loops(typed: Option<usize>) -> Result<NonZeroUsize, FieldFault> {
    match NonZeroUsize::new(typed.unwrap_or(1)).filter(|loops| loops.get() <= LOOPS_MAX) {
        Some(loops) => Ok(loops),
        None => Err(FieldFault::new("loops", format!("takes a number from 1 to {LOOPS_MAX}"))),
    }
}

impl NodeFile {
    /// What was meant; relative paths start at `folder`, those of the node's parts at the node's own folder.
    pub(super) fn meant(self, folder: &Path) -> Result<NodeConfig, FieldFault> {
        let preset = self.preset.map_or(&LOADLINE_PRESET, |preset| preset.0);
        let medium = typed(self.medium, Medium::Ssd);
        let drive_limits = limits(&self.limits, folder)?;
        let settings = self.settings(preset, medium, drive_limits)?;
        if self.dir.as_deref().is_some_and(|dir| dir.as_os_str().is_empty()) {
            return Err(FieldFault::new("dir", "it takes a folder's path, such as `.`"));
        }
        let dir = folder.join(self.dir.clone().unwrap_or_else(default_dir));
        let osds = osds(&self.osds, &dir)?;
        let copies = copies(self.copies, &osds, &dir)?;
        let pgs_max = PGS_PER_OSD_MAX * osds.len() as u32;
        if self.pgs.is_some_and(|pgs| !(1..=pgs_max).contains(&pgs)) {
            let wanted =
                format!("takes a number from 1 to {pgs_max}, {PGS_PER_OSD_MAX} for each OSD");
            return Err(FieldFault::new("pgs", wanted));
        }
        check_cache(self.cache, &osds)?;
        let memory = memory(self.memory, self.cache, osds.len() as u32)?;
        let nbd_tls = tls(&self.nbd.tls, folder)?;
        refuse_unsafe(&self.nbd, nbd_tls.as_ref())?;
        refuse_open_page(self.page)?;
        refuse_shared_port(self.page, self.nbd.tcp)?;
        let config = NodeConfig {
            osds,
            copies,
            pgs: self.pgs,
            images: self.images()?,
            vhost: self.vhost(&dir)?,
            nbd_unix: dir.join(self.nbd.unix.as_deref().unwrap_or(Path::new("nbd.sock"))),
            nbd_tcp: self.nbd.tcp,
            nbd_tls,
            nbd_access: access(&self.nbd)?,
            page: self.page,
            admin: dir.join(self.admin.as_deref().unwrap_or(Path::new("admin.sock"))),
            doors: doors(&self.nbd)?,
            socket_mode: self.socket_mode.map_or(0o600, |mode| mode.0),
            memory,
            log_mode: typed(self.log_mode, LogMode::LogOnly),
            protection: typed(self.protection, Protection::Checkpoint),
            medium,
            preset,
            direct: typed(self.direct, Default::default()),
            discards: typed(self.discards, Default::default()),
            backend: typed(self.backend, Default::default()),
            loops: loops(self.loops)?,
            drive_limits,
            settings,
            dir,
        };
        refuse_shared_places(&config)?;
        Ok(config)
    }

    fn images(&self) -> Result<Vec<ImageConfig>, FieldFault> {
        let mut images: Vec<ImageConfig> = Vec::new();
        for typed in &self.images {
            let name = typed.name.clone();
            if !may_be_named(&name) {
                let says = ImageError::BadName(name.clone()).to_string();
                return Err(FieldFault::at("images", &name, says));
            }
            if images.iter().any(|image| image.name == name) {
                return Err(FieldFault::at(
                    "images",
                    &name,
                    format!("`{name}` stands there twice"),
                ));
            }
            let size = typed.size.filter(|size| *size > Bytes::ZERO);
            let size = size.ok_or_else(|| {
                FieldFault::at(
                    "images",
                    &name,
                    format!("`{name}` takes a size of at least one byte"),
                )
            })?;
            images.push(ImageConfig { name, size });
        }
        Ok(images)
    }

    /// Each image has one path, and each path one image. Flags name paths as every other program's do, a file those in the node's folder.
    fn vhost(&self, dir: &Path) -> Result<Vec<VhostSpec>, FieldFault> {
        let mut specs: Vec<VhostSpec> = Vec::new();
        for VhostTyped { image, path } in &self.vhost {
            let path = dir.join(path);
            let shown = path.display();
            let fault = |reason: String| Err(FieldFault::at("vhost", image, reason));
            if specs.iter().any(|spec| spec.image == *image) {
                return fault(format!(
                    "`{}` stands there twice: an image is one guest's disk",
                    in_short(image)
                ));
            }
            if specs.iter().any(|spec| spec.path == path) {
                return fault(format!("{shown} is two images' path"));
            }
            if specs.len() == VHOST_MAX {
                return fault(format!("takes {VHOST_MAX} images at most"));
            }
            specs.push(VhostSpec { image: image.clone(), path });
        }
        Ok(specs)
    }

    /// The settings as one change, tried on the option table.
    fn settings(
        &self,
        preset: &Preset,
        medium: Medium,
        drive_limits: DriveLimits,
    ) -> Result<SettingsChange, FieldFault> {
        self.refuse_contradictions()?;
        let osds = LevelTarget::Stored(Scope::Osds);
        let mut change = SettingsChange::default();
        if let Some(scheduler) = &self.scheduler {
            change = change.and_set(osds, "osd_op_queue", scheduler);
        }
        if let Some(profile) = &self.profile {
            change = change.and_set(osds, "osd_mclock_profile", profile);
        }
        for (option, value) in self.class_options()? {
            change = change.and_set(osds, option, &value);
        }
        for (section, options) in &self.settings {
            let scope = match section.parse() {
                Ok(Who::Global) => Scope::Global,
                Ok(Who::Osds) => Scope::Osds,
                Ok(Who::Osd(osd)) => Scope::Osd(osd),
                Err(expected) => {
                    let reason = format!("there is no section `{section}`, {expected}");
                    return Err(FieldFault::at("settings", section, reason));
                }
            };
            for (option, value) in options {
                change = change.and_set(LevelTarget::Stored(scope), option, &value.text());
            }
        }
        let media = vec![medium; self.osds.len()];
        let mut settings = Settings::on_a_loop(*preset, &media);
        for osd in settings.osds().collect::<Vec<_>>() {
            settings.set_drive_limits(osd, drive_limits);
        }
        match settings.apply(&change) {
            Ok(_) => Ok(change),
            Err(refused) => {
                let mut fault = self.blame(&refused);
                if let Refused::UnknownOption(name) = &refused {
                    fault.reason += &hint(name, settings.table().names());
                }
                Err(fault)
            }
        }
    }

    /// Scheduler and profile are options of every OSD that have a word of their own. Where both are said, one would win without a word.
    fn refuse_contradictions(&self) -> Result<(), FieldFault> {
        let words = [
            ("scheduler", "osd_op_queue", &self.scheduler),
            ("profile", "osd_mclock_profile", &self.profile),
        ];
        for (field, option, word) in words {
            // What one OSD is given besides is an exception to the word, and no contradiction.
            let of_all = ["osd", "global"].iter().filter_map(|section| self.settings.get(*section));
            let mut set = of_all.filter_map(|options| options.get(option)).map(FileValue::text);
            if let Some(word) = word
                && let Some(set) = set.find(|set| set != word)
            {
                let reason = format!(
                    "`{word}` contradicts `{option} = {set}` of the settings: leave one of them out"
                );
                return Err(FieldFault::new(field, reason));
            }
        }
        Ok(())
    }

    /// What the sections `class.*` say, as options of every OSD.
    fn class_options(&self) -> Result<Vec<(&'static str, String)>, FieldFault> {
        let mut options = Vec::new();
        for (name, typed) in &self.class {
            let class = ServiceClass::SHARED.into_iter().find(|class| class.name() == name);
            let Some(class) = class else {
                let known = ServiceClass::SHARED.map(ServiceClass::name);
                return Err(FieldFault::at("class", name, unknown("class", name, known)));
            };
            let names = Settings::device_options_of(class).expect("a shared class has options");
            let level = typed.level.as_ref().map(FileValue::text);
            let mut set = self.settings.values();
            let has_priority = match &typed.priority {
                Some(priority) => priority != "none",
                None => set.any(|options| options.contains_key(names[0])),
            };
            if level.is_some() && !has_priority {
                let reason = "a level is one of a `priority`, and there is none: add `priority = \"rt\"` or `\"be\"`, or leave it out";
                return Err(FieldFault::at("level", &format!("[class.{name}]"), reason));
            }
            let limit = typed.limit.as_ref().map(FileValue::text);
            let values = [typed.priority.clone(), level, limit];
            options.extend(
                names.into_iter().zip(values).filter_map(|(name, value)| Some((name, value?))),
            );
        }
        Ok(options)
    }

    /// The field of a class's section that a refusal of an option is about.
    fn class_field(&self, says: &str) -> Option<FieldFault> {
        self.class.keys().find_map(|name| {
            let class = ServiceClass::SHARED.into_iter().find(|class| class.name() == name)?;
            let names = Settings::device_options_of(class)?;
            let fields = ["priority", "level", "limit"];
            let named = names.iter().zip(fields).filter(|(option, _)| says.contains(**option));
            let (_, field) = named.max_by_key(|(option, _)| option.len())?;
            Some(FieldFault::at(field, &format!("[class.{name}]"), says))
        })
    }

    /// The field that a refusal is about: its sentence names the option, of which one may begin like another.
    fn blame(&self, refused: &Refused) -> FieldFault {
        let says = refused.to_string();
        if let Refused::UnknownOsd(osd) = refused {
            return FieldFault::at("settings", &osd.to_string(), says);
        }
        let options = self.settings.values().flat_map(|options| options.keys());
        let named = options.filter(|option| says.contains(option.as_str()));
        match named.max_by_key(|option| option.len()) {
            Some(option) => FieldFault::at("settings", option, says),
            None if says.contains("osd_device_") => {
                self.class_field(&says).expect("only a class's section names the option")
            }
            None if says.contains("osd_op_queue") => FieldFault::new("scheduler", says),
            None => FieldFault::new("profile", says),
        }
    }
}

/// The duration limits that every disk holds, from the files that were uploaded to them.
fn limits(typed: &LimitsTyped, folder: &Path) -> Result<DriveLimits, FieldFault> {
    let read = |field: &'static str, path: &Option<PathBuf>, foreign: ModePage| {
        let Some(path) = path else { return Ok(Limits::default()) };
        let shown = folder.join(path);
        let text = read_text(&shown).map_err(|error| {
            FieldFault::new(field, format!("{}: cannot be read: {}", shown.display(), why(&error)))
        })?;
        let page = DescriptorPage::parse(&text)
            .map_err(|error| FieldFault::new(field, format!("{}: {error}", shown.display())))?;
        if page.kind() == foreign {
            let reason = format!("{}: it is a page of the other kind of command", shown.display());
            return Err(FieldFault::new(field, reason));
        }
        Ok(*page.limits())
    };
    Ok(DriveLimits {
        reads: read("reads", &typed.reads, ModePage::T2B)?,
        writes: read("writes", &typed.writes, ModePage::T2A)?,
    })
}

fn typed<T>(typed: Option<Typed<T>>, default: T) -> T {
    typed.map_or(default, |typed| typed.0)
}

/// Whether so many OSDs make a node.
pub(super) fn check_count(osds: usize) -> Result<(), FieldFault> {
    let most = OsdSet::OSDS_MAX;
    match (1..=most as usize).contains(&osds) {
        true => Ok(()),
        false => {
            let reason = format!("{osds} OSDs make no node; it takes 1 to {most}");
            Err(FieldFault::new("osds", reason))
        }
    }
}

fn osds(typed: &[OsdTyped], dir: &Path) -> Result<Vec<OsdConfig>, FieldFault> {
    if typed.is_empty() {
        let (dir, most) = (dir.display(), OsdSet::OSDS_MAX);
        let reason = format!("{dir} has no OSD yet, and none is named: a node takes 1 to {most}");
        return Err(FieldFault::new("osds", reason));
    }
    check_count(typed.len())?;
    let mut osds: Vec<OsdConfig> = Vec::new();
    for osd in typed {
        let (path, shown) = (dir.join(&osd.path), osd.path.display().to_string());
        if osds.iter().any(|other| other.path == path) {
            return Err(FieldFault::at("osds", &shown, format!("{shown} stands there twice")));
        }
        if let Some(size) = osd.size.filter(|size| *size < OSD_BYTES_MIN) {
            let reason = format!("{size} are too few; an OSD takes at least {OSD_BYTES_MIN}");
            return Err(FieldFault::at("size", &shown, reason));
        }
        if let Some(size) = osd.size.filter(|size| !size.get().is_multiple_of(PAGE_BYTES)) {
            let reason = format!(
                "{} bytes are not whole pages; give a multiple of {PAGE_BYTES}",
                size.get()
            );
            return Err(FieldFault::at("size", &shown, reason));
        }
        osds.push(OsdConfig { path, size: osd.size });
    }
    Ok(osds)
}

fn copies(typed: Option<u32>, osds: &[OsdConfig], dir: &Path) -> Result<u32, FieldFault> {
    let most = osds.len() as u32;
    let copies = typed.unwrap_or(COPIES.min(most));
    if (1..=most).contains(&copies) {
        return Ok(copies);
    }
    // Rather than a number of copies that was good so far, disks are missing that the node has had.
    let known = FormerDisks::read(&dir.join(DISKS_FILE));
    let left_out = known.left_out(osds.iter().map(|osd| osd.path.as_path()));
    if let Some(disks) = left_out.filter(|_| copies > most && known.count() > osds.len()) {
        let (had, are) = (known.count(), if most == 1 { "is" } else { "are" });
        let reason = format!(
            "{most} {are} named, and the node had {had} when it ran last: {disks}; name every OSD's disk, also of one that is lost"
        );
        return Err(FieldFault::new("osds", reason));
    }
    let (on, wanted) = match most {
        1 => ("1 OSD".to_owned(), "1".to_owned()),
        most => (format!("{most} OSDs"), format!("1 to {most}")),
    };
    Err(FieldFault::new(
        "copies",
        format!("{copies} copies have no place on {on}; it takes {wanted}"),
    ))
}

/// Bounds of connections; each lets something in.
fn doors(typed: &NbdTyped) -> Result<DoorLimits, FieldFault> {
    let standard = DoorLimits::default();
    let at_least_one = |field, given: Option<u32>| match given {
        Some(0) => Err(FieldFault::new(field, "takes a number of at least 1")),
        given => Ok(given),
    };
    let long_enough = |field, given: Option<Span>| match given {
        Some(span) if span < SHORTEST => {
            Err(FieldFault::new(field, format!("takes a time of at least {SHORTEST}")))
        }
        given => Ok(given),
    };
    if let (Some(all), Some(each)) = (typed.connections, typed.connections_per_peer)
        && all < each
    {
        let reason = format!(
            "{each} are more than all, of which there are {all}: give fewer, or leave it out"
        );
        return Err(FieldFault::new("connections_per_peer", reason));
    }
    Ok(DoorLimits {
        connections: at_least_one("connections", typed.connections)?
            .unwrap_or(standard.connections),
        per_peer: at_least_one("connections_per_peer", typed.connections_per_peer)?,
        negotiation: long_enough("negotiation", typed.negotiation)?.unwrap_or(standard.negotiation),
        idle: long_enough("idle", typed.idle)?,
    })
}

/// The page shows everything to whoever reaches it, and its token travels as it is. So it stays on this machine too.
fn refuse_open_page(page: Option<SocketAddr>) -> Result<(), FieldFault> {
    match page.filter(|address| !address.ip().is_loopback()) {
        None => Ok(()),
        Some(address) => Err(FieldFault::new(
            "page",
            format!(
                "{address} can be reached from outside: the page has no TLS; listen on loopback, and let a tunnel carry it further"
            ),
        )),
    }
}

/// The images that a list names.
fn patterns(field: &'static str, typed: &[String]) -> Result<Vec<ImagePattern>, FieldFault> {
    let read = |text: &String| {
        let fault = |expected| {
            let shown = in_short(text);
            FieldFault::at(field, text, format!("`{shown}` is not understood: {expected}"))
        };
        text.parse().map_err(fault)
    };
    typed.iter().map(read).collect()
}

/// What clients may do with images. Who they are is known by their certificates alone.
fn access(nbd: &NbdTyped) -> Result<NbdAccess, FieldFault> {
    let mut access =
        NbdAccess { read_only: patterns("read_only", &nbd.read_only)?, ..NbdAccess::default() };
    for (name, typed) in &nbd.clients {
        if nbd.tls.client_ca.is_none() {
            let shown = in_short(name);
            let reason =
                format!("nobody is asked whether it is `{shown}`: that takes `tls.client_ca`");
            return Err(FieldFault::at("clients", name, reason));
        }
        let read = patterns("read", &typed.read)?;
        let write = patterns("write", &typed.write)?;
        access.clients.insert(name.clone(), ClientImages { read, write });
    }
    Ok(access)
}

/// The server that the files make.
fn tls(typed: &TlsTyped, folder: &Path) -> Result<Option<TlsServer>, FieldFault> {
    typed.open(folder).map_err(|TlsTypedFault { field, reason }| FieldFault::new(field, reason))
}

/// NBD has no passwords: whoever reaches a listener may read and write. So it stays on this machine, unless TLS asks who comes, or somebody
/// takes the risk.
fn refuse_unsafe(nbd: &NbdTyped, tls: Option<&TlsServer>) -> Result<(), FieldFault> {
    let asks = tls.is_some_and(TlsServer::asks_clients);
    match nbd.tcp {
        None if tls.is_some() => {
            Err(FieldFault::new("certificate", "TLS is for `tcp` (--nbd-tcp), and there is none"))
        }
        None if nbd.insecure => Err(FieldFault::new(
            "insecure",
            "it is for `tcp` (--nbd-tcp), and there is none: give the address, or leave it out",
        )),
        Some(address) if !address.ip().is_loopback() && !asks && !nbd.insecure => {
            let reason = format!(
                "{address} can be reached from outside, where nothing asks who comes: let TLS ask for a certificate (`tls.client_ca`, \
                 --tls-client-ca), listen on loopback and let a tunnel carry it further, or take the risk that whoever reaches it reads \
                 and writes every image (`insecure = true`, --nbd-insecure)"
            );
            Err(FieldFault::new("tcp", reason))
        }
        _ => Ok(()),
    }
}
