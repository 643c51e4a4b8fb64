//! `loadline top`: the live page in a terminal, drawn anew each second until `q`, Escape or Ctrl-C.

mod keys;

use super::args::TopArgs;
use super::{SECOND, bandwidth, duration, milliseconds};
use crate::failure::Failure;
use crate::interrupt::interruptible;
use crate::show;
use keys::{TerminalInput, TerminalKeys};
use loadline_base::Bytes;
use loadline_host::admin::Client;
use loadline_host::admin::api::{
    Command, HealthLevel, LiveClass, LiveImage, LiveNow, LiveOsd, LiveSecond, LiveView, OpRow,
};
use loadline_host::why;
use ratatui::Frame;
use ratatui::backend::TestBackend;
use ratatui::crossterm::terminal;
use ratatui::layout::{Constraint, Layout, Rect};
use ratatui::style::{Color, Modifier, Style};
use ratatui::text::{Line, Span as Words};
use ratatui::widgets::{Block, Borders, Paragraph, Row, Sparkline, Table};
use std::io::{self, IsTerminal};
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

/// Between two looks.
const LOOK: Duration = Duration::from_secs(1);
/// So soon a signal, or another size of the terminal, is seen.
const STEP: Duration = Duration::from_millis(100);
/// How wide it is drawn where the output is no terminal; it is as high as it must be then.
const WIDTH: u16 = 120;
/// The most lines that are drawn there.
const HEIGHT_MAX: u16 = 2_000;
/// Of health's findings.
const FINDINGS: usize = 3;
/// The clients' line with its title.
const CLIENTS_HEIGHT: u16 = 4;

pub(crate) fn carry_out(args: &TopArgs) -> Result<(), Failure> {
    let mut client = args.node.connect()?;
    if args.node.json() {
        return show::json(&client.ask::<serde_json::Value>(&Command::Live)?);
    }
    let first: LiveView = client.ask(&Command::Live)?;
    if !io::stdout().is_terminal() || is_dumb() {
        return show::text(&as_text(&first));
    }
    let interrupted = interruptible()?;
    let keys = TerminalKeys::of_the_terminal().map_err(unusable)?;
    let mut terminal = ratatui::try_init().map_err(|error| {
        restore();
        unusable(error)
    })?;
    let ended = watch(&mut terminal, &mut client, first, (&keys, &interrupted));
    restore();
    ended
}

/// Leaves the terminal as it was; one that has gone is nobody's.
fn restore() {
    let _ = ratatui::try_restore();
}

/// Whether the terminal takes lines alone, or nobody says what it takes.
fn is_dumb() -> bool {
    std::env::var_os("TERM").is_none_or(|kind| kind.is_empty() || kind == "dumb")
}

fn unusable(error: io::Error) -> Failure {
    Failure::Environment(format!("the terminal cannot be used: {}", why(&error)))
}

#[expect(clippy::disallowed_methods, reason = "a person watches in real time")]
fn watch(
    terminal: &mut ratatui::DefaultTerminal,
    client: &mut Client,
    mut view: LiveView,
    (keys, interrupted): (&TerminalKeys, &AtomicBool),
) -> Result<(), Failure> {
    let mut looked = Instant::now();
    let mut drawn_at = None;
    while !interrupted.load(Ordering::Relaxed) {
        let size = Some(terminal::size().map_err(unusable)?);
        if drawn_at != size {
            terminal.draw(|frame| draw(frame, &view)).map_err(unusable)?;
            drawn_at = size;
        }
        match keys.within(STEP.min(LOOK.saturating_sub(looked.elapsed()))) {
            Some(TerminalInput::End) => return Ok(()),
            Some(TerminalInput::Gone) => break,
            None => {}
        }
        if looked.elapsed() >= LOOK {
            view = client.ask(&Command::Live)?;
            looked = Instant::now();
            drawn_at = None;
        }
    }
    Err(Failure::Interrupted("interrupted".to_owned()))
}

/// One look as lines of text.
fn as_text(view: &LiveView) -> String {
    let height = Panel::of(view).height().min(HEIGHT_MAX);
    let mut terminal =
        ratatui::Terminal::new(TestBackend::new(WIDTH, height)).expect("memory is a terminal");
    terminal.draw(|frame| draw(frame, view)).expect("memory is a terminal");
    let buffer = terminal.backend().buffer();
    let line = |y: u16| {
        let symbols = (0..WIDTH).map(|x| buffer[(x, y)].symbol());
        format!("{}\n", symbols.collect::<String>().trim_end())
    };
    let text: String = (0..height).map(line).collect();
    format!("{}\n", text.trim_end())
}

/// A table with its title.
struct Section {
    title: &'static str,
    columns: Vec<&'static str>,
    widths: Vec<Constraint>,
    rows: Vec<Vec<String>>,
}

impl Section {
    fn height(&self) -> u16 {
        u16::try_from(self.rows.len()).unwrap_or(u16::MAX - 2).saturating_add(2)
    }

