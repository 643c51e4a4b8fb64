//! A recovery test: which OSD goes and returns, what is moved then, and what clients do meanwhile.

use crate::client::{self, CbtClient, FIO_BENCHMARKS, FioBenchmark, OTHER_BENCHMARKS};
use crate::keys;
use crate::section::{CbtNote, CbtSection, NoteKind, Stated};
use crate::{CbtError, tree};

/// A recovery test as CBT runs it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct CbtTest {
    /// What moves.
    pub form: RecoveryForm,
    /// OSDs, of all hosts together.
    pub osds: Stated<u64>,
    /// Copies of an object of the pool that recovers.
    pub copies: Stated<u64>,
    /// Its placement groups.
    pub groups: Stated<u64>,
    /// The OSD that goes and returns.
    pub returning: Stated<u64>,
    /// Objects that it lacks when it returns, those of all OSDs together.
    pub objects: Stated<u64>,
    /// Bytes of each.
    pub object_size: Stated<u64>,
    /// Seconds that clients are alone.
    pub baseline: Stated<u64>,
    /// Seconds that clients go on beside the recovery; `None` for until it ends.
    pub clients: Option<Stated<u64>>,
    /// What clients do.
    pub client: CbtClient,
    /// Where the OSDs' configuration is, on the machine that CBT ran on.
    pub conf_file: Option<Stated<String>>,
    /// Everything of which nothing was read.
    pub notes: Vec<CbtNote>,
}

/// The two recovery tests that CBT has.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum RecoveryForm {
    /// Clients write to the pool that recovers, before, while the OSD is away and when it returns.
    Blocking,
    /// Objects are written to a second pool while the OSD is away, and clients begin when it returns.
    Background,
}

/// CBT waits so long where nobody says how long clients are alone.
const PRE_TIME: u64 = 60;

/// What `rados bench` writes where nobody says how large its objects are.
const BENCH_OBJECT: u64 = 4 << 20;

/// What a pool has that nobody configures.
const COPIES: u64 = 3;
const GROUPS: u64 = 1024;

impl CbtTest {
    /// Reads one.
    ///
    /// # Errors
    /// [`CbtError`] if it is no YAML, no recovery test, or one with other clients than fio on images.
    pub fn parse(text: &str) -> Result<CbtTest, CbtError> {
        let map = tree::parse(text)?;
        let top = CbtSection::top(&map);
        let mut notes = Vec::new();
        top.survey(keys::use_of(keys::TOP), &keys::names(keys::TOP), &mut notes);
        let cluster = required(&top, "cluster", "it says what the test runs on")?;
        cluster.survey(keys::use_of(keys::CLUSTER), &keys::names(keys::CLUSTER), &mut notes);
        let steps = required(&cluster, "recovery_test", "only a recovery test becomes a study")?;
        let names = keys::names(keys::RECOVERY_TEST);
        steps.survey(keys::use_of(keys::RECOVERY_TEST), &names, &mut notes);
        let (benchmark, section) = benchmark(&top, &mut notes)?;
        let form = form(&section)?;
        let endpoints = endpoints(&top, &section, &mut notes)?;
        let hosts = cluster.hosts("clients")?.map_or(1, |hosts| hosts.value).max(1);
        let per_client = match &endpoints {
            Some(endpoints) => endpoints.count("endpoints_per_client", 1)?.value,
            None => 1,
        };
        let client = client::read(benchmark, &section, (hosts, per_client), &mut notes)?;
        let pools =
            CbtPools::read(&cluster, [endpoints.as_ref(), Some(&section)], form, &mut notes)?;
        let (objects, object_size) = match form {
            RecoveryForm::Background => pools.objects(&mut notes)?,
            RecoveryForm::Blocking => of_volumes(&client),
        };
        let (baseline, clients) = times(form, &steps, &client, &mut notes)?;
        note_form(form, &steps, &section, &mut notes);
        note_iterations(&cluster, &mut notes)?;
        Ok(CbtTest {
            form,
            osds: osds(&cluster)?,
            copies: pools.copies()?,
            groups: pools.groups()?,
            returning: returning(&steps, &mut notes)?,
            objects,
            object_size,
            baseline,
            clients,
            client,
            conf_file: cluster.word("conf_file")?.map(|found| found.map(str::to_owned)),
            notes,
        })
    }
}

