//! What must not be set: everything that the original would accept and then silently take back, and limits that a drive
//! has no descriptor for.

use super::change::{LevelTarget, Scope};
use super::levels::LevelsView;
use super::option::{OptionId, Role};
use super::refused::Refused;
use super::value::Value;
use loadline_base::Span;
use loadline_osd::{OsdId, descriptor_for, guidelines};
use loadline_qos::SchedulerKind;

/// A parsed edit: where, what, and the new value or none.
pub(super) type ParsedEdit = (LevelTarget, OptionId, Option<Value>);

/// A value that may not stand.
pub(super) struct RuleViolation {
    pub(super) osd: OsdId,
    pub(super) option: OptionId,
    pub(super) refused: Refused,
}

/// What of a change may not stand, judged by the state that it leads to.
pub(super) fn violations(after: LevelsView<'_>, edits: &[ParsedEdit]) -> Vec<RuleViolation> {
    let mut found = Vec::new();
    for (target, option, value) in edits {
        let Some(value) = value else { continue };
        for osd in covered(after, *target) {
            if let Some(refused) = barred(after, osd, *option, *value) {
                found.push(RuleViolation { osd, option: *option, refused });
            }
        }
    }
    for osd in after.levels.each.ids() {
        found.extend(sleeps_under_mclock(after, osd));
    }
    found
}

/// The OSDs that a value at `target` concerns.
pub(super) fn covered(view: LevelsView<'_>, target: LevelTarget) -> Vec<OsdId> {
    match target {
        LevelTarget::Stored(Scope::Global | Scope::Osds) => view.levels.each.ids().collect(),
        LevelTarget::Stored(Scope::Osd(osd)) | LevelTarget::RunTime(osd) => vec![osd],
    }
}

/// Whether the profile, or mClock, owns this option on this OSD, or its drive cannot do what it asks.
fn barred(view: LevelsView<'_>, osd: OsdId, option: OptionId, value: Value) -> Option<Refused> {
    let spec = view.table.at(option);
    match spec.role {
        Role::Parameter(..) => {
            let profile = view.profile_in_force(osd)?;
            Some(Refused::ProfileOwns { option: spec.name, profile: profile.name, osd })
        }
        Role::RecoveryLimit => {
            let own = view.profile_value(osd, option)?;
            let gate_open = view
                .table
                .iter()
                .filter(|(_, spec)| spec.role == Role::RecoveryGate)
                .any(|(gate, _)| view.effective(osd, gate).0 == Value::Flag(true));
            let kept = gate_open || value == own;
            (!kept).then_some(Refused::GateClosed { option: spec.name, osd })
        }
        Role::DeviceLimit => unfit_limit(view, osd, option, value),
        Role::Plain | Role::AtStart | Role::Profile | Role::RecoveryGate | Role::Sleep => None,
    }
}

/// Pauses that stand although mClock runs, or would run after the next start.
pub(super) fn sleeps_under_mclock(view: LevelsView<'_>, osd: OsdId) -> Vec<RuleViolation> {
    let schedulers = [view.scheduler(osd), view.scheduler_pending(osd)];
    if !schedulers.contains(&SchedulerKind::Mclock) {
        return Vec::new();
    }
    let stands = |option: OptionId| {
        let layers = view.levels.set_layers(osd);
        layers
            .iter()
            .any(|(_, layer)| layer.get(&option).is_some_and(|value| value.number() != Some(0.0)))
    };
    let sleeps = view.table.iter().filter(|(_, spec)| spec.role == Role::Sleep);
    sleeps
        .filter(|(option, _)| stands(*option))
        .map(|(option, spec)| {
            let refused = Refused::SleepUnderMclock { option: spec.name, osd };
            RuleViolation { osd, option, refused }
        })
        .collect()
}

/// Whether an OSD's drive has no descriptor for a limit. Only reads have to have one: many drives are given none for
/// writes, which then go without a limit.
pub(super) fn unfit_limit(
    view: LevelsView<'_>,
    osd: OsdId,
    option: OptionId,
    limit: Value,
) -> Option<Refused> {
    let option = view.table.at(option).name;
    let Value::Time(span) = limit else { unreachable!("a limit is a time, not {limit}") };
    let limits = &view.levels.each[osd].drive_limits;
    if span == Span::ZERO || descriptor_for(&limits.reads, span).is_some() {
        return None;
    }
    Some(match guidelines(&limits.reads).map(|(_, guideline)| guideline).min() {
        Some(shortest) => Refused::LimitTooShort { option, osd, limit: span, shortest },
        None => Refused::NoDriveLimits { option, osd },
    })
}