    fn draw(&self, frame: &mut Frame<'_>, area: Rect) {
        let bold = Style::new().add_modifier(Modifier::BOLD);
        let block = Block::new().borders(Borders::TOP).title(Words::styled(self.title, bold));
        let head = Row::new(self.columns.clone()).style(Style::new().fg(Color::DarkGray));
        let rows = self.rows.iter().map(|cells| Row::new(cells.clone()));
        frame.render_widget(Table::new(rows, &self.widths).header(head).block(block), area);
    }
}

/// What a look shows below its head and the clients' line.
struct Panel {
    second: LiveSecond,
    head_height: u16,
    sections: [Section; 5],
}

impl Panel {
    fn of(view: &LiveView) -> Panel {
        let second = view.seconds.last().cloned().unwrap_or_default();
        let now = &view.now;
        let sections = [
            classes(&second.classes),
            images(&second.images),
            background(now, &second),
            waiting(&now.oldest),
            osds(&now.osds),
        ];
        let head_height = 1 + now.health.findings.len().min(FINDINGS) as u16;
        Panel { second, head_height, sections }
    }

    /// Lines that show all of it.
    fn height(&self) -> u16 {
        let sections = self.sections.iter().map(Section::height);
        sections.fold(self.head_height + CLIENTS_HEIGHT, u16::saturating_add)
    }
}

fn draw(frame: &mut Frame<'_>, view: &LiveView) {
    let sight = Panel::of(view);
    let mut heights =
        vec![Constraint::Length(sight.head_height), Constraint::Length(CLIENTS_HEIGHT)];
    heights.extend(sight.sections.iter().map(|section| Constraint::Length(section.height())));
    heights.push(Constraint::Fill(1));
    let areas = Layout::vertical(heights).split(frame.area());
    frame.render_widget(head(&view.now), areas[0]);
    clients(frame, areas[1], view, &sight.second);
    for (section, area) in sight.sections.iter().zip(&areas[2..]) {
        section.draw(frame, *area);
    }
}

fn head(now: &LiveNow) -> Paragraph<'static> {
    let colour = match now.health.level {
        HealthLevel::Ok => Color::Green,
        HealthLevel::Warn => Color::Yellow,
        HealthLevel::Error => Color::Red,
    };
    let level = Words::styled(
        now.health.level.name(),
        Style::new().fg(colour).add_modifier(Modifier::BOLD),
    );
    let facts = format!(
        "   {} ops in flight   profile {}   up {}   q ends",
        now.in_flight,
        now.profile,
        duration(now.uptime_ns)
    );
    let mut lines = vec![Line::from(vec!["Loadline  ".into(), level, facts.into()])];
    lines.extend(
        now.health.findings.iter().take(FINDINGS).map(|finding| Line::from(format!("  {finding}"))),
    );
    Paragraph::new(lines)
}

/// Ops per second over the last minutes, the newest at the right.
fn clients(frame: &mut Frame<'_>, area: Rect, view: &LiveView, second: &LiveSecond) {
    let title = format!(
        "Clients: {} reads/s, {} writes/s; p50 {}, p99 {}, p99.9 {}",
        second.reads,
        second.writes,
        milliseconds(second.p50_ns),
        milliseconds(second.p99_ns),
        milliseconds(second.p999_ns)
    );
    let bold = Style::new().add_modifier(Modifier::BOLD);
    let block = Block::new().borders(Borders::TOP).title(Words::styled(title, bold));
    let before = view.seconds.len().saturating_sub(usize::from(area.width));
    let ops: Vec<u64> = view.seconds[before..].iter().map(|it| it.reads + it.writes).collect();
    let line = Sparkline::default().data(ops).style(Style::new().fg(Color::Cyan)).block(block);
    frame.render_widget(line, area);
}

fn classes(classes: &[LiveClass]) -> Section {
    let row = |it: &LiveClass| {
        vec![
            it.class.clone(),
            format!("{:.0}", it.promised),
            format!("{:.0}", it.asked),
            format!("{:.0}", it.given),
        ]
    };
    Section {
        title: "Classes, in writes of 4 KiB per second",
        columns: vec!["class", "promised", "asked", "given"],
        widths: vec![
            Constraint::Length(24),
            Constraint::Length(10),
            Constraint::Length(10),
            Constraint::Length(10),
        ],
        rows: classes.iter().map(row).collect(),
    }
}

fn images(images: &[LiveImage]) -> Section {
    let or = |value: u32, none: &str| if value == 0 { none.to_owned() } else { value.to_string() };
    let row = |it: &LiveImage| {
        vec![
            it.image.clone(),
            or(it.promised, "nothing"),
            or(it.limit, "none"),
            it.asked.to_string(),
            it.given.to_string(),
            if it.given > 0 { milliseconds(it.mean_ns) } else { String::new() },
        ]
    };
    Section {
        title: "Images, in ops per second",
        columns: vec!["image", "promised", "limit", "asked", "given", "mean"],
        widths: [24, 10, 10, 10, 10, 12].map(Constraint::Length).to_vec(),
        rows: images.iter().map(row).collect(),
    }
}