fn required<'a>(
    section: &CbtSection<'a>,
    key: &str,
    why: &str,
) -> Result<CbtSection<'a>, CbtError> {
    section.section(key)?.ok_or_else(|| {
        CbtError::new(section.line, format!("`{}` is missing: {why}", section.name_of(key)))
    })
}

/// The one benchmark whose clients a study can have.
fn benchmark<'a>(
    top: &CbtSection<'a>,
    notes: &mut Vec<CbtNote>,
) -> Result<(&'static FioBenchmark, CbtSection<'a>), CbtError> {
    let all = required(top, "benchmarks", "it says what clients do")?;
    let mut found = None;
    for (name, section) in all.sections()? {
        let line = section.line;
        let named = all.name_of(name);
        let mut note = |kind, text| notes.push(CbtNote { kind, line, text });
        match FIO_BENCHMARKS.iter().find(|benchmark| benchmark.name == name) {
            Some(benchmark) if found.is_none() => found = Some((benchmark, section)),
            Some(_) => {
                note(NoteKind::LeftOut, format!("`{named}`: a study has one kind of clients"))
            }
            None if OTHER_BENCHMARKS.contains(&name) => {
                note(NoteKind::LeftOut, format!("`{named}`: clients of a study use images by fio"));
            }
            None => note(NoteKind::Unknown, format!("`{named}`")),
        }
    }
    let names = FIO_BENCHMARKS.map(|benchmark| benchmark.name).join(", ");
    found.ok_or_else(|| {
        let reason =
            format!("`benchmarks` has none of {names}: clients of a study use images by fio");
        CbtError::new(all.line, reason)
    })
}

fn form(benchmark: &CbtSection<'_>) -> Result<RecoveryForm, CbtError> {
    let key = "recov_test_type";
    let Some(found) = benchmark.word(key)? else { return Ok(RecoveryForm::Blocking) };
    match found.value {
        "blocking" => Ok(RecoveryForm::Blocking),
        "background" => Ok(RecoveryForm::Background),
        _ => {
            let reason = format!("`{}` must be blocking or background", benchmark.name_of(key));
            Err(CbtError::new(found.line.unwrap_or(benchmark.line), reason))
        }
    }
}

/// What the benchmark's clients use, where it stands apart from the benchmark.
fn endpoints<'a>(
    top: &CbtSection<'a>,
    benchmark: &CbtSection<'a>,
    notes: &mut Vec<CbtNote>,
) -> Result<Option<CbtSection<'a>>, CbtError> {
    let Some(named) = benchmark.word("client_endpoints")? else { return Ok(None) };
    let line = named.line.unwrap_or(benchmark.line);
    let all = top.section("client_endpoints")?;
    let found = all.as_ref().map(|all| all.section(named.value)).transpose()?.flatten();
    let found = found.ok_or_else(|| {
        CbtError::new(line, format!("there are no `client_endpoints` called `{}`", named.value))
    })?;
    for (name, other) in
        all.iter().map(CbtSection::sections).collect::<Result<Vec<_>, _>>()?.concat()
    {
        if name != named.value {
            let text = format!("`{}`: no benchmark that is read uses it", other.path);
            notes.push(CbtNote { kind: NoteKind::LeftOut, line: other.line, text });
        }
    }
    found.survey(keys::use_of(keys::ENDPOINTS), &keys::names(keys::ENDPOINTS), notes);
    check_driver(&found, notes)?;
    Ok(Some(found))
}

fn check_driver(endpoints: &CbtSection<'_>, notes: &mut Vec<CbtNote>) -> Result<(), CbtError> {
    let Some(driver) = endpoints.word("driver")? else { return Ok(()) };
    let (line, name) = (driver.line.unwrap_or(endpoints.line), endpoints.name_of("driver"));
    match driver.value {
        "librbd" => {}
        by if by.starts_with("rbd-") => notes.push(CbtNote {
            kind: NoteKind::LeftOut,
            line,
            text: format!("`{name}`: clients use images without {by}"),
        }),
        by => {
            let reason =
                format!("`{name}` is {by}: clients of a study use images, as librbd and rbd-* do");
            return Err(CbtError::new(line, reason));
        }
    }
    Ok(())
}

/// The profiles of the pools that a test makes.
struct CbtPools<'a> {
    /// Of the pool that recovers.
    recovers: CbtSection<'a>,
}

impl<'a> CbtPools<'a> {
    /// `named` are the sections that may name profiles, the nearest first.
    fn read(
        cluster: &CbtSection<'a>,
        named: [Option<&CbtSection<'a>>; 2],
        form: RecoveryForm,
        notes: &mut Vec<CbtNote>,
    ) -> Result<CbtPools<'a>, CbtError> {
        let profiles = required(cluster, "pool_profiles", "it says what the pools are")?;
        let find = |key: &str| -> Result<CbtSection<'a>, CbtError> {
            for section in named.into_iter().flatten() {
                if let Some(name) = section.word(key)? {
                    return profiles.section(name.value)?.ok_or_else(|| {
                        let reason = format!("there is no pool profile `{}`", name.value);
                        CbtError::new(name.line.unwrap_or(section.line), reason)
                    });
                }
            }
            profiles.section("default")?.ok_or_else(|| {
                let reason = format!("`{key}` is missing, and no pool profile is called `default`");
                CbtError::new(named.into_iter().flatten().last().map_or(1, |it| it.line), reason)
            })
        };
        let clients = find("pool_profile")?;
        let recovers = match form {
            RecoveryForm::Background => find("recov_pool_profile")?,
            RecoveryForm::Blocking => clients.clone(),
        };
        for (name, profile) in profiles.sections()? {
            match [&clients, &recovers].iter().any(|used| used.path == profile.path) {
                true => profile.survey(keys::use_of(keys::POOL), &keys::names(keys::POOL), notes),
                false => notes.push(CbtNote {
                    kind: NoteKind::LeftOut,
                    line: profile.line,
                    text: format!("`{}`: no pool that is read has it", profiles.name_of(name)),
                }),
            }
        }
        let pools = CbtPools { recovers };
        pools.note_differences(&clients, notes)?;
        Ok(pools)
    }

    /// Both pools of a study are alike.
    fn note_differences(
        &self,
        clients: &CbtSection<'a>,
        notes: &mut Vec<CbtNote>,
    ) -> Result<(), CbtError> {
        for (key, default) in [("pg_size", GROUPS), ("replication", COPIES)] {
            // What is no number is refused where it is used.
            let of = |pool: &CbtSection<'_>| {
                pool.whole(key).ok().flatten().map_or(default, |it| it.value)
            };
            if of(clients) != of(&self.recovers) {
                let text = format!(
                    "`{}`: both pools of a study are alike, and have the recovery pool's {}",
                    clients.name_of(key),
                    of(&self.recovers)
                );
                let line = clients.line_of(key).unwrap_or(clients.line);
                notes.push(CbtNote { kind: NoteKind::LeftOut, line, text });
            }
        }
        let places = self.recovers.whole("pgp_size")?;
        if let Some(places) =
            places.filter(|places| Some(places.value) != self.groups().ok().map(|it| it.value))
        {
            let text = format!(
                "`{}`: every group has a place of its own",
                self.recovers.name_of("pgp_size")
            );
            let line = places.line.unwrap_or(self.recovers.line);
            notes.push(CbtNote { kind: NoteKind::LeftOut, line, text });
        }
        Ok(())
    }

    fn groups(&self) -> Result<Stated<u64>, CbtError> {
        self.recovers.count("pg_size", GROUPS)
    }

    fn copies(&self) -> Result<Stated<u64>, CbtError> {
        let key = "replication";
        match self.recovers.word(key)? {
            Some(found) if found.value == "erasure" => {
                let name = self.recovers.name_of(key);
                let reason = format!("`{name}` is erasure: pools keep whole copies here");
                Err(CbtError::new(found.line.unwrap_or(self.recovers.line), reason))
            }
            _ => self.recovers.count(key, COPIES),
        }
    }

    /// How many objects are written while the OSD is away, and how large they are.
    fn objects(&self, notes: &mut Vec<CbtNote>) -> Result<(Stated<u64>, Stated<u64>), CbtError> {
        let pool = &self.recovers;
        if !pool.is_set("recov_pool")? {
            let reason = format!(
                "`{}` is not set, so that CBT writes no objects to it",
                pool.name_of("recov_pool")
            );
            return Err(CbtError::new(pool.line_of("recov_pool").unwrap_or(pool.line), reason));
        }
        let key = "prefill_recov_objects";
        let objects = pool.whole(key)?.filter(|objects| objects.value > 0).ok_or_else(|| {
            let reason = format!("`{}` must say how many objects are moved", pool.name_of(key));
            CbtError::new(pool.line_of(key).unwrap_or(pool.line), reason)
        })?;
        if let Some(time) = pool.whole("prefill_recov_time")?.filter(|time| time.value > 0) {
            let text = format!(
                "`{}`: CBT stops after {} s with what it has written by then; the study writes all {} objects, so set `objects` to \
                 what there were",
                pool.name_of("prefill_recov_time"),
                time.value,
                objects.value
            );
            let line = time.line.unwrap_or(pool.line);
            notes.push(CbtNote { kind: NoteKind::LeftOut, line, text });
        }
        let size = pool.whole("prefill_recov_object_size")?.filter(|size| size.value > 0);
        Ok((objects, size.unwrap_or(Stated::default_of(BENCH_OBJECT))))
    }
}