fn background(now: &LiveNow, second: &LiveSecond) -> Section {
    let ends = |left: u64, nanos: Option<u64>| match (left, nanos) {
        (0, _) => String::new(),
        (_, None) => "not at this rate".to_owned(),
        (_, Some(nanos)) => format!("in {}", duration(nanos)),
    };
    let recovery_ends = match (now.recovery.ends_in_ns, now.recovery.least_ns) {
        (None, Some(0..SECOND)) => "not known yet".to_owned(),
        (None, Some(least)) => format!("in at least {}", duration(least)),
        (nanos, _) => ends(now.objects.degraded + now.objects.misplaced, nanos),
    };
    let objects = |rate: f64| format!("{rate:.1} objects");
    let paused = if now.scrub.paused { ", paused" } else { "" };
    let rows = [
        [
            "recovery".to_owned(),
            format!("{} copies missing, {} misplaced", now.objects.degraded, now.objects.misplaced),
            format!(
                "{}, {}",
                objects(now.recovery.objects_per_s),
                bandwidth(now.recovery.bytes_per_s)
            ),
            recovery_ends,
        ],
        [
            "scrub".to_owned(),
            format!(
                "{} of {} PGs{paused}, {} due for a deep one, {} errors",
                now.scrub.running, now.scrub.pgs, now.scrub.pgs_left, now.scrub.errors
            ),
            objects(second.scrubbed as f64),
            ends(now.scrub.pgs_left.into(), now.scrub.ends_in_ns),
        ],
        [
            "snapshot trim".to_owned(),
            format!("{} states", now.trim.objects_left),
            objects(now.trim.objects_per_s),
            ends(now.trim.objects_left, now.trim.ends_in_ns),
        ],
        [
            "deletion".to_owned(),
            format!("{} objects", now.deletion.objects_left),
            objects(now.deletion.objects_per_s),
            ends(now.deletion.objects_left, now.deletion.ends_in_ns),
        ],
    ];
    Section {
        title: "Background work",
        columns: vec!["work", "left", "per second", "done"],
        widths: [24, 36, 30, 20].map(Constraint::Length).to_vec(),
        rows: rows.into_iter().map(Vec::from).collect(),
    }
}

fn waiting(oldest: &[OpRow]) -> Section {
    let row = |op: &OpRow| {
        let reason = op.wait.as_ref().map_or_else(String::new, |wait| wait.reason.clone());
        vec![format!("{} {}", op.op, op.kind), op.image.clone(), milliseconds(op.age_ns), reason]
    };
    Section {
        title: "Who waits for what",
        columns: vec!["op", "image", "age", "because of"],
        widths: vec![
            Constraint::Length(18),
            Constraint::Length(16),
            Constraint::Length(12),
            Constraint::Fill(1),
        ],
        rows: oldest.iter().map(row).collect(),
    }
}

fn osds(osds: &[LiveOsd]) -> Section {
    let row = |osd: &LiveOsd| {
        let state = format!(
            "{}, {}",
            if osd.up { "up" } else { "down" },
            if osd.is_in { "in" } else { "out" }
        );
        let found = if osd.capacity_is_found { " (found)" } else { "" };
        let queued: u64 = osd.queued.iter().map(|class| class.items).sum();
        vec![
            format!("osd.{}", osd.osd),
            state,
            format!("{} of {}", Bytes::new(osd.used_bytes), Bytes::new(osd.size_bytes)),
            osd.capacity_iops.map_or_else(String::new, |iops| format!("{iops:.0} IOPS{found}")),
            if osd.gate_closed { "closed" } else { "open" }.to_owned(),
            queued.to_string(),
            osd.kept_out.to_string(),
        ]
    };
    Section {
        title: "OSDs",
        columns: vec!["OSD", "state", "used", "capacity", "gate", "queued", "kept out"],
        widths: [10, 12, 28, 22, 10, 10, 10].map(Constraint::Length).to_vec(),
        rows: osds.iter().map(row).collect(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    /// More OSDs than a screen has lines: where there is no screen, nothing is cut off.
    #[test]
    fn text_is_as_high_as_it_must_be() {
        let osds = (0..100).map(|osd| LiveOsd { osd, up: true, is_in: true, ..LiveOsd::default() });
        let now = json!({
            "health": { "findings": ["one", "two", "three", "four"], "level": "warn" },
            "in_flight": 0, "oldest": [], "osds": osds.collect::<Vec<_>>(), "profile": "balanced",
            "profiles": [], "uptime_ns": 0,
            "objects": { "copies": 0, "degraded": 0, "misplaced": 0, "recovering": 0 },
            "recovery": { "bytes_per_s": 0.0, "objects_per_s": 0.0 },
            "scrub": { "errors": 0, "paused": false, "pgs": 32, "running": 0 },
            "trim": { "objects_left": 0, "objects_per_s": 0.0, "snapshots_left": 0 },
            "deletion": { "copies_left": 0, "objects_left": 0, "objects_per_s": 0.0 },
        });
        let now = serde_json::from_value(now).expect("a node tells this");
        let text = as_text(&LiveView { seconds: Vec::new(), now });
        assert!(text.contains("three") && text.contains("osd.99"), "{text}");
    }
}