/// In a blocking test the clients' own objects move.
fn of_volumes(client: &CbtClient) -> (Stated<u64>, Stated<u64>) {
    let size = client.object_size.clone();
    let bytes = client.image_mib.clone().map(|mib| mib.saturating_mul(1 << 20));
    (bytes.map(|bytes| bytes.div_ceil(size.value).max(1)), size)
}

/// How long clients are alone, and how long they go on beside the recovery.
fn times(
    form: RecoveryForm,
    steps: &CbtSection<'_>,
    client: &CbtClient,
    notes: &mut Vec<CbtNote>,
) -> Result<(Stated<u64>, Option<Stated<u64>>), CbtError> {
    let pre_time = steps.whole("pre_time")?;
    let default = Stated::default_of(PRE_TIME);
    if form == RecoveryForm::Blocking {
        // fio is ended when the recovery is.
        return Ok((pre_time.filter(|time| time.value > 0).unwrap_or(default), None));
    }
    if let Some(time) = pre_time {
        let text =
            format!("`{}`: clients begin later in a background test", steps.name_of("pre_time"));
        let line = time.line.unwrap_or(steps.line);
        notes.push(CbtNote { kind: NoteKind::LeftOut, line, text });
    }
    let seconds = client.seconds.clone();
    Ok((seconds.clone().unwrap_or(default), seconds))
}

fn note_form(
    form: RecoveryForm,
    steps: &CbtSection<'_>,
    benchmark: &CbtSection<'_>,
    notes: &mut Vec<CbtNote>,
) {
    let (text, line) = match form {
        RecoveryForm::Background => return,
        RecoveryForm::Blocking => (
            "a blocking test moves the clients' own objects, once to the others and once back: the study moves as many of a second \
             pool, when the OSD returns",
            benchmark.line_of("recov_test_type").unwrap_or(steps.line),
        ),
    };
    notes.push(CbtNote { kind: NoteKind::LeftOut, line, text: text.to_owned() });
}

fn note_iterations(cluster: &CbtSection<'_>, notes: &mut Vec<CbtNote>) -> Result<(), CbtError> {
    if let Some(times) = cluster.whole("iterations")?.filter(|times| times.value > 1) {
        let name = cluster.name_of("iterations");
        let text = format!("`{name}`: `study run --repeat {}` makes as many runs", times.value);
        let line = times.line.unwrap_or(cluster.line);
        notes.push(CbtNote { kind: NoteKind::LeftOut, line, text });
    }
    Ok(())
}

fn osds(cluster: &CbtSection<'_>) -> Result<Stated<u64>, CbtError> {
    let hosts = cluster.hosts("osds")?.filter(|hosts| hosts.value > 0);
    let per_host = cluster.whole("osds_per_node")?.filter(|osds| osds.value > 0);
    match (hosts, per_host) {
        (Some(hosts), Some(osds)) => Ok(osds.map(|osds| osds.saturating_mul(hosts.value))),
        (hosts, _) => {
            let key = if hosts.is_none() { "osds" } else { "osds_per_node" };
            let reason = format!("`{}` must say how many OSDs there are", cluster.name_of(key));
            Err(CbtError::new(cluster.line_of(key).unwrap_or(cluster.line), reason))
        }
    }
}

fn returning(steps: &CbtSection<'_>, notes: &mut Vec<CbtNote>) -> Result<Stated<u64>, CbtError> {
    let found = steps.whole("osds")?.ok_or_else(|| {
        let reason = format!("`{}` must say which OSD goes and returns", steps.name_of("osds"));
        CbtError::new(steps.line_of("osds").unwrap_or(steps.line), reason)
    })?;
    if steps.others("osds") > 0 {
        let text =
            format!("`{}`: one OSD goes and returns, osd.{}", steps.name_of("osds"), found.value);
        let line = found.line.unwrap_or(steps.line);
        notes.push(CbtNote { kind: NoteKind::LeftOut, line, text });
    }
    Ok(found)
}
